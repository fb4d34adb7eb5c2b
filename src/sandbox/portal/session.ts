// The two cookies of a browser: one for its session at the portal, and one that shows that the browser has signed in
// before.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type KnownBrowser, withAccount } from '../people/password.ts'
import { endSession, findSession, type SignedInUser, sessionLifetimeMs, startSession } from '../people/sessions.ts'
import type { Services } from '../services.ts'
import { storeFailureOf } from '../store/store-failure.ts'
import type { Credentials } from '../store/users.ts'
import { makeFormToken, readFormToken } from '../tokens/form-token.ts'
import { knownBrowserCookieName, laxCookie, sessionCookieName } from '../values/portal-cookies.ts'

const knownBrowserPurpose = 'known browser'
const knownBrowserLifetimeMs = 180 * 86_400_000

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
 * Starts a session and remembers the browser. The session always gets a new id, even if the browser has sent an id.
 * Throws Refusal.
 */
export async function signBrowserIn(
  services: Pick<Services, 'store' | 'keyRing' | 'clock'>,
  credentials: Credentials,
  reply: FastifyReply,
): Promise<void> {
  const id = await startSession(services, credentials, readSessionId(reply.request))
  reply.setCookie(sessionCookieName, id, { ...laxCookie, maxAge: sessionLifetimeMs / 1000 })
  rememberBrowser(services, credentials, reply)
}

/** Ends the session in the store, and deletes its cookie in the browser. */
export async function signBrowserOut(services: Pick<Services, 'store'>, reply: FastifyReply): Promise<void> {
  const id = readSessionId(reply.request)
  if (id !== undefined) await endSession(services, id)
  reply.clearCookie(sessionCookieName, laxCookie)
}

function readSessionId(request: FastifyRequest): string | undefined {
  const id = request.cookies[sessionCookieName]
  return id && /^[\w-]{43}$/.test(id) ? id : undefined
}

/**
 * Reads the cookie of a known browser. Returns undefined if the browser sends no such cookie, or a cookie that the
 * portal did not make.
 */
export function readKnownBrowser(
  { keyRing, clock }: Pick<Services, 'keyRing' | 'clock'>,
  request: FastifyRequest,
): KnownBrowser | undefined {
  return readFormToken<KnownBrowser>(
    keyRing.sealingKey,
    knownBrowserPurpose,
    request.cookies[knownBrowserCookieName],
    clock(),
  )
}

/**
 * Sets the cookie that makes this browser known for the account. Call this when the person has just entered the right
 * password, or has opened a link from a mail.
 */
export function rememberBrowser(
  services: Pick<Services, 'keyRing' | 'clock'>,
  credentials: Credentials,
  reply: FastifyReply,
): void {
  const known = withAccount(readKnownBrowser(services, reply.request), credentials)
  const expiresAt = new Date(services.clock().getTime() + knownBrowserLifetimeMs)
  const value = makeFormToken(services.keyRing.sealingKey, knownBrowserPurpose, known, expiresAt)
  reply.setCookie(knownBrowserCookieName, value, { ...laxCookie, maxAge: knownBrowserLifetimeMs / 1000 })
}
