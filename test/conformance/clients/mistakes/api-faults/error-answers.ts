// Clients whose limits of size and time apply only to successful answers of the API, or only to one of their calls. And
// clients that repeat calls.
import { setTimeout as pause } from 'node:timers/promises'
import { type Behaviour, correct } from '../../behaviour.ts'
import { deadlineOfHeaders, onAnswer, repeatsAfterRetryAfter, unlimited } from '../../call-changes.ts'
import { answerWith } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { type Call, call, isRecord } from '../../platform.ts'
import { isCreation, isList, isOfGroups, isRead } from '../../requests.ts'
import { PlatformError } from '../../visit.ts'

/**
 * Repeats a call once if `isAgain` is true for its status. A timeout counts as status 504, and a broken connection as
 * status 502.
 */
const repeatedIf = (isMet: (call: Call) => boolean, isAgain: (status: number) => boolean): Partial<Behaviour> => ({
  async send(visit, call) {
    const ask = () => correct.send(visit, call)
    if (!isMet(call)) return ask()
    const status = await ask().catch(error => (error instanceof PlatformError ? error.upstream : 502))
    if (typeof status !== 'number') return isAgain(status[0]) ? ask() : status
    if (isAgain(status)) return ask()
    throw new PlatformError(status)
  },
})

/** If Retry-After asks for a pause of at most five seconds, the client waits that long and repeats the call. */
const obeysShortPauses: Partial<Behaviour> = {
  async send(visit, request) {
    let pauseSeconds = 0
    const behaviour: Behaviour = {
      ...visit.behaviour,
      readBody(response, most) {
        pauseSeconds = Number(response.headers.get('retry-after') ?? 0)
        return correct.readBody(response, most)
      },
    }
    const answered = await call(behaviour, request)
    if (pauseSeconds === 0 || pauseSeconds > 5) return answered
    await pause(pauseSeconds * 1000)
    return call(behaviour, request)
  },
}

export const errorAnswers: Mistake[] = [
  mistake(
    'deadline-ends-with-the-headers-except-for-the-list',
    ['get-drip', 'change-drip', 'create-drip', 'groups-drip'],
    deadlineOfHeaders(call => !isList(call)),
  ),
  mistake(
    'deadline-ends-with-the-headers-of-an-error',
    ['list-error-drip', 'get-drip', 'change-drip', 'create-drip', 'groups-drip'],
    deadlineOfHeaders((_call, status) => status >= 400),
  ),
  mistake(
    'error-answers-read-to-their-end',
    ['error-answers-bounded', 'create-large-refused'],
    unlimited((_call, status) => status >= 400),
  ),
  mistake(
    'answer-with-a-new-secret-read-to-its-end',
    'every-call-bounded',
    unlimited(({ url }) => url.endsWith('/refreshSecret')),
  ),
  mistake(
    'answer-to-a-creation-read-to-its-end',
    ['create-large-refused', 'every-call-bounded'],
    unlimited(isCreation),
  ),
  mistake('missing-list-is-an-empty-list', 'list-without-items', {
    readList: answer => correct.readList(isRecord(answer) ? { ItemList: [], ...answer } : answer),
  }),
  mistake('error-with-status-200-is-an-empty-list', 'list-without-items', {
    readList: answer => correct.readList(isRecord(answer) && 'error' in answer ? { ItemList: [] } : answer),
  }),
  mistake(
    'creation-tried-again-after-a-timeout',
    'create-never-not-repeated',
    repeatedIf(isCreation, status => status === 504),
  ),
  mistake(
    'creation-tried-again-after-a-gateway-error',
    'create-failures-not-repeated',
    repeatedIf(isCreation, status => status === 502),
  ),
  mistake(
    'creation-repeated-after-a-short-retry-after',
    'create-failures-not-repeated',
    repeatsAfterRetryAfter(isCreation),
  ),
  mistake(
    'call-repeated-after-a-short-retry-after',
    ['create-failures-not-repeated', 'exchange-failed-not-repeated', 'refresh-failed-not-repeated'],
    obeysShortPauses,
  ),
  mistake(
    'busy-groups-asked-again',
    'every-call-429-not-repeated',
    repeatedIf(isOfGroups, status => status === 429),
  ),
  mistake(
    'busy-application-asked-again',
    'every-call-429-not-repeated',
    repeatedIf(isRead, status => status === 429),
  ),
  mistake('refused-token-of-a-page-is-not-found', 'get-401', {
    ...onAnswer(isRead, ([status, answer]) => [status === 401 ? 404 : status, answer]),
    ...answerWith(answer => (answer.status === 404 ? { status: 404, body: '<p>There is no such page.</p>' } : answer)),
  }),
  mistake('renewed-again-and-again-by-other-calls', ['create-401-always', 'get-401-always'], { mostRenewals: 20 }),
  mistake(
    'ended-session-is-an-error-of-the-form',
    'create-session-ended-at-portal',
    answerWith((answer, visit) =>
      visit.method === 'POST' &&
      visit.url.pathname === '/applications' &&
      correct.readSession(visit) &&
      answer.status === 401
        ? { status: 502, body: '<p>That did not work.</p>' }
        : answer,
    ),
  ),
  mistake(
    'ended-session-is-an-error-of-a-change',
    'change-session-ended-at-portal',
    answerWith((answer, visit) =>
      visit.method === 'POST' &&
      visit.url.pathname.startsWith('/applications/') &&
      correct.readSession(visit) &&
      answer.status === 401
        ? { status: 502, body: '<p>That did not work.</p>' }
        : answer,
    ),
  ),
]
