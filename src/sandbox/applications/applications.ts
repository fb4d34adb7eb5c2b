// Reads, creates, changes and removes applications and their OAuth clients, if the caller has the right to do so. The
// calling code passes ids exactly as the request contains them, and this file checks the ids.
import { randomUUID } from 'node:crypto'
import { requireRoomForApplication, requireRoomForGrowth } from '../groups/limits.ts'
import { Refusal } from '../observe/refusal.ts'
import type { Services } from '../services.ts'
import { insertAppAccessTokens } from '../store/app-access-tokens.ts'
import {
  type Application,
  findApplication,
  findApplicationOf,
  insertApplication,
  listApplicationsOf,
  lockApplicationForChange,
  type Maker,
  removeApplicationOf,
  setApplicationFields,
  sizeOfFields,
} from '../store/applications.ts'
import { addClientSecret, addFirstSecret } from '../store/client-secrets.ts'
import { lockGroup } from '../store/groups.ts'
import { isMember } from '../store/memberships.ts'
import type { Db } from '../store/schema.ts'
import { appTokenLifetime, signAppToken } from '../tokens/access-token.ts'
import type { Caller } from '../tokens/find-caller.ts'
import type { SigningKey } from '../tokens/key-ring.ts'
import { hashToken, makeSecret } from '../tokens/opaque-token.ts'
import { isId } from '../values/is-id.ts'
import { type ChangedApplication, fieldsOf, mergeFields, type NewApplication } from './fields.ts'

export interface CreatedApplication {
  application: Application
  /** The client secret is shown only once, because the store has only its hash. */
  clientSecret: string
  tokens: { id: string; token: string }[]
}

/**
 * Creates the application with its client, its first secret and its access tokens. If the function throws, nothing is
 * created. `inSameTransaction` runs in the same transaction. Throws Refusal.
 */
export async function createApplication(
  services: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>,
  data: NewApplication,
  maker: Maker,
  inSameTransaction?: (db: Db, id: string) => Promise<unknown>,
): Promise<CreatedApplication> {
  const { groupId } = data
  const { userId } = maker
  const now = services.clock()
  const id = randomUUID()
  const unsaved = {
    ...fieldsOf(data),
    id,
    groupId,
    linkId: randomUUID(),
    createdAt: now,
    createdBy: userId,
    updatedAt: now,
    updatedBy: userId,
    madeByClient: maker.clientId,
  }
  const clientSecret = makeSecret()
  const signingKey = await services.keyRing.currentSigningKey()
  const tokens = [signToken(services, signingKey, unsaved), signToken(services, signingKey, unsaved)]
  const application = await services.store.transaction(async db => {
    const group = isId(groupId) ? await lockGroup(db, groupId) : undefined
    if (!group) throw new Refusal('group-unknown', { field: 'groupId' })
    if (!(await isMember(db, groupId, userId))) throw new Refusal('not-allowed', { field: 'groupId' })
    await requireRoomForApplication(db, groupId, sizeOfFields(unsaved))
    const application = await insertApplication(db, unsaved)
    await inSameTransaction?.(db, id)
    await addFirstSecret(db, id, hashToken(clientSecret), { maker, now })
    const expiresAt = new Date(now.getTime() + appTokenLifetime * 1000)
    await insertAppAccessTokens(db, { ids: tokens.map(token => token.id), applicationId: id, now, expiresAt })
    return application
  })
  return { application, clientSecret, tokens }
}

function signToken(
  { addresses }: Pick<Services, 'addresses'>,
  signingKey: SigningKey,
  { id, createdBy, createdAt }: Pick<Application, 'id' | 'createdBy' | 'createdAt'>,
) {
  const tokenId = randomUUID()
  const claims = { issuer: addresses.portalUrl, userId: createdBy, clientId: id, now: createdAt, tokenId }
  return { id: tokenId, token: signAppToken(signingKey, claims) }
}

/**
 * Lists the applications that the caller has the right to read. A user can read the applications of their groups. An
 * application's own token can read only that application. The oldest application comes first.
 */
