// Clients that handle the usual failures of the API, but not rare statuses, many failed calls, or calls that hang.
import { type Behaviour, correct } from '../../behaviour.ts'
import { crashing, showsPauseAsNumber } from '../../call-changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import type { Call } from '../../platform.ts'
import { isCreation, isList, isOfApi, isRenewal } from '../../requests.ts'
import { PlatformError, type Visit } from '../../visit.ts'

const repeating = (times: number, isAgain: (call: Call) => boolean): Partial<Behaviour> => ({
  async send(visit, request) {
    for (let repeated = 0; ; repeated++) {
      const answered = await correct.send(visit, request).catch((error: PlatformError) => error)
      const isFailure = answered instanceof PlatformError || answered[0] >= 500
      if (isFailure && repeated < times && isAgain(request)) continue
      if (answered instanceof PlatformError) throw answered
      return answered
    }
  },
})

/** At most `most` of the calls that `isMet` selects run at the same time. The others wait without a deadline. */
function queueing(most: number, isMet: (call: Call) => boolean): Partial<Behaviour> {
  const queueOf = (visit: Visit) => {
    const known = visit.memory.get('queue') as { open: number; waiting: (() => void)[] } | undefined
    const queue = known ?? { open: 0, waiting: [] }
    visit.memory.set('queue', queue)
    return queue
  }
  return {
    async send(visit, request) {
      if (!isMet(request)) return correct.send(visit, request)
      const queue = queueOf(visit)
      if (queue.open >= most) await new Promise<void>(resolve => queue.waiting.push(resolve))
      queue.open++
      try {
        return await correct.send(visit, request)
      } finally {
        queue.open--
        queue.waiting.shift()?.()
      }
    },
  }
}

/**
 * If the API answers with an error, the client does not release the connection. After 20 error answers, the client has
 * no connection left.
 */
const keepsConnections: Partial<Behaviour> = {
  async send(visit, request) {
    if (!isOfApi(request)) return correct.send(visit, request)
    const kept = (visit.memory.get('kept') as number | undefined) ?? 0
    if (kept >= 20) throw new PlatformError(504)
    const answered = await correct.send(visit, request)
    if (answered[0] >= 400) visit.memory.set('kept', kept + 1)
    return answered
  },
}

type ApiError = { error: { message: string | Record<string, string[]> } }

/** Returns the messages in an error from the API. Assumes that the error has its usual form. */
function textsIn(answer: unknown): string[] {
  const { message } = (answer as ApiError).error
  return typeof message === 'string' ? [message] : Object.values(message).map(texts => texts.join(' '))
}

export const manyFailures: Mistake[] = [
  mistake('rare-status-is-an-empty-list', 'list-rare-statuses', {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      const isFailure = [400, 401, 403, 404, 429, 500, 502, 503].includes(status)
      return isList(request) && status !== 200 && !isFailure ? [200, { ItemList: [] }] : [status, answer]
    },
  }),
  mistake(
    'api-error-assumed-to-have-a-message',
    ['list-odd-errors', 'create-odd-errors'],
    crashing((request, answer, status) => {
      if (isOfApi(request) && status >= 400) textsIn(answer)
    }),
  ),
  mistake('pause-of-the-list-is-a-number', 'list-retry-after-odd', showsPauseAsNumber(isList)),
  mistake('pause-of-a-creation-is-a-number', 'create-retry-after-odd', showsPauseAsNumber(isCreation)),
  mistake(
    'list-asked-for-four-times',
    'list-failed-few-calls',
    repeating(3, ({ method }) => method === 'GET'),
  ),
  mistake('connections-of-error-answers-not-released', 'failed-calls-leave-connections', keepsConnections),
  mistake('closed-connection-is-an-error', 'list-idle-connection', { isConnectionLost: () => false }),
  mistake('two-list-calls-at-a-time', 'hanging-list-others', queueing(2, isList)),
  mistake('one-creation-at-a-time', 'hanging-create-others', queueing(1, isCreation)),
  mistake('one-renewal-at-a-time', 'hanging-renewal-others', queueing(1, isRenewal)),
]
