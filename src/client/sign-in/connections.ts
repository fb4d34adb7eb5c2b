// A connection is a second set of a visitor's tokens. The product stores these tokens for jobs that run while the
// visitor is away.
import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { describeCause, PublicError } from '../errors.ts'
import { callContext } from '../operations/request-log.ts'
import { backgroundContext, type RequestContext, type Upstream } from '../upstream.ts'
import { type Api, createApi, SignInRequired } from './api.ts'
import { withTimeLimit } from './product-hooks.ts'
import { LoginError } from './protocol/login-error.ts'
import { type Portal, RefreshRefused, type RenewedTokens, readSubject, type Tokens } from './protocol/portal.ts'
import { hashUserId } from './session/login-cookies.ts'
import type { Sessions } from './session/session.ts'

/** The values that the product stores for one visitor. Each renewal replaces all three values. */
export type ConnectionTokens = { accessToken: string; refreshToken: string; expiresAt: Date }

/** `userId` is the id of the visitor who connected, as in `request.visitor.userId`. */
export type Connection = ConnectionTokens & { userId: string }

export type Renewal =
  /** Store the tokens at once. The portal ends the connection if the old refresh token is used again later. */
  | ({ outcome: 'renewed' } & ConnectionTokens)
  /**
   * The connection has ended permanently, for example because the visitor has withdrawn access. Delete the connection.
   */
  | { outcome: 'refused' }
  /** The portal could not be reached, or its answer was not usable. Keep the tokens and try again. */
  | { outcome: 'later'; retryAfterSeconds: number | undefined }

type ConnectionsOptions = {
  portal: Portal
  sessions: Sessions
  clock: () => Date
  apiUrl: string
  apiUpstream: Upstream
  onConnected: ((connection: Connection, request: FastifyRequest) => Promise<void>) | undefined
}

/** `onConnected` may take longer than the other hooks, because it usually writes to the product's database. */
const maxConnectMs = 10_000

export function createConnections(app: FastifyInstance, options: ConnectionsOptions) {
  const { portal, sessions, clock, apiUrl, apiUpstream: upstream, onConnected } = options

  /**
   * Gives the tokens to the product if the tokens belong to the user who began the connection. Somebody else may be
   * signed in to the portal in the same browser. Without this check, the visitor would connect the account of this
   * other person.
   *
   * The signature of the access token is not checked, because the token came from the portal over our own connection.
   * This function does not use the `subject` in the callback's address, because anyone can make an address with any
   * `subject`. If the check or the product fails, the tokens are revoked.
   */
  async function keepConnection(request: FastifyRequest, tokens: Tokens, connectsFor: string): Promise<void> {
    try {
      const userId = readSubject(tokens.accessToken)
      if (!userId || hashUserId(userId) !== connectsFor) throw new LoginError('other_user')
      const { refreshToken } = tokens
      if (!refreshToken) throw new LoginError('no_refresh_token')
      if (!onConnected)
        throw new Error('A route calls connect, but onConnected is missing from the options of buildServer.')
      const connection = { userId, ...withExpiry({ ...tokens, refreshToken }, clock()) }
      await withTimeLimit(() => onConnected(connection, request), maxConnectMs)
    } catch (error) {
      await revokeToken(callContext(request), tokens.refreshToken ?? tokens.accessToken)
      if (error instanceof PublicError) throw error
      app.log.error({ event: 'hook_failed', reqId: request.id, cause: describeCause(error, { withStack: true }) })
      throw new LoginError('not_connected')
    }
  }

  async function renewConnection(refreshToken: string): Promise<Renewal> {
    const context = backgroundContext(randomUUID())
    try {
      const tokens = await sessions.renewTokens(refreshToken, context)
      return { outcome: 'renewed', ...withExpiry(tokens, tokens.receivedAt) }
    } catch (error) {
      if (error instanceof RefreshRefused) {
        app.log.info({ event: 'connection_ended', reqId: context.requestId, cause: error.message })
        return { outcome: 'refused' }
      }
      if (!(error instanceof PublicError)) throw error
      const { code, cause, retryAfterSeconds } = error
      app.log.warn({ event: 'connection_not_renewed', reqId: context.requestId, code, cause: describeCause(cause) })
      return { outcome: 'later', retryAfterSeconds }
    }
  }

  function withExpiry(tokens: RenewedTokens, receivedAt: Date): ConnectionTokens {
    const { accessToken, refreshToken, expiresIn } = tokens
    return { accessToken, refreshToken, expiresAt: new Date(receivedAt.getTime() + expiresIn * 1000) }
  }

  async function revokeToken(context: RequestContext, token: string): Promise<void> {
    await portal
      .revoke(token, context)
      .catch(() => app.log.warn({ event: 'revocation_failed', reqId: context.requestId }))
  }

  return {
    keepConnection,
    renewConnection,
    revokeConnection: (refreshToken: string) => revokeToken(backgroundContext(randomUUID()), refreshToken),

    connectionApi: (accessToken: string): Api =>
      createApi({
        upstream,
        apiUrl,
        context: backgroundContext(randomUUID()),
        accessToken: () => accessToken,
        // This API does not renew the tokens. The job calls `renewConnection`, because the job has to store the new
        // tokens.
        renewAccessToken: async () => {
          throw new SignInRequired()
        },
        expireSession: () => {},
      }),
  }
}
