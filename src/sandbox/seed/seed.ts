// Makes the first user, the first client and their group from the SEED_ settings. A setting is applied only if its
// value has changed since the last time. Therefore a restart does not undo changes that people have made.
import { randomUUID } from 'node:crypto'
import { emptyFields } from '../applications/fields.ts'
import type { Seed } from '../config.ts'
import { requireRoomForApplication, requireRoomForGroup, requireRoomForGrowth } from '../groups/limits.ts'
import type { Reason } from '../observe/reasons.ts'
import { Refusal } from '../observe/refusal.ts'
import type { Passwords } from '../people/hash-passwords.ts'
import {
  type Application,
  insertApplication,
  lockApplication,
  setRedirectUris,
  sizeOfFields,
} from '../store/applications.ts'
import { addClientSecret, listSecretHashes } from '../store/client-secrets.ts'
import { createGroup, findOwnGroup, lockGroup } from '../store/groups.ts'
import { signOutEverywhere } from '../store/portal-sessions.ts'
import type { Db } from '../store/schema.ts'
import {
  findSeededClient,
  findSeededUser,
  lockSeeding,
  noteSeededClient,
  noteSeededUser,
  type SeededUser,
} from '../store/seeds.ts'
import type { Store } from '../store/store.ts'
import { makeRoomFor } from '../store/sweep.ts'
import { createUser, findCredentials, lockUser, setPasswordHash } from '../store/users.ts'
import { hashToken } from '../tokens/opaque-token.ts'

export interface SeedReport {
  /** The names of the settings that this run has applied. */
  applied: string[]
  /**
   * Sentences about settings that could not be applied, because the record belongs to another person or a limit was
   * reached.
   */
  refused: string[]
  /**
   * Phrases that say what people have changed, such as `the password was changed`. If `isForced` is true, seeding
   * undoes these changes. Otherwise, seeding keeps them.
   */
  outdated: string[]
}

/** One run of seeding. */
interface Seeding {
  seed: Seed
  passwordHash: string
  isPasswordChanged: boolean
  isForced: boolean
  now: Date
  report: SeedReport
}

/**
 * Applies the settings that have changed. If `isForced` is true, the function also applies the unchanged settings.
 * Several instances can call this function at the same time.
 */
export async function seedStore(
  store: Store,
  seed: Seed,
  { passwords, clock, isForced = false }: { passwords: Passwords; clock: () => Date; isForced?: boolean },
): Promise<SeedReport> {
  const password = seed.userPassword.reveal()
  for (;;) {
    // Hash the password before the transaction, because the transaction must be short. The store has only the slow hash
    // of the password that was last applied. To find out whether the setting has changed, verify the password in the
    // setting against this hash, as at a sign-in.
    const known = await findSeededUser(store.read, seed.userEmail)
    const isPasswordChanged = !known || !(await passwords.verify(password, known.passwordHash))
    const passwordHash = isPasswordChanged ? await passwords.hash(password) : known.passwordHash
    await makeRoomFor(store, seed.clientId)
    const report = await store.transaction(async db => {
      await lockSeeding(db)
      const knownNow = await findSeededUser(db, seed.userEmail)
      // Another instance has applied the settings in the meantime.
      if (knownNow?.passwordHash !== known?.passwordHash) return undefined
      const report: SeedReport = { applied: [], refused: [], outdated: [] }
      const seeding = { seed, passwordHash, isPasswordChanged, isForced, now: clock(), report }
      await seedClient(db, seeding, await seedUser(db, seeding, known))
      return report
    })
    if (!report) continue
    const account = report.refused.length === 0 && (await findCredentials(store.read, seed.userEmail))
    if (account && account.passwordHash !== passwordHash && !(await passwords.verify(password, account.passwordHash)))
      report.outdated.push('the password was changed')
    return report
  }
}

/**
 * Applies the settings of the user. Returns the seeded user's id. Returns undefined if there is no seeded user, or if
 * the account belongs to another person.
 */
