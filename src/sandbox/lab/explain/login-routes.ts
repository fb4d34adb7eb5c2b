// GET /lab/v1/logins, GET /lab/v1/logins/{id} and the same login as HAR: what clients did, as JSON.
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import type { Addresses } from '../addresses.ts'
import { LabError } from '../lab-error.ts'
import type { Hide } from '../record/hide.ts'
import type { Logins, Wanted } from '../record/logins.ts'
import { identityOf, type RecordedLogin } from '../record/recorded.ts'
import { toHar } from './har.ts'
import { tellLogin, tellSummary } from './tell.ts'

const mostListed = 100

type Parts = { logins: Logins; hide: Hide; addresses: Addresses; clock: () => Date }

export function loginRoutes({ logins, hide, addresses, clock }: Parts) {
  const waits = new Set<AbortController>()
  let isOver = false

  return {
    /** The newest hundred logins. The caller sends `cursor` as `after` to get what is newer. */
    async list(request: FastifyRequest) {
      const given = Object.entries(request.query as Record<string, string>).filter(([, value]) => value !== '')
      const { clientId, state, after, wait = '0' }: Partial<Record<string, string>> = Object.fromEntries(given)
      const waitSeconds = Number(wait)
      const stateHash = state === undefined ? undefined : identityOf(hide.value('state', state, clock()))
      const wanted = { clientId, state: stateHash, after: after === undefined ? undefined : Number(after) }
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

    /** Ends all long polls. Call this when the laboratory stops. */
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

  /** Resolves when a wanted step has come, the time is over, or the caller has gone. */
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
