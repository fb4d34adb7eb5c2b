import { right } from '../parts.ts'
import { Refusal, type Visit } from '../visit.ts'
import { answerWith, crashIf, type Fault, fault, headersWith, sessionWith } from './fault.ts'

/** Behaves like a process that ends at an uncaught error: the client stops listening. */
const ends: Pick<typeof right, 'statusFor' | 'onCrash'> = {
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

/** Makes two faults for the same error: one client breaks the connection, and the other answers with status 500. */
function crashes(
  name: string,
  check: string,
  isMet: (visit: Visit) => boolean,
  more: Partial<typeof right> = {},
): Fault[] {
  return [
    fault(name, check, { ...crashIf(isMet), ...more }),
    fault(`${name}-as-500`, `${check}-status`, {
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
export function inTurn(isWaitedFor: (visit: Visit) => boolean): Partial<typeof right> {
  return {
    async around(visit, next) {
      const before = visit.memory.get('turn')
      const answer = Promise.resolve(before?.catch(() => undefined)).then(next)
      if (isWaitedFor(visit)) visit.memory.set('turn', answer)
      return answer
    },
  }
}

const isAt = ({ url }: Visit, path: RegExp) => path.test(url.pathname)
const lax = sessionWith(text => text.replace('Strict', 'Lax'))

export const rawRequests: Fault[] = [
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
  ...crashes(
    'form-without-a-type',
    'raw-forms',
    ({ method, headers }) => method === 'POST' && !headers['content-type'],
  ),
  fault(
    'form-with-files',
    'raw-signed-in',
    crashIf(
      visit => `${visit.headers['content-type']}`.startsWith('multipart/') && right.readSession(visit) !== undefined,
    ),
  ),
  fault('own-address-from-the-target', 'raw-absolute-target', {
    startQuery(visit, state, verifier) {
      const query = right.startQuery(visit, state, verifier)
      query.set('redirect_uri', `${visit.url.origin}/exchangeToken`)
      return query
    },
  }),
  fault(
    'slash-at-the-end-redirects',
    'raw-no-redirect-away',
    answerWith((answer, { target }) =>
      answer.status === 404 && target.length > 1 && target.endsWith('/')
        ? { status: 308, headers: { location: target.slice(0, -1) } }
        : answer,
    ),
  ),
  fault('half-a-body-ends-the-process', 'raw-body-length', ends),
  fault(
    'everybody-waits-for-a-form',
    'raw-body-unfinished',
    inTurn(({ method }) => method === 'POST'),
  ),
  fault('bodies-without-a-bound', 'raw-body-endless', { longestBody: Number.POSITIVE_INFINITY }),
  fault('post-without-origin', ['raw-logout-without-origin', 'raw-create-without-origin'], {
    ...lax,
    isFormOf: () => true,
    isFromHere: visit =>
      (visit.headers.origin === undefined && visit.headers['sec-fetch-site'] === undefined) || right.isFromHere(visit),
  }),
  fault('origin-compared-as-a-prefix', ['raw-create-similar-origin', 'raw-logout-similar-origin'], {
    isFormOf: () => true,
    isFromHere: visit =>
      (visit.headers['sec-fetch-site'] === undefined && visit.headers.origin?.startsWith(visit.settings.publicUrl)) ||
      right.isFromHere(visit),
  }),
  fault('origin-compared-as-a-suffix', ['raw-create-similar-origin', 'raw-logout-similar-origin'], {
    isFormOf: () => true,
    isFromHere: visit =>
      (visit.headers['sec-fetch-site'] === undefined &&
        visit.headers.origin?.endsWith(new URL(visit.settings.publicUrl).host)) ||
      right.isFromHere(visit),
  }),
  fault('unclear-requests-answered-as-others', ['raw-two-lengths', 'raw-space-before-colon'], {
    parserStatus: '200 OK',
  }),
  fault('headers-without-a-bound', 'raw-headers-endless', { serverOptions: { maxHeaderSize: 64 * 1024 * 1024 } }),
  fault('broken-connection-ends-the-process', 'raw-reset', {
    onLost(server) {
      server.close()
      server.closeAllConnections()
    },
  }),
  fault('every-content-type-is-a-form', ['raw-logout-other-type', 'raw-create-wrong-type', 'raw-create-other-type'], {
    bodyTypes: ['application/x-www-form-urlencoded', 'text/plain', 'application/json'],
    formOf: (visit, body) =>
      visit.headers['content-type'] === 'application/json' ? `${new URLSearchParams(JSON.parse(body))}` : body,
  }),
  fault('type-that-contains-the-word-form', ['raw-create-wrong-type', 'raw-edit-wrong-type'], {
    isFormType: (_visit, type) => type.includes('form'),
  }),
  fault('creation-as-multipart', 'raw-create-other-type', {
    isFormType: (visit, type) =>
      right.isFormType(visit, type) || (isAt(visit, /^\/applications$/) && type.startsWith('multipart/form-data')),
    formOf(visit, body) {
      if (!String(visit.headers['content-type']).startsWith('multipart/')) return body
      const parts = body.matchAll(/name="(.*?)"\r\n\r\n([\s\S]*?)\r\n--/g)
      return `${new URLSearchParams([...parts].map(([, name = '', value = '']): [string, string] => [name, value]))}`
    },
  }),
  fault('changes-as-json', 'raw-forms-other-type', {
    isFormType: (visit, type) =>
      right.isFormType(visit, type) || (isAt(visit, /\/edit$/) && type === 'application/json'),
    formOf: (visit, body) =>
      visit.headers['content-type'] === 'application/json' ? `${new URLSearchParams(JSON.parse(body))}` : body,
  }),
  fault('no-type-is-a-form', ['raw-create-other-type', 'raw-forms-other-type', 'raw-logout-other-type'], {
    isFormType: (visit, type) => type === '' || right.isFormType(visit, type),
  }),
  fault('sign-out-of-any-type', 'raw-logout-other-type', {
    isFormType: (visit, type) => right.isFormType(visit, type) || isAt(visit, /^\/logout$/),
  }),
  fault('sign-out-origin-is-the-host', 'raw-logout-foreign-host', {
    isFromHere: visit =>
      right.isFromHere(visit) || (isAt(visit, /^\/logout$/) && visit.headers.origin === `http://${visit.headers.host}`),
  }),
  fault('forms-of-a-megabyte', 'raw-body-long', { longestBody: 1024 * 1024 }),
  fault(
    'server-with-its-version',
    'raw-server-version',
    headersWith(() => ({ server: 'Example/1.19' })),
  ),
  fault(
    'framework-with-its-version',
    'raw-server-version',
    headersWith(() => ({ 'x-powered-by': 'Example 4.2' })),
  ),
  fault('parser-answers-with-their-version', 'raw-server-version', {
    parserHeaders: error => ({ ...right.parserHeaders(error), server: 'Example/1.19' }),
  }),
  fault('answers-of-the-parser-without-headers', 'raw-nosniff', { parserHeaders: () => ({}) }),
]
