// Who is signed in to the portal in this browser: a random id in a cookie, its hash in the store.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Services } from '../services.ts'
import {
  createPortalSession,
  deletePortalSession,
  extendPortalSession,
  findPortalSession,
} from '../store/portal-sessions.ts'
import { lockProof, type Proof } from '../store/proof.ts'
import { storeFaultOf } from '../store/store-fault.ts'
import type { Credentials, User } from '../store/users.ts'
import { hashToken, makeSecret } from '../tokens/opaque-token.ts'

export const sessionCookieName = '__Host-portal-session'

// A session ends an hour after its last use, and in any case after eight.
const lifetimeMs = 8 * 3_600_000
const idleLifetimeMs = 3_600_000
// Its end moves in steps, so that not every page is a write.
const stepMs = 60_000

// Lax, not Strict: the visitor always arrives here from another site, and a Strict cookie would not be sent.
const cookieOptions = { path: '/', secure: true, httpOnly: true, sameSite: 'lax' } as const

/** A user, and the session that says so. */
export interface Visitor extends User {
  proof: Proof
}

/** The user signed in here, or undefined. Counts as a use of the session. */
export async function findVisitor(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  request: FastifyRequest,
): Promise<Visitor | undefined> {
  const idHash = readIdHash(request)
  const session = idHash && (await findPortalSession(store.read, idHash, clock()))
  if (!session) return undefined
  const endMs = Math.min(clock().getTime() + idleLifetimeMs, session.startedAt.getTime() + lifetimeMs)
  const visitor = { ...session.user, proof: { sessionHash: idHash } }
  if (endMs - session.expiresAt.getTime() < stepMs) return visitor
  // Not awaited: what only reads must not wait while nothing can be written (F-30, F-31).
  store
    .write(db => extendPortalSession(db, idHash, { now: clock(), expiresAt: new Date(endMs) }))
    .catch((error: Error) => {
      const fault = storeFaultOf(error)
      request.log.warn({ code: 'session-not-extended', fault, cause: error.message }, 'a session may end early')
    })
  return visitor
}

/**
 * A new session under a new id, whatever the browser brought; the old session, if there was one, ends. False, and nothing
 * done, where the password is another one by now.
 */
export async function startPortalSession(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  { userId, passwordHash }: Credentials,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<boolean> {
  const now = clock()
  const id = makeSecret()
  const oldIdHash = readIdHash(request)
  const isStarted = await store.transaction(async db => {
    if (!(await lockProof(db, userId, { passwordHash }))) return false
    if (oldIdHash) await deletePortalSession(db, oldIdHash)
    const expiresAt = new Date(now.getTime() + idleLifetimeMs)
    await createPortalSession(db, { idHash: hashToken(id), userId, now, expiresAt })
    return true
  })
  if (isStarted) reply.setCookie(sessionCookieName, id, { ...cookieOptions, maxAge: lifetimeMs / 1000 })
  return isStarted
}

/** Ends the session in the store as well: a copy of the cookie opens nothing any more. */
export async function endPortalSession(
  { store }: Pick<Services, 'store'>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const idHash = readIdHash(request)
  if (idHash) await store.write(db => deletePortalSession(db, idHash))
  reply.clearCookie(sessionCookieName, cookieOptions)
}

function readIdHash(request: FastifyRequest): string | undefined {
  const id = request.cookies[sessionCookieName]
  return id && /^[\w-]{43}$/.test(id) ? hashToken(id) : undefined
}
