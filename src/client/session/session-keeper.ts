// Keeps a visitor signed in: begins the session, renews it before it runs out, and ends it only when it is truly over.
import { hash, randomUUID } from 'node:crypto'
import { PublicError } from '../errors.ts'
import type { Portal } from '../oauth/portal.ts'
import { RefreshRefused, refreshTokens } from '../oauth/refresh-tokens.ts'
import type { Tokens } from '../oauth/tokens.ts'
import { Once } from '../once.ts'
import type { RequestContext } from '../upstream.ts'
import type { Cookie, Cookies } from './cookies.ts'
import type { Sealer } from './seal.ts'
import {
  endGrant,
  endOf,
  endOtherGrants,
  endSession,
  findGrant,
  type Grant,
  hasSession,
  openSession,
  type Session,
  sealGrant,
  sealSession,
} from './session-cookies.ts'

export type SessionKeeper = ReturnType<typeof createSessionKeeper>

/** What a request has to go on with, what the browser is to keep, and what has happened, for the log. */
export type Kept = {
  session: Session | undefined
  cookies: Cookie[]
  visitorId?: string
  event?: 'session_renewed' | 'session_ended' | 'session_unreadable' | 'session_not_renewed'
  /** Why the portal ended it, for the log. */
  cause?: string
}

// Yours: after this long a visitor signs in again. Renewing does not extend it.
const longestGrantMs = 30 * 24 * 60 * 60 * 1000
const refreshMarginMs = 60_000
/** Requests that were under way still carry the old refresh token when its successor is there. */
const keepRenewedMs = 10_000

export function createSessionKeeper(sealer: Sealer, portal: Portal, clock: () => Date) {
  const renewals = new Once<Tokens>(clock, { keepMs: keepRenewedMs })

  /** The session of fresh tokens; nothing of an older session is taken over. Throws PublicError 502. */
  function begin(tokens: Tokens, cookies: Cookies): Kept {
    const expiresAt = new Date(clock().getTime() + longestGrantMs)
    return keep(tokens, { visitorId: tokens.subject ?? randomUUID(), expiresAt }, cookies)
  }

  /** The session, renewed where it is due. Throws PublicError where that fails for now: the visitor stays signed in. */
  async function restore(cookies: Cookies, context: RequestContext): Promise<Kept> {
    const session = openSession(sealer, cookies)
    const ended = session ? endOtherGrants(cookies, session) : []
    if (session && clock() < session.refreshAt) {
      const sealed = session.isSealedWithOldKey ? sealSession(sealer, session) : []
      return { session, cookies: [...ended, ...sealed] }
    }
    const grant = findGrant(sealer, cookies, session)
    if (!grant && session) return { session, cookies: ended }
    if (!grant && hasSession(cookies)) return { session, cookies: endSession(cookies), event: 'session_unreadable' }
    if (!grant) return { session, cookies: [] }
    try {
      return await renew(grant, cookies, context)
    } catch (error) {
      if (isTooLong(error)) return over(cookies)
      if (error instanceof RefreshRefused) return refused(grant, error, ended, session)
      if (session) return { session, cookies: ended, event: 'session_not_renewed', visitorId: grant.visitorId }
      throw error
    }
  }

  /** For an access token that the API refuses before its time. No session where there is nothing to renew it with. */
  async function replace(cookies: Cookies, context: RequestContext): Promise<Kept> {
    const grant = findGrant(sealer, cookies, openSession(sealer, cookies))
    try {
      return grant ? await renew(grant, cookies, context) : over(cookies)
    } catch (error) {
      if (isTooLong(error)) return over(cookies)
      if (grant && error instanceof RefreshRefused) return refused(grant, error, [])
      throw error
    }
  }

  async function renew(grant: Grant, cookies: Cookies, context: RequestContext): Promise<Kept> {
    const key = hash('sha256', grant.refreshToken, 'base64url')
    const tokens = await renewals.do(key, () => refreshTokens(portal, grant.refreshToken, context))
    return { ...keep(tokens, grant, cookies), event: 'session_renewed', visitorId: grant.visitorId }
  }

  function keep(tokens: Tokens, { visitorId, expiresAt }: Omit<Grant, 'refreshToken'>, cookies: Cookies): Kept {
    const now = clock()
    const { accessToken, refreshToken, expiresIn } = tokens
    const grant = refreshToken && sealGrant(sealer, { refreshToken, visitorId, expiresAt }, now)
    const tokenEndMs = now.getTime() + expiresIn * 1000
    const endMs = Math.min(tokenEndMs, expiresAt.getTime())
    const session: Session = {
      accessToken,
      visitorId,
      expiresAt: new Date(endMs),
      // What ends with its grant is not worth renewing.
      refreshAt: new Date(endMs < tokenEndMs ? endMs : endMs - Math.min(refreshMarginMs, expiresIn * 100)),
      grantName: grant ? grant.name : '',
    }
    const kept = [...sealSession(sealer, session), ...(grant ? [grant] : [])]
    return { session, cookies: [...endSession(cookies, kept), ...kept] }
  }

  return { begin, restore, replace, endOf: (cookies: Cookies, session: Session) => endOf(sealer, cookies, session) }
}

/** Another replica may have renewed meanwhile: what it set has other names, but for the session, which stays. */
function refused(grant: Grant, { message: cause }: RefreshRefused, ended: Cookie[], session?: Session): Kept {
  const cookies = [...ended, endGrant(grant)]
  return { session, cookies, event: 'session_ended', visitorId: grant.visitorId, cause }
}

function over(cookies: Cookies): Kept {
  return { session: undefined, cookies: endSession(cookies), event: 'session_ended' }
}

function isTooLong(error: unknown): boolean {
  return error instanceof PublicError && error.code === 'token_too_long'
}
