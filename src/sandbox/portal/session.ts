// The two cookies of a browser: one for its session at the portal, and one that marks a browser that has signed in
// before.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Mark, markFor } from '../people/password.ts'
import { endSession, findSession, type SignedInUser, sessionLifetimeMs, startSession } from '../people/sessions.ts'
import type { Services } from '../services.ts'
import { storeFailureOf } from '../store/store-failure.ts'
import type { Credentials } from '../store/users.ts'
import { makeFormToken, readFormToken } from '../tokens/form-token.ts'

export const sessionCookieName = '__Host-portal-session'
const markCookieName = '__Host-portal-known'
const markPurpose = 'known browser'
const markLifetimeMs = 180 * 86_400_000

// The cookies are Lax, because visitors arrive from another site. A browser does not send a Strict cookie with a
// request that begins at another site.
const cookieOptions = { path: '/', secure: true, httpOnly: true, sameSite: 'lax' } as const

/** Returns the user of this browser's session, or undefined. Calling this function counts as a use of the session. */
export async function findVisitor(
  services: Pick<Services, 'store' | 'clock'>,
  request: FastifyRequest,
): Promise<SignedInUser | undefined> {
  const id = readSessionId(request)
  if (id === undefined) return undefined
  return findSession(services, id, error => {
    const failure = storeFailureOf(error)
    request.log.warn({ code: 'session-not-extended', fault: failure, cause: error.message }, 'a session may end early')
  })
}

/**
 * Starts a session and marks the browser. The session always gets a new id, even if the browser has sent an id. Throws
 * Refusal.
 */
export async function signBrowserIn(
  services: Pick<Services, 'store' | 'keyRing' | 'clock'>,
  credentials: Credentials,
  reply: FastifyReply,
): Promise<void> {
  const id = await startSession(services, credentials, readSessionId(reply.request))
  reply.setCookie(sessionCookieName, id, { ...cookieOptions, maxAge: sessionLifetimeMs / 1000 })
  markBrowser(services, credentials, reply)
}

/** Ends the session in the store, and deletes its cookie in the browser. */
export async function signBrowserOut(services: Pick<Services, 'store'>, reply: FastifyReply): Promise<void> {
  const id = readSessionId(reply.request)
  if (id !== undefined) await endSession(services, id)
  reply.clearCookie(sessionCookieName, cookieOptions)
}

function readSessionId(request: FastifyRequest): string | undefined {
  const id = request.cookies[sessionCookieName]
  return id && /^[\w-]{43}$/.test(id) ? id : undefined
}

/**
 * Reads the mark of the browser. Returns undefined if the browser sends no mark, or a mark that the portal did not
 * make.
 */
export function readMark(
  { keyRing, clock }: Pick<Services, 'keyRing' | 'clock'>,
  request: FastifyRequest,
): Mark | undefined {
  return readFormToken<Mark>(keyRing.sealingKey, markPurpose, request.cookies[markCookieName], clock())
}

/**
 * Sets the cookie that marks the browser as known for this account. Call this when the person has just entered the
 * right password, or has opened a link from a mail.
 */
export function markBrowser(
  services: Pick<Services, 'keyRing' | 'clock'>,
  credentials: Credentials,
  reply: FastifyReply,
): void {
  const mark = markFor(readMark(services, reply.request), credentials)
  const expiresAt = new Date(services.clock().getTime() + markLifetimeMs)
  const value = makeFormToken(services.keyRing.sealingKey, markPurpose, mark, expiresAt)
  reply.setCookie(markCookieName, value, { ...cookieOptions, maxAge: markLifetimeMs / 1000 })
}
