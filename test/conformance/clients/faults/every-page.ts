// Clients that are correct on the page behind the login, but not on another page or for another value.
import { signOutForm } from '../pages.ts'
import { right } from '../parts.ts'
import { callApi } from '../platform.ts'
import type { Visit } from '../visit.ts'
import { answerWith, bodyWith, type Fault, fault, headersWith, startWith } from './fault.ts'

/** Changes the headers of all answers at the path. */
const headersAt = (path: string, change: (visit: Visit) => Record<string, string | undefined>) =>
  headersWith(visit => (visit.url.pathname === path ? change(visit) : {}))

const bodyAt = (path: string, change: (body: string, visit: Visit) => string) =>
  bodyWith((body, visit) => (visit.url.pathname === path ? change(body, visit) : body))

const addRaw = (body: string, text: string | null) => body.replace('</body>', `<p>${text ?? ''}</p></body>`)
const typedName = ({ body }: Visit) => new URLSearchParams(body).get('name') ?? ''
const ownStyle = '<link rel="stylesheet" href="/style.css">'
const withoutPolicy = { 'content-security-policy': undefined }

/**
 * Behaves like a server that writes a value into a header without encoding it: each line of the value becomes a header.
 */
function linesToHeaders(value: (visit: Visit) => string) {
  return answerWith((answer, visit) => {
    const [, ...lines] = value(visit).split('\r\n')
    const headers = lines.flatMap(line => (/^[\w-]+: \S/.test(line) ? [line.split(': ') as [string, string]] : []))
    return { ...answer, headers: { ...answer.headers, ...Object.fromEntries(headers) } }
  })
}

