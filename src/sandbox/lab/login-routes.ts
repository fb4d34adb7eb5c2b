// GET /lab/v1/logins, one of them, and one as HAR: what clients did, as JSON.
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import type { Addresses } from './addresses.ts'
import { toHar } from './har.ts'
import type { Hide } from './hide.ts'
import { type FieldMessages, LabError } from './lab-error.ts'
import type { Logins, Wanted } from './logins.ts'
import { identityOf, type RecordedLogin } from './recorded.ts'
import { tellLogin, tellSummary } from './tell.ts'

const longestWaitSeconds = 30
const mostListed = 100

type Parts = { logins: Logins; hide: Hide; addresses: Addresses; clock: () => Date }

export function loginRoutes({ logins, hide, addresses, clock }: Parts) {
  const waits = new Set<AbortController>()
  let isOver = false

  return {
    /** The newest hundred; `cursor` is the `after` of the next question. */
    async list(request: FastifyRequest) {
      const { clientId, state, after, waitSeconds } = readQuestion(request.query as Record<string, string | undefined>)
      const stateHash = state === undefined ? undefined : identityOf(hide.value('state', state, clock()))
      const wanted = { clientId, state: stateHash, after }
      const found = logins.list(wanted)
      if (found.length === 0 && waitSeconds > 0 && !isOver) await somethingNew(request, wanted, waitSeconds)
      const cursor = logins.newest()
      return {
        logins: logins
          .list(wanted)
          .slice(0, mostListed)
          .map(login => tellSummary(login, addresses)),
        cursor,
      }
    },

    async show(request: FastifyRequest) {
      return tellLogin(requireLogin(request), logins, addresses)
    },

    async showHar(request: FastifyRequest) {
      return toHar(requireLogin(request), addresses)
    },

    /** Whoever stops the laboratory does not wait for what may still come. */
    endWaits(): void {
      isOver = true
      for (const wait of waits) wait.abort()
    },
  }

  function requireLogin(request: FastifyRequest): RecordedLogin {
    const login = logins.find((request.params as { id: string }).id)
    if (!login)
      throw new LabError(404, 'There is no such login. The last thousand are remembered, until the sandbox stops.')
    return login
  }

  /** Resolves when there is a step that is wanted, the time is over, or nobody waits any more. */
  async function somethingNew(request: FastifyRequest, wanted: Wanted, seconds: number): Promise<void> {
    const enough = new AbortController()
    waits.add(enough)
    const stop = logins.listen(login => {
      if (logins.isWanted(login, wanted)) enough.abort()
    })
    request.raw.once('close', () => enough.abort())
    await wait(seconds * 1000, undefined, { signal: enough.signal }).catch(() => {})
    stop()
    waits.delete(enough)
  }
}

interface Question {
  clientId: string | undefined
  state: string | undefined
  after: number | undefined
  waitSeconds: number
}

/** Throws LabError 422. */
function readQuestion(query: Record<string, string | undefined>): Question {
  const problems: FieldMessages = {}
  const read = (name: string) => query[name] || undefined
  const readNumber = (name: string, most: number): number | undefined => {
    const text = read(name)
    if (text === undefined || (/^\d{1,15}$/.test(text) && Number(text) <= most))
      return text === undefined ? undefined : Number(text)
    problems[name] = [`This must be a whole number from 0 to ${most}.`]
    return undefined
  }
  const question = {
    clientId: read('clientId'),
    state: read('state'),
    after: readNumber('after', Number.MAX_SAFE_INTEGER),
    waitSeconds: readNumber('wait', longestWaitSeconds) ?? 0,
  }
  if (Object.keys(problems).length > 0) throw new LabError(422, problems)
  return question
}
