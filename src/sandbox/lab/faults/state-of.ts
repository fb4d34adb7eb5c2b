// Whether a request belongs to the login that began with a state: it has the state, or a token of that login.
import type { FastifyRequest } from 'fastify'
import type { Hide } from '../record/hide.ts'
import type { Logins } from '../record/logins.ts'
import { identityOf } from '../record/recorded.ts'

/** The state is given as its hash. */
export function stateReader({ logins, hide, clock }: { logins: Logins; hide: Hide; clock: () => Date }) {
  const hash = (name: string, value: string) => identityOf(hide.value(name, value, clock()))
  return (request: FastifyRequest, state: string, addressBack?: string): boolean => {
    const back = addressBack === undefined ? {} : Object.fromEntries(new URL(addressBack).searchParams)
    const { state: sent, refresh_token: refreshToken, token } = (request.body ?? {}) as Record<string, unknown>
    const bearer = request.headers.authorization?.replace(/^\S+\s+/, '')
    const isSent = [back.state, sent].some(one => typeof one === 'string' && hash('state', one) === state)
    return (
      isSent ||
      [refreshToken, token, bearer].some(
        one => typeof one === 'string' && logins.isOfState(hash('token', one) ?? '', state),
      )
    )
  }
}
