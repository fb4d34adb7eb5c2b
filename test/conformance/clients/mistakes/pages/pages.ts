// Clients with mistakes in their pages: wrong headers, wrong links, content from other sites, or no protection from
// strangers.
import { decodeSafely } from '../../../../../src/conformance/steps/set-cookies.ts'
import { correct } from '../../behaviour.ts'
import { allowedHostsOnly, answerWith, bodyWith, headersWith, hostOf, readable } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { page, signOutForm } from '../../pages.ts'
import { cookieOf } from '../../requests.ts'
import { changing } from './changing.ts'
import { creating } from './creating.ts'
import { drafts } from './drafts.ts'
import { editedAddresses } from './edited-addresses.ts'
import { errorHeaders } from './error-headers.ts'
import { everyForm } from './every-form.ts'
import { everyPage } from './every-page.ts'
import { everyText } from './every-text.ts'
import { formHandling } from './form-handling.ts'
import { groupForm } from './group-form.ts'
import { head } from './head.ts'
import { linksWithQuery } from './links-with-query.ts'
import { otherHost } from './other-host.ts'
import { otherPlaces } from './other-places.ts'
import { ownAddress } from './own-address.ts'
import { pageTexts } from './page-texts.ts'
import { repeatedForms } from './repeated-forms.ts'
import { savedValues } from './saved-values.ts'
import { searchForms } from './search-forms.ts'
import { slowValues } from './slow-values.ts'
import { typedValues } from './typed-values.ts'
import { wholeList } from './whole-list.ts'

const words = (error: unknown) => (error instanceof Error ? `${error.message}\n${error.stack}` : String(error))

/** Behaves like servers that complete a relative Location with the Host header of the request. */
const redirectsFromHost = answerWith((answer, { headers }) => {
  const location = answer.headers?.location
  if (!location?.startsWith('/')) return answer
  return { ...answer, headers: { ...answer.headers, location: `http://${headers.host}${location}` } }
})

