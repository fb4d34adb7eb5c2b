// Sessions at the portal. The browser has a random id, and the store has only the hash of this id.
import { Refusal } from '../observe/refusal.ts'
import type { Services } from '../services.ts'
import {
  createPortalSession,
  deletePortalSession,
  extendPortalSession,
  findPortalSession,
  lockProof,
  type Proof,
} from '../store/portal-sessions.ts'
import type { Db } from '../store/schema.ts'
import type { Credentials, User } from '../store/users.ts'
import { hashToken, makeSecret } from '../tokens/opaque-token.ts'

// A session ends an hour after its last use, and after eight hours at the latest.
export const sessionLifetimeMs = 8 * 3_600_000
const idleLifetimeMs = 3_600_000
// The stored end of a session is moved at most once a minute. Most page views therefore do not write to the store.
const stepMs = 60_000

/** A user who is signed in at the portal, with the session that proves this. */
export interface SignedInUser extends User {
  proof: Proof
}

/** A user, with the session or the password that proves who the user is. */
export interface ProvenUser {
  userId: string
  proof: Proof
}

/**
 * Returns the user of a session, or undefined if the session is not valid. The call counts as a use of the session.
 * `onNotExtended` is called if the new end of the session cannot be stored.
 */
export async function findSession(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  id: string,
  onNotExtended: (error: Error) => void,
): Promise<SignedInUser | undefined> {
  const idHash = hashToken(id)
  const session = await findPortalSession(store.read, idHash, clock())
  if (!session) return undefined
  const endMs = Math.min(clock().getTime() + idleLifetimeMs, session.startedAt.getTime() + sessionLifetimeMs)
  if (endMs - session.expiresAt.getTime() >= stepMs)
    // Do not await this write. A page that only reads must not wait if the store cannot write (F-30, F-31).
    store
      .write(db => extendPortalSession(db, idHash, { now: clock(), expiresAt: new Date(endMs) }))
      .catch(onNotExtended)
  return { ...session.user, proof: { sessionHash: idHash } }
}

/**
 * Starts a session and returns its id. The old session of the same browser ends. Throws Refusal if the password was
 * changed in the meantime.
 */
export async function startSession(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  { userId, passwordHash }: Credentials,
  oldId: string | undefined,
): Promise<string> {
  const now = clock()
  const id = makeSecret()
  await store.transaction(async db => {
    await requireProof(db, userId, { passwordHash })
    if (oldId !== undefined) await deletePortalSession(db, hashToken(oldId))
    const expiresAt = new Date(now.getTime() + idleLifetimeMs)
    await createPortalSession(db, { idHash: hashToken(id), userId, now, expiresAt })
  })
  return id
}

/** Ends a session. After that, nobody can use a copy of its id. */
export async function endSession({ store }: Pick<Services, 'store'>, id: string): Promise<void> {
  await store.write(db => deletePortalSession(db, hashToken(id)))
}

/**
 * Checks and locks the session or password that proves who the user is. Call this in the transaction that makes a code,
 * a token or a session. If the user signs out everywhere while this transaction runs, the new code, token or session
 * must also end. Throws Refusal (signed-out, password-changed).
 */
export async function requireProof(db: Db, userId: string, proof: Proof): Promise<void> {
  if (!(await lockProof(db, userId, proof)))
    throw new Refusal('sessionHash' in proof ? 'signed-out' : 'password-changed')
}
