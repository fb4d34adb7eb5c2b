// Clients that limit only correct answers of the API, or only one of their calls, and clients that repeat calls.
import { setTimeout as pause } from 'node:timers/promises'
import { type Parts, right } from '../parts.ts'
import { type Call, isRecord } from '../platform.ts'
import { PlatformFault, type Visit } from '../visit.ts'
import { answerWith, type Fault, fault } from './fault.ts'

type Answered = [status: number, answer: unknown]

const isList = ({ method, url }: Call) => method === 'GET' && url.endsWith('/apps/v1')
const isCreation = ({ method, url }: Call) => method === 'POST' && url.endsWith('/apps/v1')
const isRead = ({ method, url }: Call) => method === 'GET' && url.includes('/apps/v1/')
const isOfGroups = ({ url }: Call) => url.includes('/identities/')
const isOfApi = ({ url }: Call) => /\/(apps|identities)\/v1/.test(url)

/** For the calls that `isLate` selects, the deadline applies only until the headers have arrived. */
const deadlineOfHeaders = (isLate: (call: Call, status: number) => boolean, isMet = isOfApi): Partial<Parts> => ({
  async send({ parts, ...visit }, call) {
    if (!isMet(call)) return right.send({ parts, ...visit }, call)
    const over = new AbortController()
    const timer = setTimeout(() => over.abort(), parts.deadlineMs)
    try {
      const { method, url, headers, body } = call
      const response = await fetch(url, {
        method,
        headers,
        redirect: 'manual',
        signal: over.signal,
        ...(body !== undefined && { body }),
      })
      if (isLate(call, response.status)) clearTimeout(timer)
      const text = await parts.readBody(response, call.most)
      return [response.status, text === '' ? undefined : parts.parse(text, response.headers.get('content-type') ?? '')]
    } catch (error) {
      throw error instanceof PlatformFault ? error : new PlatformFault(504)
    } finally {
      clearTimeout(timer)
    }
  },
})

/** If an error answer has a Retry-After of at most two seconds, the client waits that long and repeats the call. */
const repeatsAfterRetryAfter = (isMet: (call: Call) => boolean): Partial<Parts> => ({
  async send(visit, call) {
    if (!isMet(call)) return right.send(visit, call)
    let seconds = Number.NaN
    const readBody: Parts['readBody'] = (response, most) => {
      seconds = Number(response.headers.get('retry-after') ?? 'none')
      return right.readBody(response, most)
    }
    const ask = () => right.send({ ...visit, parts: { ...visit.parts, readBody } }, call)
    const answered = await ask()
    if (answered[0] < 400 || !(seconds <= 2)) return answered
    await pause(seconds * 1000)
    return ask()
  },
})

/** If `isMet` selects an answer, the client reads the whole answer without a limit. */
const unlimited = (isMet: (call: Call, status: number) => boolean): Partial<Parts> => ({
  send: (visit, call) =>
    right.send(
      {
        ...visit,
        parts: {
          ...visit.parts,
          deadlineMs: 8000,
          readBody: (response, most) =>
            isMet(call, response.status) ? response.text() : right.readBody(response, most),
        },
      },
      call,
    ),
})

/**
 * Repeats a call once if `isAgain` is true for its status. A timeout counts as status 504, and a broken connection as
 * status 502.
 */
const repeatedIf = (isMet: (call: Call) => boolean, isAgain: (status: number) => boolean): Partial<Parts> => ({
  async send(visit, call) {
    const ask = () => right.send(visit, call)
    if (!isMet(call)) return ask()
    const status = await ask().catch(error => (error instanceof PlatformFault ? error.upstream : 502))
    if (typeof status !== 'number') return isAgain(status[0]) ? ask() : status
    if (isAgain(status)) return ask()
    throw new PlatformFault(status)
  },
})

const onAnswer = (isMet: (call: Call) => boolean, change: (answered: Answered, visit: Visit) => Answered) => ({
  send: async (visit: Visit, call: Call): Promise<Answered> => {
    const answered = await right.send(visit, call)
    return isMet(call) ? change(answered, visit) : answered
  },
})

const forbidden = new WeakSet<Visit['cookies']>()

