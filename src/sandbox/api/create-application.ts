// Creates an application with its client, secret and access tokens: all of it, or nothing.
import { randomUUID } from 'node:crypto'
import { requireRoomForApplication } from '../groups/limits.ts'
import type { Services } from '../services.ts'
import { insertAppAccessTokens } from '../store/app-access-tokens.ts'
import { type Application, insertApplication, type Maker, sizeOfFields } from '../store/applications.ts'
import { addFirstSecret } from '../store/client-secrets.ts'
import { lockGroup } from '../store/groups.ts'
import { markAsMade } from '../store/marks.ts'
import { isMember } from '../store/memberships.ts'
import { appTokenLifetime, signAppToken } from '../tokens/access-token.ts'
import { hashToken, makeSecret } from '../tokens/opaque-token.ts'
import { isId } from '../values/is-id.ts'
import { ApiError } from './api-error.ts'
import type { NewApplicationFields } from './application-fields.ts'

export interface CreatedApplication {
  application: Application
  clientSecret: string
  tokens: { id: string; token: string }[]
}

/**
 * `suite` is for what the laboratory makes. Throws ApiError 404 (no such group) or 403 (not a member), and GroupRefusal when
 * the group is full.
 */
export async function createApplication(
  parts: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>,
  { groupId, ...fields }: NewApplicationFields,
  maker: Maker,
  { suite }: { suite?: string } = {},
): Promise<CreatedApplication> {
  const { userId } = maker
  const now = parts.clock()
  const id = randomUUID()
  const dates = { createdAt: now, createdBy: userId, updatedAt: now, updatedBy: userId }
  const made = { ...dates, madeByClient: maker.clientId }
  const unsaved = { ...fields, ...made, id, groupId, linkId: randomUUID() }
  const clientSecret = makeSecret()
  const tokens = await Promise.all([signToken(parts, unsaved), signToken(parts, unsaved)])
  const application = await parts.store.transaction(async db => {
    const group = isId(groupId) ? await lockGroup(db, groupId) : undefined
    if (!group) throw new ApiError(404, 'Group not found.')
    if (!(await isMember(db, groupId, userId)))
      throw new ApiError(403, 'Could not create App. User is not a member of the group.')
    await requireRoomForApplication(db, groupId, sizeOfFields(unsaved))
    const application = await insertApplication(db, unsaved)
    if (suite !== undefined) await markAsMade(db, 'applications', id, suite)
    await addFirstSecret(db, id, hashToken(clientSecret), { maker, now })
    const expiresAt = new Date(now.getTime() + appTokenLifetime * 1000)
    await insertAppAccessTokens(db, { ids: tokens.map(token => token.id), applicationId: id, now, expiresAt })
    return application
  })
  return { application, clientSecret, tokens }
}

async function signToken(
  { addresses, keyRing }: Pick<Services, 'addresses' | 'keyRing'>,
  { id, createdBy, createdAt }: Pick<Application, 'id' | 'createdBy' | 'createdAt'>,
) {
  const tokenId = randomUUID()
  const order = { issuer: addresses.portalUrl, userId: createdBy, clientId: id, now: createdAt, tokenId }
  return { id: tokenId, token: await signAppToken(keyRing, order) }
}
