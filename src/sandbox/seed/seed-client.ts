// Seeds the client: an application with the id, secret and redirect URIs of the settings.
import { randomUUID } from 'node:crypto'
import { requireRoomForApplication, requireRoomForGroup, requireRoomForGrowth } from '../groups/limits.ts'
import type { Reason } from '../observe/reasons.ts'
import { Refusal } from '../observe/refusal.ts'
import {
  type Application,
  insertApplication,
  lockApplication,
  setRedirectUris,
  sizeOfFields,
} from '../store/applications.ts'
import { addClientSecret, listSecretHashes } from '../store/client-secrets.ts'
import { createGroup, lockGroup } from '../store/groups.ts'
import type { Db } from '../store/schema.ts'
import { findOwnGroup, findSeededClient, noteSeededClient, takeForgottenClient } from '../store/seeds.ts'
import { lockUser } from '../store/users.ts'
import { hashToken } from '../tokens/opaque-token.ts'
import type { Seeding, SeedReport } from './seeding.ts'
/** `userId`: the seeded user; undefined when there is none, or the account is somebody else's. Changes the report. */
export async function seedClient(db: Db, seeding: Seeding, userId: string | undefined): Promise<void> {
  const { seed, isForced, now, report } = seeding
  const id = seed.clientId
  const applied = { secretHash: hashToken(seed.clientSecret.reveal()), redirectUris: seed.redirectUris.join() }
  const application = await lockApplication(db, id)
  const wasForgotten = await takeForgottenClient(db)
  const known =
    (await findSeededClient(db, id)) ??
    (wasForgotten && !application ? { secretHash: null, redirectUris: null } : undefined)
  // A null is taken for what is set now: an upgrade must not bring back what was changed since the seeding.
  const isSecretDue = isForced || (known?.secretHash ?? applied.secretHash) !== applied.secretHash
  const areUrisDue = isForced || (known?.redirectUris ?? applied.redirectUris) !== applied.redirectUris

  if (!application) {
    if (known && !isSecretDue && !areUrisDue) {
      report.outdated.push('the application was removed')
    } else if (userId) {
      if (!(await insertSeededApplication(db, seeding, userId))) return
      await addClientSecret(db, id, applied.secretHash, { maker: { userId, clientId: null }, now })
      report.applied.push('SEED_CLIENT_ID', 'SEED_CLIENT_SECRET', 'SEED_REDIRECT_URIS')
    } else {
      report.refused.push('SEED_CLIENT_ID was not made into an application, which would have no owner.')
      return
    }
  } else if (!known) {
    report.refused.push('SEED_CLIENT_ID names an application that seeding did not make. Choose another id.')
    return
  } else {
    const areUrisOther = application.redirectUris.join() !== applied.redirectUris
    const isSecretGone = !(await listSecretHashes(db, id)).includes(applied.secretHash)
    if (areUrisDue && areUrisOther) {
      if (!(await setSeededRedirectUris(db, seeding, application))) return
      report.applied.push('SEED_REDIRECT_URIS')
    } else if (!seed.redirectUris.every(uri => application.redirectUris.includes(uri)))
      report.outdated.push('a redirect URI was removed')
    if (isSecretDue && isSecretGone) {
      const maker = { userId: application.createdBy, clientId: null }
      await addClientSecret(db, id, applied.secretHash, { maker, now })
      report.applied.push('SEED_CLIENT_SECRET')
    } else if (isSecretGone) report.outdated.push('the client secret no longer works')
  }
  await noteSeededClient(db, id, applied)
}

/** False, and said in the report, when the bounds that hold for everybody leave no room for it. */
async function insertSeededApplication(db: Db, { seed, now, report }: Seeding, userId: string): Promise<boolean> {
  const { clientId, redirectUris } = seed
  const fields = {
    name: 'Reference client',
    description: 'Lists and creates your applications.',
    webPageUrl: '',
    iconUrl: '',
    privacyPolicyUrl: '',
    redirectUris,
    defaultRedirectUri: redirectUris[0] ?? '',
    scopes: '',
    defaultScopes: '',
  }
  const ownGroupId = await findOwnGroup(db, userId)
  const hasRoom = await isAllowed(report, 'SEED_CLIENT_ID was not made into an application', async () => {
    if (ownGroupId) {
      await lockGroup(db, ownGroupId)
      await requireRoomForApplication(db, ownGroupId, sizeOfFields(fields))
    } else {
      await lockUser(db, userId)
      await requireRoomForGroup(db, userId)
    }
  })
  if (!hasRoom) return false
  const groupId = ownGroupId ?? (await createGroup(db, 'Sandbox developers', userId, now)).id
  const dates = { createdAt: now, createdBy: userId, updatedAt: now, updatedBy: userId }
  const application = { ...fields, ...dates, id: clientId, groupId, linkId: randomUUID(), madeByClient: null }
  await insertApplication(db, application)
  return true
}

/** False, and said in the report, when they would take too much room. */
async function setSeededRedirectUris(db: Db, { seed, now, report }: Seeding, application: Application) {
  const { id, groupId } = application
  const fields = { ...application, redirectUris: seed.redirectUris, defaultRedirectUri: seed.redirectUris[0] ?? '' }
  const growth = sizeOfFields(fields) - sizeOfFields(application)
  const hasRoom = await isAllowed(report, 'SEED_REDIRECT_URIS did not take effect', async () => {
    if (growth <= 0) return
    await lockGroup(db, groupId)
    await requireRoomForGrowth(db, groupId, growth)
  })
  if (hasRoom) await setRedirectUris(db, id, seed.redirectUris, now)
  return hasRoom
}

const reasons: Partial<Record<Reason, string>> = {
  'too-many-groups': 'the account is in as many groups as one may be. Leave one.',
  'too-many-applications': 'the oldest group of the account is full. Remove an application there.',
  'too-many-bytes': 'the fields of its group’s applications would take too much room. Shorten some.',
}

async function isAllowed({ refused }: SeedReport, failure: string, look: () => Promise<void>): Promise<boolean> {
  try {
    await look()
    return true
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    refused.push(`${failure}: ${reasons[error.reason]}`)
    return false
  }
}
