// Clients that handle the usual failures of the platform, but not the rare ones: rare redirects, many failed calls, and
// calls that hang while other visitors wait.
import { type Parts, right } from '../parts.ts'
import { type Call, call, isRecord } from '../platform.ts'
import { PlatformFault, Refusal, type Visit } from '../visit.ts'
import { type Fault, fault, memoryOf } from './fault.ts'

const isOfApi = ({ url }: Call) => /\/(apps|identities)\/v1/.test(url)
const isList = ({ method, url }: Call) => method === 'GET' && url.endsWith('/apps/v1')
const isCreation = ({ method, url }: Call) => method === 'POST' && url.endsWith('/apps/v1')

/** The client follows the redirects that `isMet` selects, and sends the same request to the new address. */
const following = (isMet: (call: Call, status: number) => boolean): Partial<Parts> => ({
  send: (visit, request) =>
    call(
      {
        ...visit.parts,
        async readBody(response, most) {
          const location = response.headers.get('location')
          if (location === null || !isMet(request, response.status)) return right.readBody(response, most)
          const { method, headers, body } = request
          return right.readBody(await fetch(location, { method, headers, ...(body !== undefined && { body }) }), most)
        },
      },
      request,
    ),
})

/** If the platform redirects a call that `isMet` selects, the client treats the redirect as a success. */
const redirectsAreFine = (isMet: (call: Call) => boolean, answer: unknown): Partial<Parts> => ({
  async send(visit, request) {
    const answered = await right.send(visit, request)
    return isMet(request) && answered[0] >= 300 && answered[0] < 400 ? [200, answer] : answered
  },
})

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

/** After the deadline, the client answers the visitor, but does not end the call. */
const deadlineWithoutEnd: Partial<Parts> = {
  send: (visit, request) =>
    Promise.race([
      call({ ...visit.parts, deadlineMs: 86_400_000 }, request),
      pause(visit.parts.deadlineMs).then(() => {
        throw new PlatformFault(504)
      }),
    ]),
}

/** If Retry-After asks for a pause of at most five seconds, the client waits that long and repeats the call. */
const obeysShortPauses: Partial<Parts> = {
  async send(visit, request) {
    let pauseSeconds = 0
    const parts: Parts = {
      ...visit.parts,
      readBody(response, most) {
        pauseSeconds = Number(response.headers.get('retry-after') ?? 0)
        return right.readBody(response, most)
      },
    }
    const answered = await call(parts, request)
    if (pauseSeconds === 0 || pauseSeconds > 5) return answered
    await pause(pauseSeconds * 1000)
    return call(parts, request)
  },
}

const repeating = (times: number, isAgain: (call: Call) => boolean): Partial<Parts> => ({
  async send(visit, request) {
    for (let repeated = 0; ; repeated++) {
      const answered = await right.send(visit, request).catch((error: PlatformFault) => error)
      const isFailure = answered instanceof PlatformFault || answered[0] >= 500
      if (isFailure && repeated < times && isAgain(request)) continue
      if (answered instanceof PlatformFault) throw answered
      return answered
    }
  },
})

/** Of the calls that `isMet` selects, at most `most` run at the same time. The others wait without a deadline. */
function queueing(most: number, isMet: (call: Call) => boolean): Partial<Parts> {
  const queueOf = (visit: Visit) => {
    const known = memoryOf(visit).get('queue') as { open: number; waiting: (() => void)[] } | undefined
    const queue = known ?? { open: 0, waiting: [] }
    memoryOf(visit).set('queue', queue)
    return queue
  }
  return {
    async send(visit, request) {
      if (!isMet(request)) return right.send(visit, request)
      const queue = queueOf(visit)
      if (queue.open >= most) await new Promise<void>(resolve => queue.waiting.push(resolve))
      queue.open++
      try {
        return await right.send(visit, request)
      } finally {
        queue.open--
        queue.waiting.shift()?.()
      }
    },
  }
}

/**
 * The client does not release the connection of an error answer of the API. After 20 error answers, the client has no
 * connection left.
 */
const keepsConnections: Partial<Parts> = {
  async send(visit, request) {
    if (!isOfApi(request)) return right.send(visit, request)
    const kept = (memoryOf(visit).get('kept') as number | undefined) ?? 0
    if (kept >= 20) throw new PlatformFault(504)
    const answered = await right.send(visit, request)
    if (answered[0] >= 400) memoryOf(visit).set('kept', kept + 1)
    return answered
  },
}

/** Sends a form to the token endpoint. If the portal refuses the form, the client shows the error_description. */
async function askPortal(visit: Visit, form: URLSearchParams): Promise<Record<string, unknown>> {
  const [status, answer] = await right.send(visit, {
    method: 'POST',
    url: `${visit.settings.loginUrl}/api/exchangeToken`,
    headers: right.portalHeaders(visit),
    body: form.toString(),
    most: 65_536,
  })
  if (!isRecord(answer)) throw new PlatformFault(status)
  if (status !== 200) throw new Refusal(502, `The portal said: ${answer.error_description}`)
  return answer
}

