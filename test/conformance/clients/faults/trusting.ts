// Clients that trust a part of a request that an attacker can choose (its path, query, method, headers or cookies), and
// clients that publish internal data.
import { decodeSafely } from '../../../../src/conformance/steps/set-cookies.ts'
import { right } from '../parts.ts'
import type { Visit } from '../visit.ts'
import { answerWith, type Fault, fault, memoryOf } from './fault.ts'

const json = { 'content-type': 'application/json' }

/** Lets a GET request change its method to POST. The client does not check the origin of such a POST request. */
const overriding = (methodOf: (visit: Visit) => unknown): Fault['parts'] => {
  const overridden = new WeakSet<Visit>()
  return {
    async around(visit, next) {
      if (visit.method === 'GET' && `${methodOf(visit)}`.toUpperCase() === 'POST') {
        visit.method = 'POST'
        overridden.add(visit)
      }
      return next()
    },
    isFromHere: visit => overridden.has(visit) || right.isFromHere(visit),
  }
}

function withoutIss({ query }: Visit): URLSearchParams {
  const rest = new URLSearchParams(query)
  rest.delete('iss')
  return rest
}

function pathIfAnyLineIsRight(id: string): string | undefined {
  const decoded = decodeSafely(id)
  return /^[\w-]{1,100}$/m.test(decoded) ? `/apps/v1/${decoded}` : undefined
}

