// Authenticates a client by its secret, and limits how many wrong secrets can be tried.
import type { StepNotes } from '../observe/notes.ts'
import { Refusal } from '../observe/refusal.ts'
import type { Services } from '../services.ts'
import { findApplication } from '../store/applications.ts'
import { listSecretHashes } from '../store/client-secrets.ts'
import { type Bucket, countFailure, failureWindowMs, findBackOff, sourceBucket } from '../store/failures.ts'
import { hashToken } from '../tokens/opaque-token.ts'
import { isEqual } from '../values/is-equal.ts'
import { isId } from '../values/is-id.ts'

/**
 * Throws Refusal. The right secret is accepted even after many failures, so that nobody can lock a client out. This is
 * safe: nobody can guess a secret, because it has at least 128 random bits.
 */
export async function authenticateClient(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  // `sourceOf` reads where the request comes from. It is called only if the secret is wrong.
  { clientId, secret, sourceOf }: { clientId: string; secret: string; sourceOf: () => string },
  notes: StepNotes,
): Promise<void> {
  const hash = hashToken(secret)
  const isPossible = isId(clientId)
  const hashes = isPossible ? await listSecretHashes(store.read, clientId) : []
  const isRight = hashes.some(valid => isEqual(valid, hash))
  notes.check({ name: 'client_secret', passed: isRight, received: secret })
  if (isRight) return notes.about({ knownClientId: clientId, provenClientId: clientId })
  const buckets: Bucket[] = [
    // All strings that are not possible client ids share one failure counter. Otherwise an attacker could fill the
    // table with invented ids.
    { key: `client ${isPossible ? clientId : '(impossible)'}`, limit: 10, windowMs: failureWindowMs },
    sourceBucket(sourceOf()),
  ]
  const retryAfterSeconds = await findBackOff(store.read, buckets, clock())
  if (retryAfterSeconds > 0) throw new Refusal('too-many-failures', { retryAfterSeconds })
  await store.write(db => countFailure(db, buckets, clock()))
  // The secret is wrong, but the step still records the client id if a client with this id exists.
  const isKnown = hashes.length > 0 || (isPossible && (await findApplication(store.read, clientId)) !== undefined)
  if (isKnown) notes.about({ knownClientId: clientId })
  throw new Refusal(isKnown ? 'secret-wrong' : 'client-unknown')
}