/** If `act` throws an error, the client answers like a server that does not catch errors: `Internal Server Error`. */
const crashing = (act: (call: Call, answer: unknown, status: number) => unknown): Partial<Parts> => ({
  async send(visit, request) {
    const answered = await right.send(visit, request)
    try {
      act(request, answered[1], answered[0])
    } catch {
      throw new Error('not caught')
    }
    return answered
  },
  statusFor(error) {
    if (!(error instanceof Refusal)) throw error
    return error.status
  },
  onCrash: (_error, response) => void response.writeHead(500).end('Internal Server Error'),
})

type PortalError = { error: string }
type ApiError = { error: { message: string | Record<string, string[]> } }

/** Returns the messages in an error of the API. Assumes that the error has its usual form. */
function textsIn(answer: unknown): string[] {
  const { message } = (answer as ApiError).error
  return typeof message === 'string' ? [message] : Object.values(message).map(texts => texts.join(' '))
}

const isRenewal = ({ body }: Call) => body?.includes('grant_type=refresh_token') ?? false

export const platformFailures: Fault[] = [
  fault('call-goes-on-after-the-deadline', ['list-never', 'exchange-never', 'refresh-slow'], deadlineWithoutEnd),
  fault(
    'call-repeated-after-a-short-retry-after',
    ['create-failures-not-repeated', 'exchange-failed-not-repeated', 'refresh-failed-not-repeated'],
    obeysShortPauses,
  ),
  fault(
    'list-asked-for-four-times',
    'list-failed-few-calls',
    repeating(3, ({ method }) => method === 'GET'),
  ),
  fault('client-ends-when-a-visitor-leaves-the-list', 'raw-visitor-leaves', {
    onLeft(server, { url }) {
      if (url.pathname !== '/applications') return
      server.close()
      server.closeAllConnections()
    },
  }),
  fault('client-ends-when-a-visitor-leaves-the-callback', 'raw-visitor-leaves', {
    onLeft(server, { url }) {
      if (url.pathname !== '/exchangeToken') return
      server.close()
      server.closeAllConnections()
    },
  }),
  fault('no-security-headers-if-request-headers-are-too-long', 'raw-parser-headers', {
    parserHeaders: error =>
      (error as NodeJS.ErrnoException).code === 'HPE_HEADER_OVERFLOW' ? {} : right.parserHeaders(error),
  }),
  fault('description-of-a-refused-exchange-shown', 'exchange-error-description', {
    async exchange(visit, callback, login) {
      const form = right.exchangeForm(visit, callback, login)
      return right.readTokens(visit, await askPortal(visit, form))
    },
  }),
  fault('description-of-a-refused-renewal-shown', 'refresh-error-description', {
    renew: async (visit, refreshToken) =>
      right.readTokens(visit, await askPortal(visit, right.renewalForm(visit.settings, refreshToken))),
  }),
  fault(
    'portal-error-assumed-to-be-a-text',
    ['exchange-odd-answers', 'refresh-odd-answers'],
    crashing(({ url }, answer, status) => {
      if (url.endsWith('/api/exchangeToken') && status >= 400) (answer as PortalError).error.toUpperCase()
    }),
  ),
  fault(
    'api-error-assumed-to-have-a-message',
    ['list-odd-errors', 'create-odd-errors'],
    crashing((request, answer, status) => {
      if (isOfApi(request) && status >= 400) textsIn(answer)
    }),
  ),
  fault('rare-status-is-an-empty-list', 'list-rare-statuses', {
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      const isFailure = [400, 401, 403, 404, 429, 500, 502, 503].includes(status)
      return isList(request) && status !== 200 && !isFailure ? [200, { ItemList: [] }] : [status, answer]
    },
  }),
  fault('connections-of-error-answers-not-released', 'failed-calls-leave-connections', keepsConnections),
  fault('two-list-calls-at-a-time', 'hanging-list-others', queueing(2, isList)),
  fault('one-renewal-at-a-time', 'hanging-renewal-others', queueing(1, isRenewal)),
  fault(
    'redirect-308-followed',
    [
      'exchange-redirect-others',
      'refresh-redirect-308',
      'list-redirect-others',
      'every-call-redirect',
      'logout-revocation-redirect-308',
    ],
    following((_call, status) => status === 308),
  ),
  fault(
    'redirect-303-followed',
    ['exchange-redirect-others', 'list-redirect-others'],
    following((_call, status) => status === 303),
  ),
  fault('redirect-is-an-empty-list', 'redirect-reported', redirectsAreFine(isList, { ItemList: [] })),
  fault('redirect-is-a-creation', 'redirect-reported', {
    ...redirectsAreFine(isCreation, undefined),
    clientIdIn: ({ clientId }) => `${clientId}`,
  }),
  fault('missing-client-id-shown-as-undefined', ['create-empty', 'create-not-an-object', 'create-members-missing'], {
    clientIdIn: ({ clientId }) => `${clientId}`,
  }),
  fault('missing-secret-shown-as-undefined', ['secret-empty', 'secret-html', 'secret-members-missing'], {
    secretIn: made => `${(made as { clientSecret?: unknown } | undefined)?.clientSecret}`,
  }),
]