export const everyPage: Fault[] = [
  fault(
    'start-page-in-frames',
    'every-page-not-framed',
    headersAt('/', () => ({ ...withoutPolicy, 'x-frame-options': undefined })),
  ),
  fault(
    'frames-allowed-by-the-policy',
    'page-not-framed',
    headersWith(() => ({
      'content-security-policy': "default-src 'none'; form-action 'self'; frame-ancestors 'self' *",
    })),
  ),
  fault(
    'refused-callback-without-a-type',
    'every-answer-content-type',
    answerWith((answer, { url }) =>
      url.pathname === '/exchangeToken' && answer.status >= 400 ? { ...answer, headers: {} } : answer,
    ),
  ),
  fault(
    'page-of-a-declined-login-sniffed',
    ['every-page-headers', 'every-answer-nosniff'],
    headersAt('/cancelled', () => ({ 'x-content-type-options': undefined })),
  ),
  fault(
    'form-without-a-policy',
    'every-page-policy',
    headersAt('/applications/new', () => withoutPolicy),
  ),
  fault(
    'start-page-without-a-charset',
    'every-page-charset',
    answerWith((answer, { url }) =>
      url.pathname === '/' && answer.body ? { ...answer, headers: { 'content-type': 'text/html' } } : answer,
    ),
  ),
  fault(
    'pages-of-applications-kept-in-caches',
    'every-page-no-store',
    headersWith(({ url }) =>
      /^\/applications\/[\w-]{30,}/.test(url.pathname) ? { 'cache-control': 'private, max-age=60' } : {},
    ),
  ),
  fault(
    'token-in-a-header',
    'every-page-no-secret',
    headersAt('/applications/new', visit => ({ 'x-access-token': right.readSession(visit)?.accessToken })),
  ),
  fault(
    'start-page-with-a-style-of-others',
    'every-page-nothing-foreign',
    bodyAt('/', body => body.replace('<title>', '<style>@import "https://fonts.invalid/a.css";</style><title>')),
  ),
  fault(
    'unknown-application-is-found',
    'not-found',
    answerWith((answer, { url }) =>
      answer.status === 404 && url.pathname.startsWith('/applications/') ? { ...answer, status: 200 } : answer,
    ),
  ),
  fault('head-takes-the-secret', 'create-secret-head', {
    async around(visit, next) {
      if (visit.method !== 'HEAD' || visit.url.pathname !== '/applications') return next()
      visit.method = 'GET'
      const answer = await next()
      visit.method = 'HEAD'
      return answer
    },
  }),
  fault('head-runs-the-page', ['head-of-visitor-pages', 'head-keeps-the-session'], {
    async around(visit, next) {
      if (visit.method !== 'HEAD') return next()
      visit.method = 'GET'
      const answer = await next()
      visit.method = 'HEAD'
      return answer
    },
  }),
  fault('head-of-the-start-page-refused', 'head-of-start-page', {
    async around(visit, next) {
      return visit.method === 'HEAD' ? { status: 405, headers: { allow: 'GET' } } : next()
    },
  }),
  fault('style-sheet-without-a-charset', 'every-file-charset', {
    async around(visit, next) {
      if (visit.url.pathname === '/style.css')
        return { status: 200, headers: { 'content-type': 'text/css' }, body: 'p { margin: 0 }' }
      const answer = await next()
      return answer.body ? { ...answer, body: answer.body.replace('<title>', `${ownStyle}<title>`) } : answer
    },
  }),
  fault('style-sheet-with-a-font-of-others', 'every-page-nothing-foreign', {
    async around(visit, next) {
      if (visit.url.pathname !== '/style.css') {
        const answer = await next()
        return answer.body ? { ...answer, body: answer.body.replace('<title>', `${ownStyle}<title>`) } : answer
      }
      const body = '@font-face { font-family: A; src: url(https://fonts.invalid/a.woff2) }'
      return { status: 200, headers: { 'content-type': 'text/css; charset=utf-8' }, body }
    },
  }),
  fault(
    'address-of-the-api-in-a-header',
    'every-answer-no-inside',
    answerWith((answer, { settings }) =>
      answer.status >= 500
        ? { ...answer, headers: { ...answer.headers, 'x-reason': `no answer of ${settings.apiUrl}` } }
        : answer,
    ),
  ),
  fault(
    'generator-with-its-version',
    'every-answer-no-version',
    bodyWith(body => body.replace('<title>', '<meta name="generator" content="Example 4.18"><title>')),
  ),
  fault(
    'not-found-names-the-server',
    'every-answer-no-version',
    answerWith(answer =>
      answer.status === 404 ? { ...answer, body: `${answer.body}<hr><center>nginx/1.18.0</center>` } : answer,
    ),
  ),
  fault(
    'start-page-for-every-origin',
    'every-page-no-cors',
    headersAt('/', ({ headers }) => ({ 'access-control-allow-origin': headers.origin })),
  ),
  fault(
    'form-without-a-way-out',
    'every-page-sign-out',
    bodyAt('/applications/new', body => body.replace(signOutForm, '')),
  ),

  fault(
    'redirects-from-the-forwarded-host',
    'forwarded-host-not-believed',
    answerWith((answer, { headers }) => {
      const [location, host] = [answer.headers?.location, headers['x-forwarded-host']]
      if (!location?.startsWith('/') || host === undefined) return answer
      return { ...answer, headers: { ...answer.headers, location: `http://${host}${location}` } }
    }),
  ),
  fault(
    'own-address-from-the-forwarded-scheme',
    'forwarded-proto-not-believed',
    startWith((query, { headers }) => {
      const proto = headers['x-forwarded-proto']
      const own = query.get('redirect_uri')!
      if (typeof proto === 'string') query.set('redirect_uri', own.replace(/^\w+/, proto))
    }),
  ),
  fault(
    'links-of-the-form-from-host',
    'foreign-host-not-linked',
    bodyAt('/applications/new', (body, { headers }) =>
      addRaw(body, `<a href="http://${right.html(headers.host ?? '')}/help">Help</a>`),
    ),
  ),

  fault('links-unless-they-begin-with-javascript', 'page-addresses-not-linked', {
    itemOf: (visit, application) =>
      right.itemOf(visit, { ...application, webPageUrl: '' }) +
      (application.webPageUrl.startsWith('javascript:')
        ? ''
        : ` <a href="${right.html(application.webPageUrl)}">web page</a>`),
  }),
  fault('name-in-a-script', 'page-escapes-every-field', {
    itemOf: (visit, application) =>
      `${right.itemOf(visit, application)}<script>const name = "${application.name.replaceAll('<', '')}"</script>`,
  }),
  fault('name-of-the-visitor-as-html', 'page-escapes-visitor-name', {
    async around(visit, next) {
      const answer = await next()
      const session = right.readSession(visit)
      if (!session || visit.url.pathname !== '/applications') return answer
      const portal = { ...visit, settings: { ...visit.settings, apiUrl: visit.settings.loginUrl } }
      const [, me] = await callApi(portal, session, 'GET', '/api/me')
      return { ...answer, body: addRaw(answer.body ?? '', (me as { firstName: string }).firstName) }
    },
  }),
  fault(
    'message-of-the-address-as-html',
    'request-escapes',
    bodyAt('/cancelled', (body, { query }) => addRaw(body, query.get('message'))),
  ),
  fault(
    'language-of-the-address-as-a-header',
    'request-adds-no-header',
    linesToHeaders(({ query }) => query.get('lang') ?? ''),
  ),
  fault(
    'message-with-the-typed-name-as-html',
    'typed-text-escaped',
    bodyAt('/applications', (body, visit) => (visit.method === 'POST' ? addRaw(body, typedName(visit)) : body)),
  ),
  fault('typed-name-as-a-header', 'typed-text-adds-no-header', linesToHeaders(typedName)),
  fault('changed-address-is-tried', 'typed-addresses-not-loaded', {
    async around(visit, next) {
      const answer = await next()
      const address = visit.url.pathname.endsWith('/edit') && new URLSearchParams(visit.body).get('privacyPolicyUrl')
      if (address) await fetch(address, { method: 'HEAD' }).catch(() => undefined)
      return answer
    },
  }),
  fault('typed-address-is-tried', 'typed-addresses-not-loaded', {
    async around(visit, next) {
      const answer = await next()
      const address = new URLSearchParams(visit.body).get('webPageUrl')
      if (address) await fetch(address).catch(() => undefined)
      return answer
    },
  }),
]
