// GET /lab/v1/logins, GET /lab/v1/logins/{id} and the same login as HAR: what clients did, as JSON.
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { answer } from '../../http/describe.ts'
import { clientIdInQuery, idInPath, queryOf, refuse } from '../call-schemas.ts'
import { LabError } from '../lab-error.ts'
import type { Hide } from '../record/hide.ts'
import type { LoginFilter, Logins } from '../record/logins.ts'
import { identityOf, type RecordedLogin } from '../record/recorded.ts'
import type { LabAddresses } from './curl-line.ts'
import { describeLogin, describeSummary } from './describe-login.ts'
import { toHar } from './har.ts'

const mostListed = 100

const tags = ['What happened']

export function loginCalls({
  logins,
  hide,
  addresses,
  clock,
}: {
  logins: Logins
  hide: Hide
  addresses: LabAddresses
  clock: () => Date
}) {
  const waits = new Set<AbortController>()
  const reader = { logins, addresses, clock }
  let isStopping = false

  return {
    list: {
      schema: {
        tags,
        operationId: 'listLogins',
        summary: 'List logins, the newest hundred',
        querystring: queryOf({
          ...clientIdInQuery,
          state: { type: 'string', description: 'Only the login that was started with this state.' },
          after: {
            type: 'string',
            pattern: '^\\d{0,15}$',
            title: `a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`,
            description: 'Only logins with steps since this `cursor`.',
          },
          wait: {
            type: 'string',
            pattern: '^(0*([12]?\\d|30))?$',
            title: 'a whole number from 0 to 30',
            description: 'How many seconds to wait if there is nothing yet.',
          },
        }),
        response: { 200: answer('The newest login comes first.', 'LoginList'), ...refuse() },
      },
      async handler(request: FastifyRequest) {
        const given = Object.entries(request.query as Record<string, string>).filter(([, value]) => value !== '')
        const { clientId, state, after, wait = '0' }: Partial<Record<string, string>> = Object.fromEntries(given)
        const waitSeconds = Number(wait)
        const stateHash = state === undefined ? undefined : identityOf(hide.value('state', state, clock()))
        const filter = { clientId, state: stateHash, after: after === undefined ? undefined : Number(after) }
        const found = logins.list(filter)
        if (found.length === 0 && waitSeconds > 0 && !isStopping) await somethingNew(request, filter, waitSeconds)
        const cursor = logins.newest()
        return {
          logins: logins
            .list(filter)
            .slice(0, mostListed)
            .map(login => describeSummary(login, reader)),
          cursor,
        }
      },
    },

    show: {
      schema: {
        tags,
        operationId: 'showLogin',
        summary: 'Show what happened in one login, why something was refused, and what was noticed about the client',
        params: idInPath,
        querystring: queryOf(),
        response: { 200: answer('The login with its steps.', 'Login'), ...refuse(404) },
      },
      handler: async (request: FastifyRequest) => describeLogin(requireLogin(request), reader),
    },

    showHar: {
      schema: {
        tags,
        operationId: 'showHar',
        summary: 'Show one login as HAR 1.2',
        params: idInPath,
        querystring: queryOf(),
        response: { 200: answer('The login.', 'Har'), ...refuse(404) },
      },
      handler: async (request: FastifyRequest) => toHar(requireLogin(request), addresses),
    },

    /** Ends all long polls. Call this when the laboratory stops. */
    endWaits(): void {
      isStopping = true
      for (const wait of waits) wait.abort()
    },
  }

  function requireLogin(request: FastifyRequest): RecordedLogin {
    const login = logins.find((request.params as { id: string }).id)
    if (!login)
      throw new LabError(404, 'There is no such login. The last thousand are remembered, until the sandbox stops.')
    return login
  }

  /** Resolves when the filter selects a new step, the time has passed, or the caller has gone. */
  async function somethingNew(request: FastifyRequest, filter: LoginFilter, seconds: number): Promise<void> {
    const enough = new AbortController()
    waits.add(enough)
    const stop = logins.listen(login => {
      if (logins.isSelected(login, filter)) enough.abort()
    })
    request.raw.once('close', () => enough.abort())
    await wait(seconds * 1000, undefined, { signal: enough.signal }).catch(() => {})
    stop()
    waits.delete(enough)
  }
}