export async function* listReadable(
  { store }: Pick<Services, 'store'>,
  { kind, userId, clientId }: Caller,
): AsyncGenerator<Application[]> {
  if (kind !== 'application') return yield* listApplicationsOf(store.read, userId)
  const own = await findApplication(store.read, clientId)
  yield own ? [own] : []
}

/**
 * Throws Refusal. If an application belongs to other people, a user gets the same refusal as if it did not exist. With
 * an application's own token, a caller gets the refusal `token-of-another-kind` for every other application.
 */
export async function readApplication(
  { store }: Pick<Services, 'store'>,
  id: string,
  { kind, userId, clientId }: Caller,
): Promise<Application> {
  if (!isId(id)) throw new Refusal('not-found')
  if (kind === 'application' && id !== clientId) throw new Refusal('token-of-another-kind')
  const application =
    kind === 'application' ? await findApplication(store.read, id) : await findApplicationOf(store.read, id, userId)
  if (!application) throw new Refusal('not-found')
  return application
}

/** Throws Refusal if the user does not have the right to change the application. */
export async function requireDeveloper({ store }: Pick<Services, 'store'>, id: string, userId: string): Promise<void> {
  if (!isId(id) || !(await findApplicationOf(store.read, id, userId))) throw await refusalToChange(store.read, id)
}

interface Condition {
  userId: string
  /**
   * Returns whether the caller has read this version of the application. If the caller does not name a version, the
   * function returns true.
   */
  isKnownVersion: (version: number) => boolean
}

/**
 * Changes an application. If two callers name the same version and change the application at the same time, only one
 * call succeeds. If the calls do not name a version, each field gets the value of the latest call that changes the
 * field. Throws Refusal.
 */
export async function changeApplication(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  id: string,
  change: ChangedApplication,
  { userId, isKnownVersion }: Condition,
): Promise<Application> {
  return store.transaction(async db => {
    const locked = await lockForChange(db, id, userId, clock())
    const fields = mergeFields(locked, change)
    const growth = sizeOfFields(fields) - sizeOfFields(locked)
    if (growth > 0) {
      await lockGroup(db, locked.groupId)
      await requireRoomForGrowth(db, locked.groupId, growth)
    }
    if (!isKnownVersion(locked.version - 1)) throw new Refusal('changed-meanwhile')
    await setApplicationFields(db, id, fields)
    return { ...locked, ...fields }
  })
}

/** Removes an application. The OAuth client of the application stops working at the same moment. Throws Refusal. */
export async function removeApplication(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  id: string,
  { userId, isKnownVersion }: Condition,
): Promise<void> {
  const now = clock()
  await store.transaction(async db => {
    const locked = await lockForChange(db, id, userId, now, { managed: id })
    if (!isKnownVersion(locked.version - 1)) throw new Refusal('changed-meanwhile')
    await removeApplicationOf(db, id, { userId, now })
  })
}

/**
 * Adds a client secret and returns it. No later call can return this secret again. The previous secret stays valid, so
 * that a running client can switch to the new secret later. Throws Refusal.
 */
export async function addSecret(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  id: string,
  maker: Maker,
): Promise<string> {
  const now = clock()
  const secret = makeSecret()
  await store.transaction(async db => {
    // Lock the row of the application first. Otherwise, if two calls ran at the same time, each call could remove the
    // secret of the other call.
    await lockForChange(db, id, maker.userId, now)
    await addClientSecret(db, id, hashToken(secret), { maker, now })
  })
  return secret
}

/** Locks the application for a change by one of its developers. Throws Refusal. */
async function lockForChange(
  db: Db,
  id: string,
  userId: string,
  now: Date,
  details: { managed?: string } = {},
): Promise<Application> {
  const locked = isId(id) ? await lockApplicationForChange(db, id, { userId, now }) : undefined
  if (!locked) throw await refusalToChange(db, id, details)
  return locked
}

/**
 * As on the real platform, a request for a change gets one refusal if the application is unknown, and another if it
 * belongs to other people. A request that only reads data gets the same refusal for both.
 */
async function refusalToChange(db: Db, id: string, details: { managed?: string } = {}): Promise<Refusal> {
  const isThere = isId(id) && (await findApplication(db, id)) !== undefined
  return isThere ? new Refusal('not-allowed', details) : new Refusal('not-found')
}