export const errorAnswers: Fault[] = [
  fault(
    'deadline-ends-with-the-headers-of-an-error',
    ['list-error-drip', 'get-drip', 'change-drip', 'create-drip', 'groups-drip'],
    deadlineOfHeaders((_call, status) => status >= 400),
  ),
  fault(
    'deadline-ends-with-the-headers-except-for-the-list',
    ['get-drip', 'change-drip', 'create-drip', 'groups-drip'],
    deadlineOfHeaders(call => !isList(call)),
  ),
  fault(
    'deadline-ends-with-the-headers-of-the-portal',
    ['exchange-error-drip', 'refresh-error-drip'],
    deadlineOfHeaders(
      (_call, status) => status >= 400,
      ({ url }) => url.endsWith('/api/exchangeToken'),
    ),
  ),
  fault(
    'error-of-the-portal-read-to-its-end',
    'exchange-error-bounded',
    unlimited(({ url }, status) => url.endsWith('/api/exchangeToken') && status >= 400),
  ),
  fault('name-read-to-its-end', 'name-large-refused', {
    async around(visit, next) {
      const answer = await next()
      const session = right.readSession(visit)
      if (!session || visit.url.pathname !== '/applications') return answer
      const response = await fetch(`${visit.settings.loginUrl}/api/me`, {
        headers: { authorization: `Bearer ${session.accessToken}` },
        redirect: 'manual',
      })
      const me = (await response.json()) as { firstName?: string }
      return { ...answer, body: `${answer.body ?? ''}<p>${right.html(me.firstName ?? '')}</p>` }
    },
  }),
  fault(
    'error-answers-read-to-their-end',
    ['error-answers-bounded', 'create-large-refused'],
    unlimited((_call, status) => status >= 400),
  ),
  fault('answer-to-a-creation-read-to-its-end', ['create-large-refused', 'every-call-bounded'], unlimited(isCreation)),
  fault(
    'answer-with-a-new-secret-read-to-its-end',
    'every-call-bounded',
    unlimited(({ url }) => url.endsWith('/refreshSecret')),
  ),
  fault('missing-list-is-an-empty-list', 'list-without-items', {
    readList: answer => right.readList(isRecord(answer) ? { ItemList: [], ...answer } : answer),
  }),
  fault('error-with-status-200-is-an-empty-list', 'list-without-items', {
    readList: answer => right.readList(isRecord(answer) && 'error' in answer ? { ItemList: [] } : answer),
  }),
  fault(
    'creation-tried-again-after-a-timeout',
    'create-never-not-repeated',
    repeatedIf(isCreation, status => status === 504),
  ),
  fault(
    'creation-tried-again-after-a-gateway-error',
    'create-failures-not-repeated',
    repeatedIf(isCreation, status => status === 502),
  ),
  fault(
    'busy-groups-asked-again',
    'every-call-429-not-repeated',
    repeatedIf(isOfGroups, status => status === 429),
  ),
  fault(
    'busy-application-asked-again',
    'every-call-429-not-repeated',
    repeatedIf(isRead, status => status === 429),
  ),
  fault('refused-token-of-a-page-is-not-found', 'get-401', {
    ...onAnswer(isRead, ([status, answer]) => [status === 401 ? 404 : status, answer]),
    ...answerWith(answer => (answer.status === 404 ? { status: 404, body: '<p>There is no such page.</p>' } : answer)),
  }),
  fault('renewed-again-and-again-by-other-calls', ['create-401-always', 'get-401-always'], { mostRenewals: 20 }),
  fault('forbidden-groups-begin-a-login', 'groups-403-no-login', {
    ...onAnswer(isOfGroups, ([status, answer], visit) => {
      if (status === 403) forbidden.add(visit.cookies)
      return [status, answer]
    }),
    ...answerWith((answer, { cookies }) =>
      forbidden.has(cookies) ? { status: 302, headers: { location: '/login' } } : answer,
    ),
  }),
  fault('forbidden-groups-lead-to-the-portal', 'groups-403-no-login', {
    ...onAnswer(isOfGroups, ([status, answer], visit) => {
      if (status === 403) forbidden.add(visit.cookies)
      return [status, answer]
    }),
    ...answerWith((answer, { cookies, settings }) =>
      forbidden.has(cookies) ? { status: 302, headers: { location: `${settings.loginUrl}/sign-in` } } : answer,
    ),
  }),
  fault(
    'ended-session-is-an-error-of-the-form',
    'create-session-ended-at-portal',
    answerWith((answer, visit) =>
      visit.method === 'POST' &&
      visit.url.pathname === '/applications' &&
      right.readSession(visit) &&
      answer.status === 401
        ? { status: 502, body: '<p>That did not work.</p>' }
        : answer,
    ),
  ),
  fault(
    'ended-session-is-an-error-of-a-change',
    'change-session-ended-at-portal',
    answerWith((answer, visit) =>
      visit.method === 'POST' &&
      visit.url.pathname.startsWith('/applications/') &&
      right.readSession(visit) &&
      answer.status === 401
        ? { status: 502, body: '<p>That did not work.</p>' }
        : answer,
    ),
  ),
  fault('failed-creation-ends-the-session', ['create-409', 'create-503-not-repeated'], {
    async send(visit, call) {
      const [status, answer] = await right.send(visit, call)
      if (isCreation(call) && status >= 400 && status !== 422) right.dropSession(visit)
      return [status, answer]
    },
  }),
  fault(
    'creation-repeated-after-a-short-retry-after',
    'create-failures-not-repeated',
    repeatsAfterRetryAfter(isCreation),
  ),
  fault(
    'new-secret-repeated-after-a-short-retry-after',
    'secret-not-repeated',
    repeatsAfterRetryAfter(({ url }) => url.endsWith('/refreshSecret')),
  ),
]
