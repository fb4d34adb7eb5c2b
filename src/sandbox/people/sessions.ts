// Sessions at the portal: a random id in the browser, its hash in the store.
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

// A session ends an hour after its last use, and after eight hours in any case.
export const sessionLifetimeMs = 8 * 3_600_000
const idleLifetimeMs = 3_600_000
// The store moves the end of a session at most once a minute. Most page views therefore do not write to the store.
const stepMs = 60_000

/** A user who is signed in at the portal, and the session that proves it. */
export interface SignedInUser extends User {
  proof: Proof
}

/** A user, and the session or password that proves who they are. */
export interface ProvenUser {
  userId: string
  proof: Proof
}

/**
 * The user of a valid session. The call counts as a use of the session. `onNotExtended` is called if the new end of the
 * session could not be stored.
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
 * The id of a new session. The old session of the same browser ends. Throws Refusal if the password was changed meanwhile.
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

/** After that, nobody can use a copy of the id. */
export async function endSession({ store }: Pick<Services, 'store'>, id: string): Promise<void> {
  await store.write(db => deletePortalSession(db, hashToken(id)))
}

/**
 * Call this in the transaction that makes a code, a token or a session. If the user signs out everywhere at the same moment,
 * that new code, token or session must end, too. Throws Refusal (signed-out, password-changed).
 */
export async function requireProof(db: Db, userId: string, proof: Proof): Promise<void> {
  if (!(await lockProof(db, userId, proof)))
    throw new Refusal('sessionHash' in proof ? 'signed-out' : 'password-changed')
}
