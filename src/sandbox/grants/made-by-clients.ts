// After a user has withdrawn the consent for a client, the user can replace a secret that the client knows, or remove
// what the client has made.
import { Refusal } from '../observe/refusal.ts'
import type { Services } from '../services.ts'
import { lockApplicationForChange, removeApplicationOf } from '../store/applications.ts'
import { addClientSecret } from '../store/client-secrets.ts'
import { endMadeByClient, listMadeByClients, type MadeByClient } from '../store/made-by-clients.ts'
import type { Db } from '../store/schema.ts'
import { markFormUsed } from '../store/used-forms.ts'
import { hashToken, makeSecret } from '../tokens/opaque-token.ts'
import { isId } from '../values/is-id.ts'

/**
 * The ids from the request, before they are checked. If `clientId` is empty, nobody knows which client made the record:
 * see MadeId.
 */
export interface MadeIds {
  applicationId?: unknown
  clientId?: unknown
}

/**
 * Finds what the client has made. Returns undefined if the application no longer exists, or if the user does not have
 * the right to change it.
 */
export async function findMade(
  db: Db,
  { userId, ids: { applicationId, clientId }, now }: { userId: string; ids: MadeIds; now: Date },
): Promise<MadeByClient | undefined> {
  if (!isId(applicationId) || !isClientId(clientId)) return undefined
  const [made] = await listMadeByClients(db, userId, { now, limit: 1, id: { applicationId, clientId } })
  return made
}

function isClientId(clientId: unknown): clientId is string {
  return clientId === '' || isId(clientId)
}

/**
 * Ends the secrets and tokens that the client knows, and makes a new secret. If the visitor sends the same form again,
 * the function changes nothing. Throws Refusal.
 */
export async function renewMadeByClient(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  { userId, ids, form }: { userId: string; ids: MadeIds; form: { id: string; expiresAt: Date } },
): Promise<{ made: MadeByClient; clientSecret: string }> {
  const now = clock()
  const clientSecret = makeSecret()
  const { applicationId, clientId } = ids
  if (!isId(applicationId) || !isClientId(clientId)) throw new Refusal('application-unknown')
  return store.transaction(async db => {
    // First check whether the form was sent before: after the first request, the record may no longer be in the list,
    // and lockMade would throw. All entries of the page share one form id, so the form id alone does not identify an
    // entry.
    const id = `${form.id} ${applicationId} ${clientId}`
    if (!(await markFormUsed(db, id, form.expiresAt))) throw new Refusal('secret-shown')
    const made = await lockMade(db, { userId, ids, now })
    await endMadeByClient(db, made)
    await addClientSecret(db, made.applicationId, hashToken(clientSecret), { maker: { userId, clientId: null }, now })
    return { made, clientSecret }
  })
}

/**
 * Removes an application that the client has made. If somebody else has made the application, the function ends only
 * the secrets that the client has made. Throws Refusal.
 */
export async function removeMadeByClient(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  { userId, ids }: { userId: string; ids: MadeIds },
): Promise<MadeByClient> {
  const now = clock()
  return store.transaction(async db => {
    const made = await lockMade(db, { userId, ids, now })
    if (made.what === 'application') await removeApplicationOf(db, made.applicationId, { userId, now })
    else if (made.hasOtherSecret) await endMadeByClient(db, made)
    else throw new Refusal('last-secret')
    return made
  })
}

/** Finds what the client has made, and locks the application until the transaction ends. Throws Refusal. */
async function lockMade(db: Db, { userId, ids, now }: { userId: string; ids: MadeIds; now: Date }) {
  const { applicationId } = ids
  const isLocked =
    isId(applicationId) && (await lockApplicationForChange(db, applicationId, { userId, now })) !== undefined
  const made = isLocked ? await findMade(db, { userId, ids, now }) : undefined
  if (!made) throw new Refusal('application-unknown')
  return made
}
