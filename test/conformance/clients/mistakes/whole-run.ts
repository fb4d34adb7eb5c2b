// Clients that leak a secret, or forget a header, only in one special case.
import { randomInt } from 'node:crypto'
import { correct } from '../behaviour.ts'
import { answerWith, bodyWith, hashOf, headersWhere } from '../changes.ts'
import { type Mistake, mistake } from '../mistake.ts'
import { callApi, callPortal, isRecord } from '../platform.ts'
import { type Answer, PlatformError, type Visit } from '../visit.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** Makes a mistake: for each request that fails because of the platform, the client prints the text `what`. */
const printedOnErrors = (name: string, what: (visit: Visit) => string) =>
  mistake(name, 'run-log-secrets', {
    wordsFor(error, visit) {
      if (error instanceof PlatformError) visit.settings.print(`request failed: ${what(visit)}`)
      return correct.wordsFor(error, visit)
    },
  })

const isFailedLogin = ({ status }: Answer, { url }: Visit) => status === 502 && url.pathname === '/exchangeToken'

const hasRenewed = ({ url, setCookies }: Visit) =>
  url.pathname !== '/exchangeToken' && setCookies.some(line => /^__Host-refresh=[^;]/.test(line))

export const wholeRun: Mistake[] = [
  mistake('state-of-a-small-set', 'run-states', { newState: () => hashOf(`a salt ${randomInt(4000)}`) }),
  printedOnErrors('headers-of-a-failed-request-printed', ({ headers }) => JSON.stringify(headers)),
  printedOnErrors('cookie-of-a-failed-request-cut-off', ({ headers }) => String(headers.cookie).slice(0, 400)),
  printedOnErrors('address-of-a-failed-request-printed', ({ url }) => url.href),
  ...[
    (form: URLSearchParams) => `${form}`,
    (form: URLSearchParams) => base64(`${form}`),
    (form: URLSearchParams) => `${form.get('refresh_token')?.slice(0, 18)}…`,
  ].map((spell, at) =>
    mistake(`failed-renewal-printed-${at + 1}`, 'run-log-secrets', {
      async renew(visit, refreshToken) {
        try {
          return await correct.renew(visit, refreshToken)
        } catch (error) {
          visit.settings.print(`renewal failed: ${spell(correct.renewalForm(visit.settings, refreshToken))}`)
          throw error
        }
      },
    }),
  ),
  mistake('redirects-to-the-portal-printed', 'run-log-states', {
    afterStart(visit, answer) {
      visit.settings.print(`redirect to ${answer.headers?.location}`)
      return answer
    },
  }),
  mistake('name-of-the-visitor-printed', 'run-log-people', {
    keepSession(visit, tokens) {
      const session = correct.keepSession(visit, tokens)
      void callApi(
        { ...visit, settings: { ...visit.settings, apiUrl: visit.settings.loginUrl } },
        session,
        'GET',
        '/api/me',
      )
        .then(([, person]) => visit.settings.print(`${isRecord(person) ? person.firstName : ''} has signed in`))
        .catch(() => {})
      return session
    },
  }),
  mistake('revocation-in-the-address', ['run-addresses', 'logout-revocation-address'], {
    async revoke(visit, token) {
      const query = new URLSearchParams({ token, client_secret: visit.settings.clientSecret })
      const behaviour = { ...visit.behaviour, portalUrl: () => `${visit.settings.loginUrl}/api/revokeToken?${query}` }
      await callPortal({ ...visit, behaviour }, '/api/revokeToken', query).catch(() => {})
    },
  }),
  mistake('token-in-the-address-of-a-second-try', 'run-addresses', {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      if (status !== 500) return [status, answer]
      const token = request.headers.authorization?.split(' ')[1] ?? ''
      return correct.send(visit, { ...request, url: `${request.url}?access_token=${token}` })
    },
  }),
  mistake('revocation-with-the-visitors-cookies', 'run-headers', {
    revoke: (visit, token) =>
      correct.revoke(
        {
          ...visit,
          behaviour: {
            ...visit.behaviour,
            portalHeaders: visit => ({ ...correct.portalHeaders(visit), cookie: visit.headers.cookie ?? '' }),
          },
        },
        token,
      ),
  }),
  mistake('secret-in-the-headers-since-a-renewal', 'run-secret-at-the-portal', {
    renew(visit, refreshToken) {
      visit.memory.set('has renewed', true)
      return correct.renew(visit, refreshToken)
    },
    send(visit, request) {
      const secret = visit.memory.has('has renewed') && { 'x-client-secret': visit.settings.clientSecret }
      return correct.send(visit, { ...request, headers: { ...request.headers, ...secret } })
    },
  }),
  mistake('failed-call-on-the-error-page', 'run-pages', {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      if (status >= 500) visit.memory.set('failed', JSON.stringify(request))
      return [status, answer]
    },
    wordsFor: (error, visit) => `${correct.wordsFor(error, visit)} ${visit.memory.get('failed') ?? ''}`,
  }),
  mistake(
    'page-of-a-failed-login-in-frames',
    'run-not-framed',
    headersWhere(isFailedLogin, { 'x-frame-options': undefined, 'content-security-policy': undefined }),
  ),
  mistake('page-of-a-failed-login-without-a-type', 'run-content-types', {
    ...answerWith((answer, visit) => (isFailedLogin(answer, visit) ? { ...answer, headers: {} } : answer)),
  }),
  mistake(
    'refused-methods-without-allow',
    'run-allow',
    answerWith(answer => {
      if (answer.status !== 405) return answer
      const { allow, ...headers } = answer.headers ?? {}
      return { ...answer, headers }
    }),
  ),
  mistake(
    'page-of-a-failed-login-sniffed',
    'run-nosniff',
    headersWhere(isFailedLogin, { 'x-content-type-options': undefined }),
  ),
  mistake(
    'renewal-kept-in-caches',
    'run-cookies-not-kept',
    headersWhere((_, visit) => hasRenewed(visit), { 'cache-control': 'private, max-age=60' }),
  ),
  mistake('renewal-without-http-only', 'run-cookie-attributes', {
    ...answerWith((answer, visit) => {
      if (hasRenewed(visit)) visit.setCookies = visit.setCookies.map(line => line.replace(' HttpOnly;', ''))
      return answer
    }),
  }),
  mistake(
    'form-kept-in-caches',
    'run-data-not-kept',
    headersWhere((_, { url }) => url.pathname === '/applications/new', { 'cache-control': 'no-cache' }),
  ),
  // The first visitor of the run stays on the page.
  mistake('name-of-the-first-visitor-kept', 'run-visitors-apart', {
    ...bodyWith((body, { memory }) => {
      const [name] = /\bRobin\d+/.exec(body) ?? []
      if (name && !memory.has('first')) memory.set('first', name)
      return name ? `${body}<!-- ${memory.get('first')} -->` : body
    }),
  }),
  mistake(
    'page-of-a-failed-login-readable-by-every-site',
    'run-no-cors',
    headersWhere(isFailedLogin, { 'access-control-allow-origin': '*' }),
  ),
  mistake('php-warning-on-a-page', 'run-no-inside', {
    ...answerWith(answer =>
      answer.status === 502
        ? {
            ...answer,
            status: 200,
            body: `<b>Warning</b>: Undefined array key in <b>/srv/app.php</b> on line <b>3</b>`,
          }
        : answer,
    ),
  }),
  mistake('page-of-a-failed-renewal-names-a-host', 'run-no-inside', {
    ...answerWith((answer, { settings }) =>
      answer.status === 503
        ? { ...answer, body: `${answer.body}<p>connect ECONNREFUSED ${new URL(settings.loginUrl).host}</p>` }
        : answer,
    ),
  }),
  mistake(
    'page-of-a-failed-login-with-a-version',
    'run-no-version',
    headersWhere(isFailedLogin, { server: 'Example/4.2' }),
  ),
  mistake(
    'page-of-a-failed-login-with-the-version-of-a-proxy',
    'run-no-version',
    headersWhere(isFailedLogin, { via: '1.1 cache (Example 4.2)' }),
  ),
  mistake('session-in-the-address-after-the-login', 'run-cookies-not-in-addresses', {
    afterLogin(visit, login) {
      const session = visit.setCookies.find(line => line.startsWith('__Host-session='))!.split(/[=;]/)[1]
      return correct.afterLogin(visit, { ...login, returnTo: `/applications;jsessionid=${session}` })
    },
    async aroundRequest(visit, next) {
      visit.url.pathname = visit.url.pathname.split(';')[0]!
      return next()
    },
  }),
  mistake('back-to-the-site-that-linked-here', ['run-own-redirects', 'return-to-referer'], {
    afterStart(visit, answer) {
      visit.memory.set('referer', visit.headers.referer)
      return answer
    },
    afterLogin(visit, login) {
      const referer = visit.memory.get('referer')
      return referer ? { status: 302, headers: { location: String(referer) } } : correct.afterLogin(visit, login)
    },
  }),
  mistake(
    'page-of-a-failed-renewal-without-referrer',
    'run-form-referrers',
    headersWhere(({ status }) => status === 503, { 'referrer-policy': 'no-referrer' }),
  ),
]