async function seedUser(
  db: Db,
  { seed, passwordHash, isPasswordChanged, isForced, now, report }: Seeding,
  known: SeededUser | undefined,
): Promise<string | undefined> {
  const email = seed.userEmail
  const account = await findCredentials(db, email)
  if (!account) {
    if (!isPasswordChanged && !isForced) {
      report.outdated.push('the account was removed')
      return undefined
    }
    const userId = await createUser(db, { email, firstName: 'Sandbox', lastName: 'Developer', passwordHash }, now)
    if (userId) {
      await noteSeededUser(db, email, { userId, passwordHash })
      report.applied.push('SEED_USER_EMAIL', 'SEED_USER_PASSWORD')
      return userId
    }
  }
  // Another person has signed up with this address. This person may be signed in, and would see the seeded client.
  if (!account || account.userId !== known?.userId) {
    report.refused.push('SEED_USER_EMAIL names an account that seeding did not make. Choose another address.')
    return undefined
  }
  if (isPasswordChanged || (isForced && account.passwordHash !== passwordHash)) {
    await setPasswordHash(db, account.userId, passwordHash)
    await signOutEverywhere(db, account.userId, now)
    await noteSeededUser(db, email, { userId: account.userId, passwordHash })
    report.applied.push('SEED_USER_PASSWORD')
  }
  return account.userId
}

/**
 * Applies the settings of the client, and adds to the report. `userId` is undefined if there is no seeded user, or if
 * the account belongs to another person.
 */
async function seedClient(db: Db, seeding: Seeding, userId: string | undefined): Promise<void> {
  const { seed, isForced, report } = seeding
  const id = seed.clientId
  const wanted = { secretHash: hashToken(seed.clientSecret.reveal()), redirectUris: seed.redirectUris.join() }
  const application = await lockApplication(db, id)
  const last = await findSeededClient(db, id)
  if (application && !last) {
    report.refused.push('SEED_CLIENT_ID names an application that seeding did not make. Choose another id.')
    return
  }
  // An earlier version of the sandbox did not store the settings that it applied, so these values can be null. A
  // setting whose value is null counts as unchanged.
  const due: DueSettings = {
    ...wanted,
    isSecretDue: isForced || (last?.secretHash ?? wanted.secretHash) !== wanted.secretHash,
    areUrisDue: isForced || (last?.redirectUris ?? wanted.redirectUris) !== wanted.redirectUris,
  }
  if (application) {
    const areUrisApplied = await updateSeededClient(db, seeding, application, due)
    // If the redirect URIs could not be applied, keep the last value, so that the next start tries again.
    const redirectUris = areUrisApplied ? wanted.redirectUris : (last?.redirectUris ?? null)
    await noteSeededClient(db, id, { ...wanted, redirectUris })
  } else if (await createSeededClient(db, seeding, userId, { ...due, wasMade: last !== undefined }))
    await noteSeededClient(db, id, wanted)
}

/** The settings of the client, and whether each setting must be applied. */
interface DueSettings {
  secretHash: string
  redirectUris: string
  isSecretDue: boolean
  areUrisDue: boolean
}

/**
 * Makes the client. If an earlier run made the client, somebody has removed it since then. The function then makes it
 * again only if a setting is due. Returns false if the client could not be made. The report then says why.
 */
async function createSeededClient(
  db: Db,
  seeding: Seeding,
  userId: string | undefined,
  { secretHash, isSecretDue, areUrisDue, wasMade }: DueSettings & { wasMade: boolean },
): Promise<boolean> {
  const { seed, now, report } = seeding
  if (wasMade && !isSecretDue && !areUrisDue) {
    report.outdated.push('the application was removed')
    return true
  }
  if (!userId) {
    report.refused.push('No application was made for SEED_CLIENT_ID, because the application would have no owner.')
    return false
  }
  if (!(await insertSeededApplication(db, seeding, userId))) return false
  await addClientSecret(db, seed.clientId, secretHash, { maker: { userId, clientId: null }, now })
  report.applied.push('SEED_CLIENT_ID', 'SEED_CLIENT_SECRET', 'SEED_REDIRECT_URIS')
  return true
}

