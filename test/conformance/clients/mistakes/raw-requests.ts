// Clients that mishandle requests that no browser sends.
import { type Behaviour, correct } from '../behaviour.ts'
import { answerWith, crashIf, headersWith, laxSession } from '../changes.ts'
import { type Mistake, mistake } from '../mistake.ts'
import { Refusal, type Visit } from '../visit.ts'

/** Behaves like a process that ends at an uncaught error: the client stops listening. */
const ends: Pick<Behaviour, 'statusFor' | 'onCrash'> = {
  statusFor(error) {
    if (!(error instanceof Refusal)) throw error
    return error.status
  },
  onCrash(_error, { req }) {
    const { server } = req.socket as unknown as { server: { close(): void; closeAllConnections(): void } }
    server.close()
    server.closeAllConnections()
  },
}

/** Makes two mistakes for the same error: one client breaks the connection, and the other answers with status 500. */
function crashes(
  name: string,
  check: string,
  isMet: (visit: Visit) => boolean,
  more: Partial<Behaviour> = {},
): Mistake[] {
  return [
    mistake(name, check, { ...crashIf(isMet), ...more }),
    mistake(`${name}-as-500`, `${check}-status`, {
      ...crashIf(isMet),
      onCrash: (_error, response) => void response.writeHead(500).end('Internal Server Error'),
    }),
  ]
}

function throws(act: () => unknown): boolean {
  try {
    act()
    return false
  } catch {
    return true
  }
}

/** While the client answers a request that `isWaitedFor` selects, all other visitors wait. */
export function inTurn(isWaitedFor: (visit: Visit) => boolean): Partial<Behaviour> {
  return {
    async aroundRequest(visit, next) {
      const before = visit.memory.get('turn') as Promise<unknown> | undefined
      const answer = Promise.resolve(before?.catch(() => undefined)).then(next)
      if (isWaitedFor(visit)) visit.memory.set('turn', answer)
      return answer
    },
  }
}

const isAt = ({ url }: Visit, path: RegExp) => path.test(url.pathname)

const json = { 'content-type': 'application/json' }