export const trusting: Fault[] = [
  fault(
    'method-from-the-query',
    'logout-not-by-get',
    overriding(({ query }) => query.get('_method')),
  ),
  fault(
    'method-from-a-header',
    'logout-not-by-get',
    overriding(({ headers }) => headers['x-http-method-override']),
  ),
  fault('origin-checked-only-for-navigations', ['logout-csrf-script', 'create-forged-script'], {
    isFromHere: visit => (visit.headers['sec-fetch-mode'] ?? 'navigate') !== 'navigate' || right.isFromHere(visit),
    // The token of a form is not bound to a visitor, so only the check of the origin protects the form.
    isFormOf: () => true,
  }),
  fault('form-token-only-compared-with-a-cookie', 'raw-create-planted-token', {
    isFromHere: () => true,
    isFormOf: () => true,
    seal(visit, name, value) {
      const text = right.seal(visit, name, value)
      if (name === 'form') visit.setCookies.push(`csrf=${text}; Path=/; HttpOnly; Secure; SameSite=Lax`)
      return text
    },
    unseal: (visit, name, text) =>
      name !== 'form' || visit.cookies.some(([key, value]) => key === 'csrf' && value === text)
        ? right.unseal(visit, name, text)
        : undefined,
  }),
  fault('form-without-a-token-accepted', 'create-same-site', {
    isFromHere: () => true,
    sessionAttributes: seconds => right.sessionAttributes(seconds).replace('Strict', 'Lax'),
    refreshAttributes: seconds => right.refreshAttributes(seconds).replace('Strict', 'Lax'),
    unseal: (visit, name, text) =>
      name === 'form' && text === ''
        ? { id: visit.url.href, visitor: right.readSession(visit)?.visitor, use: 'create' }
        : right.unseal(visit, name, text),
  }),
  fault('only-one-line-of-an-id-is-checked', 'page-id-on-every-page', { applicationPath: pathIfAnyLineIsRight }),
  fault('referer-of-each-request-printed', 'log-referer', {
    describe: (visit, status) => `${visit.method} ${visit.url.pathname} ${status} "${visit.headers.referer ?? '-'}"`,
  }),
  fault('return-address-in-next-not-checked', 'return-to-unnamed', {
    afterStart(visit, answer) {
      memoryOf(visit).set('next', visit.query.get('next'))
      return answer
    },
    arrive(visit, login) {
      const next = memoryOf(visit).get('next')
      return next ? { status: 302, headers: { location: String(next) } } : right.arrive(visit, login)
    },
  }),
  fault('links-of-the-callback-page-to-the-forwarded-host', 'forwarded-host-not-believed', {
    arrive(visit, login) {
      const answer = right.arrive(visit, login)
      const host = visit.headers['x-forwarded-host']
      return host ? { ...answer, body: answer.body!.replaceAll('="/', `="http://${host}/`) } : answer
    },
  }),
  fault('sign-out-to-the-forwarded-host', 'forwarded-host-not-believed', {
    signedOut(visit) {
      const host = visit.headers['x-forwarded-host'] ?? visit.headers.host
      return { ...right.signedOut(visit), headers: { location: `http://${host}/` } }
    },
  }),
  fault('last-slash-removed-from-the-decoded-path', 'request-adds-no-header', {
    // Behaves like a server that writes the decoded path into Location: each further line of the path becomes a header.
    ...answerWith((answer, { url }) => {
      if (url.pathname.length < 2 || !url.pathname.endsWith('/')) return answer
      const [first = '', ...lines] = decodeURIComponent(url.pathname.slice(0, -1)).split('\r\n')
      const headers = lines.flatMap(line => (/^[\w-]+: \S/.test(line) ? [line.split(': ') as [string, string]] : []))
      const location = `/${encodeURI(first).replace(/^\/+/, '')}`
      return { status: 301, headers: { location, ...Object.fromEntries(headers) } }
    }),
  }),
  fault('links-begin-with-the-forwarded-prefix', 'forwarded-host-not-believed', {
    ...answerWith((answer, { headers }) => {
      const [location, prefix] = [answer.headers?.location, headers['x-forwarded-prefix']]
      if (!location?.startsWith('/') || prefix === undefined) return answer
      return { ...answer, headers: { ...answer.headers, location: `${prefix}${location}` } }
    }),
  }),
  fault('health-page-with-the-settings', 'settings-not-served', {
    around: async (visit, next) =>
      visit.url.pathname === '/health' ? { status: 200, headers: json, body: JSON.stringify(visit.settings) } : next(),
  }),
  fault('whole-folder-served', 'packages-not-served', {
    around: async ({ url }, next) =>
      url.pathname === '/package.json'
        ? { status: 200, headers: json, body: '{"name": "client", "dependencies": {"example": "4.18.2"}}' }
        : next(),
  }),
  fault('php-warning-on-a-page', 'run-no-inside', {
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
  fault('address-of-a-callback-with-a-wrong-method-printed', 'log-refused-callback', {
    describe: (visit, status) => `${visit.method} ${status === 405 ? visit.target : visit.url.pathname} ${status}`,
  }),
  fault('address-of-a-callback-in-a-frame-printed', 'log-refused-callback', {
    describe: (visit, status) => `${visit.method} ${status === 403 ? visit.target : visit.url.pathname} ${status}`,
  }),
  fault('callback-by-options', 'callback-post', { callbackMethods: ['GET', 'OPTIONS'] }),
  fault('exchange-at-the-issuer-in-the-address', 'callback-names-no-host', {
    checkClient: visit => right.checkClient({ ...visit, query: withoutIss(visit) }),
    portalUrl: ({ settings, query }, path) => (query.get('iss') ?? settings.loginUrl) + path,
  }),
  fault('request-id-of-the-visitor-on-error-pages', 'request-escapes', {
    ...answerWith((answer, { headers }) =>
      answer.status >= 400 ? { ...answer, body: `${answer.body}<p>Request ${headers['x-request-id']}</p>` } : answer,
    ),
  }),
  fault('decoded-path-as-html-in-a-form-action', 'not-found-escapes', {
    async around(visit, next) {
      const path = decodeSafely(visit.url.pathname)
      visit.url.pathname = visit.url.pathname.replace(/\/[^/]*[^\w/-][^/]*$/, '')
      const answer = await next()
      return answer.body ? { ...answer, body: `${answer.body}<form action="${path}"></form>` } : answer
    },
  }),
  fault('return-address-in-a-plain-cookie', 'return-to-planted', {
    afterStart(visit, answer) {
      const path = encodeURIComponent(right.localPath(visit.query.get('returnTo'), visit))
      visit.setCookies.push(`next=${path}; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=600`)
      return answer
    },
    arrive(visit, login) {
      const [, next] = visit.cookies.find(([name]) => name === 'next') ?? []
      return right.arrive(visit, { ...login, returnTo: decodeSafely(next ?? '/applications') })
    },
  }),
  fault('start-page-redirects-to-the-from-parameter', 'no-open-redirect', {
    around: async ({ url, query }, next) =>
      url.pathname === '/' && query.has('from') ? { status: 302, headers: { location: query.get('from')! } } : next(),
  }),
  fault('login-path-redirects-signed-in-visitors-to-the-next-parameter', 'no-open-redirect', {
    around: async (visit, next) =>
      visit.url.pathname === '/login' && visit.query.has('next') && right.readSession(visit)
        ? { status: 302, headers: { location: visit.query.get('next')! } }
        : next(),
  }),
  fault('login-by-options', 'start-other-methods', { startMethods: ['GET', 'OPTIONS'] }),
]