/** Applies the settings that are due. Returns false if the redirect URIs could not be applied. */
async function updateSeededClient(
  db: Db,
  seeding: Seeding,
  application: Application,
  { secretHash, redirectUris, isSecretDue, areUrisDue }: DueSettings,
): Promise<boolean> {
  const { seed, now, report } = seeding
  let areUrisApplied = true
  if (areUrisDue && application.redirectUris.join() !== redirectUris) {
    areUrisApplied = await setSeededRedirectUris(db, seeding, application)
    if (areUrisApplied) report.applied.push('SEED_REDIRECT_URIS')
  } else if (!seed.redirectUris.every(uri => application.redirectUris.includes(uri)))
    report.outdated.push('a redirect URI was removed')
  if ((await listSecretHashes(db, application.id)).includes(secretHash)) return areUrisApplied
  if (isSecretDue) {
    const maker = { userId: application.createdBy, clientId: null }
    await addClientSecret(db, application.id, secretHash, { maker, now })
    report.applied.push('SEED_CLIENT_SECRET')
  } else report.outdated.push('the client secret no longer works')
  return areUrisApplied
}

/** Returns false if a limit on groups or applications is reached. The report then contains the reason. */
async function insertSeededApplication(db: Db, { seed, now, report }: Seeding, userId: string): Promise<boolean> {
  const { clientId, redirectUris } = seed
  const fields = {
    ...emptyFields,
    name: 'Reference client',
    description: 'Lists and creates your applications.',
    redirectUris,
    defaultRedirectUri: redirectUris[0] ?? '',
  }
  const ownGroupId = await findOwnGroup(db, userId)
  const fits = await hasRoom(report, 'No application was made for SEED_CLIENT_ID', async () => {
    if (ownGroupId) {
      await lockGroup(db, ownGroupId)
      await requireRoomForApplication(db, ownGroupId, sizeOfFields(fields))
    } else {
      await lockUser(db, userId)
      await requireRoomForGroup(db, userId)
    }
  })
  if (!fits) return false
  const groupId = ownGroupId ?? (await createGroup(db, 'Sandbox developers', userId, now)).id
  const dates = { createdAt: now, createdBy: userId, updatedAt: now, updatedBy: userId }
  const application = { ...fields, ...dates, id: clientId, groupId, linkId: randomUUID(), madeByClient: null }
  await insertApplication(db, application)
  return true
}

/** Returns false if the redirect URIs would take too much room. The report then contains the reason. */
async function setSeededRedirectUris(db: Db, { seed, now, report }: Seeding, application: Application) {
  const { id, groupId } = application
  const fields = { ...application, redirectUris: seed.redirectUris, defaultRedirectUri: seed.redirectUris[0] ?? '' }
  const growth = sizeOfFields(fields) - sizeOfFields(application)
  const fits = await hasRoom(report, 'SEED_REDIRECT_URIS did not take effect', async () => {
    if (growth <= 0) return
    await lockGroup(db, groupId)
    await requireRoomForGrowth(db, groupId, growth)
  })
  if (fits) await setRedirectUris(db, id, seed.redirectUris, now)
  return fits
}

const limitSentences: Partial<Record<Reason, string>> = {
  'too-many-groups': 'the account has reached the limit on groups. Leave a group.',
  'too-many-applications':
    'the oldest group of the account has too many applications. Remove an application from this group.',
  'too-many-bytes': 'the fields of all applications in its group would take too much room. Shorten some fields.',
}

async function hasRoom({ refused }: SeedReport, failure: string, look: () => Promise<void>): Promise<boolean> {
  try {
    await look()
    return true
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    refused.push(`${failure}: ${limitSentences[error.reason]}`)
    return false
  }
}