export const rawRequests: Mistake[] = [
  mistake('message-of-the-router-on-the-page', 'raw-own-words', {
    ...answerWith((answer, { target }) =>
      answer.status >= 400 && target.includes('%E0%A4%A')
        ? { ...answer, body: "<!doctype html><p>Failed to decode param '%E0%A4%A'" }
        : answer,
    ),
  }),
  ...crashes('target-as-a-relative-address', 'raw-targets', ({ target }) => throws(() => new URL(target, 'http://a'))),
  ...crashes('address-decoded-without-care', 'raw-escapes', ({ target }) => throws(() => decodeURIComponent(target))),
  ...crashes('parameter-may-be-a-list', 'raw-parameters', ({ query }) =>
    [...query.keys()].some(name => query.getAll(name).length > 1),
  ),
  ...crashes(
    'own-address-from-host',
    'raw-hosts',
    ({ headers, target }) => throws(() => new URL(target, `http://${headers.host}`)),
    ends,
  ),
  ...crashes('unknown-methods', 'raw-methods', ({ method }) => !['GET', 'HEAD', 'POST'].includes(method)),
  ...crashes('long-headers', 'raw-long-headers', ({ headers }) => (headers['x-long'] ?? '').length > 10_000, ends),
  ...crashes('referer-is-an-address', 'raw-header-values', ({ headers }) =>
    throws(() => headers.referer && new URL(headers.referer)),
  ),
  mistake('own-address-from-the-target', 'raw-absolute-target', {
    startQuery(visit, state, verifier) {
      const query = correct.startQuery(visit, state, verifier)
      query.set('redirect_uri', `${visit.url.origin}/exchangeToken`)
      return query
    },
  }),
  mistake(
    'slash-at-the-end-redirects',
    'raw-no-redirect-away',
    answerWith((answer, { target }) =>
      answer.status === 404 && target.length > 1 && target.endsWith('/')
        ? { status: 308, headers: { location: target.slice(0, -1) } }
        : answer,
    ),
  ),
  mistake('answers-of-the-parser-without-headers', 'raw-nosniff', { parserHeaders: () => ({}) }),
  mistake('expectation-answered-by-the-server', 'raw-nosniff', { ignoresExpectations: false }),
  mistake('no-security-headers-if-request-headers-are-too-long', 'raw-parser-headers', {
    parserHeaders: error =>
      (error as NodeJS.ErrnoException).code === 'HPE_HEADER_OVERFLOW' ? {} : correct.parserHeaders(error),
  }),
  ...crashes(
    'form-without-a-type',
    'raw-forms',
    ({ method, headers }) => method === 'POST' && !headers['content-type'],
  ),
  mistake('half-a-body-ends-the-process', 'raw-body-length', ends),
  mistake(
    'everybody-waits-for-a-form',
    'raw-body-unfinished',
    inTurn(({ method }) => method === 'POST'),
  ),
  mistake('bodies-without-a-bound', 'raw-body-endless', { longestBody: Number.POSITIVE_INFINITY }),
  mistake('origin-compared-as-a-prefix', ['raw-create-similar-origin', 'raw-logout-similar-origin'], {
    isFormOf: () => true,
    isFromHere: visit =>
      (visit.headers['sec-fetch-site'] === undefined && visit.headers.origin?.startsWith(visit.settings.publicUrl)) ||
      correct.isFromHere(visit),
  }),
  mistake('origin-compared-as-a-suffix', ['raw-create-similar-origin', 'raw-logout-similar-origin'], {
    isFormOf: () => true,
    isFromHere: visit =>
      (visit.headers['sec-fetch-site'] === undefined &&
        visit.headers.origin?.endsWith(new URL(visit.settings.publicUrl).host)) ||
      correct.isFromHere(visit),
  }),
  mistake('sign-out-origin-is-the-host', 'raw-logout-foreign-host', {
    isFromHere: visit =>
      correct.isFromHere(visit) ||
      (isAt(visit, /^\/logout$/) && visit.headers.origin === `http://${visit.headers.host}`),
  }),
  mistake('post-without-origin', ['raw-logout-without-origin', 'raw-create-without-origin'], {
    ...laxSession,
    isFormOf: () => true,
    isFromHere: visit =>
      (visit.headers.origin === undefined && visit.headers['sec-fetch-site'] === undefined) ||
      correct.isFromHere(visit),
  }),
  mistake('form-token-only-compared-with-a-cookie', 'raw-create-planted-token', {
    isFromHere: () => true,
    isFormOf: () => true,
    seal(visit, name, value) {
      const text = correct.seal(visit, name, value)
      if (name === 'form') visit.setCookies.push(`csrf=${text}; Path=/; HttpOnly; Secure; SameSite=Lax`)
      return text
    },
    unseal: (visit, name, text) =>
      name !== 'form' || visit.cookies.some(([key, value]) => key === 'csrf' && value === text)
        ? correct.unseal(visit, name, text)
        : undefined,
  }),
  mistake('unclear-requests-answered-as-others', ['raw-two-lengths', 'raw-space-before-colon'], {
    parserStatus: '200 OK',
  }),
  mistake('headers-without-a-bound', 'raw-headers-endless', { serverOptions: { maxHeaderSize: 64 * 1024 * 1024 } }),
  mistake('broken-connection-ends-the-process', 'raw-reset', {
    onLost(server) {
      server.close()
      server.closeAllConnections()
    },
  }),
  mistake('forms-of-a-megabyte', 'raw-body-long', { longestBody: 1024 * 1024 }),
  mistake(
    'server-with-its-version',
    'raw-server-version',
    headersWith(() => ({ server: 'Example/1.19' })),
  ),
  mistake(
    'framework-with-its-version',
    'raw-server-version',
    headersWith(() => ({ 'x-powered-by': 'Example 4.2' })),
  ),
  mistake('parser-answers-with-their-version', 'raw-server-version', {
    parserHeaders: error => ({ ...correct.parserHeaders(error), server: 'Example/1.19' }),
  }),
  mistake('type-that-contains-the-word-form', ['raw-create-wrong-type', 'raw-edit-wrong-type'], {
    isFormType: (_visit, type) => type.includes('form'),
  }),
  mistake('creation-as-multipart', 'raw-create-other-type', {
    isFormType: (visit, type) =>
      correct.isFormType(visit, type) || (isAt(visit, /^\/applications$/) && type.startsWith('multipart/form-data')),
    formOf(visit, body) {
      if (!String(visit.headers['content-type']).startsWith('multipart/')) return body
      const parts = body.matchAll(/name="(.*?)"\r\n\r\n([\s\S]*?)\r\n--/g)
      return `${new URLSearchParams([...parts].map(([, name = '', value = '']): [string, string] => [name, value]))}`
    },
  }),
  mistake('no-type-is-a-form', ['raw-create-other-type', 'raw-forms-other-type', 'raw-logout-other-type'], {
    isFormType: (visit, type) => type === '' || correct.isFormType(visit, type),
  }),
  mistake('changes-as-json', 'raw-forms-other-type', {
    isFormType: (visit, type) =>
      correct.isFormType(visit, type) || (isAt(visit, /\/edit$/) && type === 'application/json'),
    formOf: (visit, body) =>
      visit.headers['content-type'] === 'application/json' ? `${new URLSearchParams(JSON.parse(body))}` : body,
  }),
  mistake('every-content-type-is-a-form', ['raw-logout-other-type', 'raw-create-wrong-type', 'raw-create-other-type'], {
    bodyTypes: ['application/x-www-form-urlencoded', 'text/plain', 'application/json'],
    formOf: (visit, body) =>
      visit.headers['content-type'] === 'application/json' ? `${new URLSearchParams(JSON.parse(body))}` : body,
  }),
  mistake('sign-out-of-any-type', 'raw-logout-other-type', {
    isFormType: (visit, type) => correct.isFormType(visit, type) || isAt(visit, /^\/logout$/),
  }),
  mistake('client-ends-when-a-visitor-leaves-the-list', 'raw-visitor-leaves', {
    onLeft(server, { url }) {
      if (url.pathname !== '/applications') return
      server.close()
      server.closeAllConnections()
    },
  }),
  mistake('client-ends-when-a-visitor-leaves-the-callback', 'raw-visitor-leaves', {
    onLeft(server, { url }) {
      if (url.pathname !== '/exchangeToken') return
      server.close()
      server.closeAllConnections()
    },
  }),
  mistake(
    'form-with-files',
    'raw-signed-in',
    crashIf(
      visit => `${visit.headers['content-type']}`.startsWith('multipart/') && correct.readSession(visit) !== undefined,
    ),
  ),
  mistake('health-page-with-the-settings', 'settings-not-served', {
    aroundRequest: async (visit, next) =>
      visit.url.pathname === '/health' ? { status: 200, headers: json, body: JSON.stringify(visit.settings) } : next(),
  }),
  mistake('whole-folder-served', 'packages-not-served', {
    aroundRequest: async ({ url }, next) =>
      url.pathname === '/package.json'
        ? { status: 200, headers: json, body: '{"name": "client", "dependencies": {"example": "4.18.2"}}' }
        : next(),
  }),
]