export const pages: Mistake[] = [
  mistake('strangers-ask-the-api', 'page-needs-login', {
    readSession: visit => correct.readSession(visit) ?? { accessToken: 'none', visitor: '', expiresAt: 0 },
  }),
  mistake('session-of-plain-json', 'page-forged-session', {
    readSession(visit) {
      const text = cookieOf(visit, correct.sessionCookie) ?? ''
      const { access_token: accessToken } = (readable.read(text) ?? {}) as { access_token?: string }
      return correct.readSession(visit) ?? (accessToken ? { accessToken, visitor: '', expiresAt: 0 } : undefined)
    },
  }),
  mistake('link-from-elsewhere-is-signed-out', 'page-from-another-site', {
    comesFromElsewhere: () => false,
    askToSignIn: visit => page(visit, 401, 'Please sign in', '<a href="/login">Sign in</a>'),
  }),
  mistake('link-of-another-site-signs-in-again', 'page-cookie-from-another-site', {
    async aroundRequest(visit, next) {
      const isLink = visit.headers['sec-fetch-site'] === 'cross-site' && visit.url.pathname === '/applications'
      return isLink && correct.readSession(visit) ? correct.askToSignIn(visit) : next()
    },
  }),
  mistake('referer-of-another-site-before-the-session', 'page-cookie-from-another-site', {
    async aroundRequest(visit, next) {
      const { referer = visit.settings.publicUrl } = visit.headers
      const isLink = !referer.startsWith(visit.settings.publicUrl) && visit.url.pathname === '/applications'
      return isLink && correct.readSession(visit) ? correct.askToSignIn(visit) : next()
    },
  }),
  mistake(
    'page-kept-in-caches',
    ['page-no-store', 'logout-back'],
    headersWith(() => ({ 'cache-control': undefined })),
  ),
  mistake(
    'page-after-sign-out-from-the-cache',
    'page-no-store',
    headersWith(() => ({ 'cache-control': 'private, max-age=300' })),
  ),
  mistake(
    'frames-allowed-by-the-policy',
    'page-not-framed',
    headersWith(() => ({
      'content-security-policy': "default-src 'none'; form-action 'self'; frame-ancestors 'self' *",
    })),
  ),
  mistake(
    'page-in-frames',
    'page-not-framed',
    headersWith(() => ({
      'x-frame-options': undefined,
      'content-security-policy': "default-src 'none'; form-action 'self'; base-uri 'none'",
    })),
  ),
  mistake(
    'page-sniffed',
    'page-nosniff',
    headersWith(() => ({ 'x-content-type-options': undefined })),
  ),
  mistake(
    'page-without-a-policy',
    'page-content-security-policy',
    headersWith(() => ({ 'content-security-policy': undefined })),
  ),
  mistake(
    'page-with-inline-scripts',
    'page-content-security-policy',
    headersWith(() => ({ 'content-security-policy': "default-src 'self' 'unsafe-inline'; frame-ancestors 'none'" })),
  ),
  mistake(
    'page-without-a-charset',
    'page-charset',
    answerWith(answer => ({ ...answer, headers: { ...answer.headers, 'content-type': 'text/html' } })),
  ),
  mistake('session-set-at-every-page', 'page-sets-no-session', {
    readSession(visit) {
      const session = correct.readSession(visit)
      if (session && visit.setCookies.length === 0)
        visit.behaviour.setCookie(visit, correct.sessionCookie, session, correct.sessionAttributes(3600))
      return session
    },
  }),
  mistake(
    'page-for-every-origin',
    'page-no-cors',
    headersWith(({ headers }) => ({
      'access-control-allow-origin': headers.origin ?? '*',
      'access-control-allow-credentials': 'true',
    })),
  ),
  mistake(
    'page-without-a-way-out',
    'page-shows-sign-out',
    bodyWith(body => body.replace(signOutForm, '')),
  ),
  mistake(
    'page-with-a-script-of-others',
    'page-nothing-foreign',
    bodyWith(body => body.replace('<title>', '<script src="https://cdn.invalid/a.js"></script><title>')),
  ),
  mistake('token-in-a-page', 'page-no-tokens', {
    itemOf: (visit, application) =>
      `${correct.itemOf(visit, application)}<meta name="token" content="${correct.readSession(visit)?.accessToken}">`,
  }),
  mistake(
    'unknown-application-is-found',
    'not-found',
    answerWith((answer, { url }) =>
      answer.status === 404 && url.pathname.startsWith('/applications/') ? { ...answer, status: 200 } : answer,
    ),
  ),
  mistake(
    'not-found-is-found',
    'not-found',
    answerWith(answer => (answer.status === 404 ? { ...answer, status: 200 } : answer)),
  ),
  mistake('unknown-application-with-status-200', 'not-found', {
    async aroundRequest(visit, next) {
      const answer = await next()
      const isUnknown = answer.status === 404 && visit.url.pathname.endsWith('/edit')
      return isUnknown ? page(visit, 200, 'There is no such application', '') : answer
    },
  }),
  mistake('not-found-repeats-the-address', 'not-found-escapes', {
    notFound: ({ url }) => `<p>There is no ${decodeURIComponent(url.pathname + url.search)}.</p>`,
  }),
  mistake('decoded-path-as-html-in-a-form-action', 'not-found-escapes', {
    async aroundRequest(visit, next) {
      const path = decodeSafely(visit.url.pathname)
      visit.url.pathname = visit.url.pathname.replace(/\/[^/]*[^\w/-][^/]*$/, '')
      const answer = await next()
      return answer.body ? { ...answer, body: `${answer.body}<form action="${path}"></form>` } : answer
    },
  }),
  mistake('stack-in-a-page', ['errors-say-nothing', 'exchange-failed-no-stack', 'list-failed-no-stack'], {
    wordsFor: words,
    applicationPath: id => {
      decodeURIComponent(id)
      return correct.applicationPath(id)
    },
  }),
  mistake('kept-redirects-from-host', 'host-not-believed', {
    ...redirectsFromHost,
    ...headersWith(({ url }) => (url.pathname === '/applications' ? { 'cache-control': 'public, max-age=60' } : {})),
  }),
  mistake(
    'links-from-host',
    'host-not-believed',
    bodyWith((body, { headers }) =>
      body.replaceAll('href="/', `href="http://${headers['x-forwarded-host'] ?? headers.host}/`),
    ),
  ),
  mistake('redirects-from-host', 'host-not-in-redirects', redirectsFromHost),
  mistake('redirects-from-an-allowed-host', 'host-not-in-redirects', {
    async aroundRequest(visit, next) {
      const answer = await allowedHostsOnly.aroundRequest!(visit, next)
      const location = answer.headers?.location
      if (!location?.startsWith('/')) return answer
      return { ...answer, headers: { ...answer.headers, location: `http://${hostOf(visit)}${location}` } }
    },
  }),
  ...pageTexts,
  ...creating,
  ...drafts,
  ...changing,
  ...editedAddresses,
  ...typedValues,
  ...slowValues,
  ...errorHeaders,
  ...everyForm,
  ...formHandling,
  ...savedValues,
  ...repeatedForms,
  ...groupForm,
  ...head,
  ...linksWithQuery,
  ...wholeList,
  ...searchForms,
  ...otherPlaces,
  ...everyPage,
  ...everyText,
  ...ownAddress,
  ...otherHost,
]
