// Gives an application's client a new secret; the one before stays valid, so that it can be exchanged without a pause.
import type { Services } from '../services.ts'
import { claimApplication, type Maker } from '../store/applications.ts'
import { addClientSecret } from '../store/client-secrets.ts'
import { hashToken, makeSecret } from '../tokens/opaque-token.ts'
import { explainRefusal } from './explain-refusal.ts'

/** The new secret, which is told here and never again. Throws ApiError 404 or 403. */
export async function refreshSecret(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  appId: string,
  maker: Maker,
): Promise<string> {
  const now = clock()
  const secret = makeSecret()
  await store.transaction(async db => {
    // Claimed first: its row is the lock that keeps two of these from dropping each other's secret.
    if (!(await claimApplication(db, appId, { userId: maker.userId, now }))) throw await explainRefusal(db, appId)
    await addClientSecret(db, appId, hashToken(secret), { maker, now })
  })
  return secret
}
