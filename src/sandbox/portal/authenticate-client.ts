// Makes sure that a call comes from the client it names, by the client's secret.
import type { FastifyRequest } from 'fastify'
import { noteAbout, noteCheck } from '../observe/observe.ts'
import type { Services } from '../services.ts'
import { findApplication } from '../store/applications.ts'
import { listSecretHashes } from '../store/client-secrets.ts'
import { type Bucket, countFailure, failureWindowMs, findBackOff } from '../store/failures.ts'
import { hashToken, isEqualHash } from '../tokens/opaque-token.ts'
import { type CallFields, requireField } from './call-fields.ts'
import { OAuthError } from './oauth-error.ts'

/**
 * The client's id. Reads `client_id` and `client_secret`, and throws OAuthError: invalid_request when one is missing,
 * invalid_client when they are wrong, or 429 after too many failures of this client or source. A right secret is
 * always heard: it has 128 random bits or more and is not found by trying, so a line of wrong ones proves nothing, and
 * nobody can lock a client out.
 */
export async function authenticateClient(
  { store, clock, sourceOf }: Pick<Services, 'store' | 'clock' | 'sourceOf'>,
  fields: CallFields,
  request: FastifyRequest,
): Promise<string> {
  const clientId = requireField(fields, 'client_id')
  const secret = requireField(fields, 'client_secret')
  const hash = hashToken(secret)
  // What cannot be an id is counted under one name, so that made-up ids do not fill the table.
  const isPossible = /^[A-Za-z0-9_-]{1,64}$/.test(clientId)
  const hashes = isPossible ? await listSecretHashes(store.read, clientId) : []
  const isRight = hashes.some(valid => isEqualHash(valid, hash))
  noteCheck(request, { name: 'client_secret', passed: isRight, received: secret })
  if (isRight) {
    noteAbout(request, { knownClientId: clientId, provenClientId: clientId })
    return clientId
  }
  const buckets: Bucket[] = [
    { key: `client ${isPossible ? clientId : '(impossible)'}`, limit: 10, windowMs: failureWindowMs },
    { key: `address ${sourceOf(request)}`, limit: 100, windowMs: failureWindowMs },
  ]
  const retryAfterSeconds = await findBackOff(store.read, buckets, clock())
  if (retryAfterSeconds > 0)
    throw new OAuthError(429, 'temporarily_unavailable', 'Too Many Requests', { retryAfterSeconds })
  await store.write(db => countFailure(db, buckets, clock()))
  // A client whose secrets were all ended is known, too.
  const isKnown = hashes.length > 0 || (isPossible && (await findApplication(store.read, clientId)) !== undefined)
  if (isKnown) noteAbout(request, { knownClientId: clientId })
  throw new OAuthError(401, 'invalid_client', 'The client is unknown or its secret is wrong.', {
    reason: isKnown ? 'secret-wrong' : 'client-unknown',
  })
}
