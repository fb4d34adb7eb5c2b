// Puts the first user, group and application into the store. Each setting is applied when it has changed since it was
// applied last, never only because of a restart, and never to what somebody else has made.
import { randomUUID } from 'node:crypto'
import type { Seed } from './config.ts'
import type { Passwords } from './passwords.ts'
import { insertApplication, lockApplication, setRedirectUris } from './store/applications.ts'
import { addClientSecret, listSecretHashes } from './store/client-secrets.ts'
import { createGroup } from './store/groups.ts'
import type { Db } from './store/schema.ts'
import {
  findOwnGroup,
  findSeededClient,
  findSeededUser,
  lockSeeding,
  noteSeededClient,
  noteSeededUser,
  type SeededUser,
  takeForgottenClient,
} from './store/seeds.ts'
import { signOutEverywhere } from './store/sign-out-everywhere.ts'
import type { Store } from './store/store.ts'
import { makeRoomFor } from './store/sweep.ts'
import { createUser, findCredentials, setPasswordHash } from './store/users.ts'
import { hashToken } from './tokens/opaque-token.ts'

/** What came of seeding. */
export interface SeedReport {
  /** Names of the settings that took effect now. */
  applied: string[]
  /** Sentences: what was not done, because it would change what somebody else has made. */
  refused: string[]
  /** Halves of sentences: what was changed or removed since it was seeded, and stays so unless seeding is forced. */
  outdated: string[]
}

interface Seeding {
  seed: Seed
  passwordHash: string
  isPasswordChanged: boolean
  isForced: boolean
  now: Date
  report: SeedReport
}

/** `isForced` applies all settings, changed or not. Several instances may do this at the same time. */
export async function seedStore(
  store: Store,
  seed: Seed,
  { passwords, clock, isForced = false }: { passwords: Passwords; clock: () => Date; isForced?: boolean },
): Promise<SeedReport> {
  const password = seed.userPassword.reveal()
  for (;;) {
    // Hashed before the transaction, which must be short and do nothing but query. The slow hash is all that is kept of
    // the password that was applied, so whether the setting has changed is asked as a sign-in asks.
    const known = await findSeededUser(store.read, seed.userEmail)
    const isPasswordChanged = !known || !(await passwords.verify(password, known.passwordHash))
    const passwordHash = isPasswordChanged ? await passwords.hash(password) : known.passwordHash
    await makeRoomFor(store, seed.clientId)
    const report = await store.transaction(async db => {
      await lockSeeding(db)
      const knownNow = await findSeededUser(db, seed.userEmail)
      // Another instance was faster.
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

/** The seeded user's id; undefined when there is none, or the account is somebody else's. */
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
  // Whoever signed up with the address before may still be signed in, and knows what belongs to the account.
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

async function seedClient(db: Db, { seed, isForced, now, report }: Seeding, userId: string | undefined): Promise<void> {
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
      await insertSeededApplication(db, seed, userId, now)
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
      await setRedirectUris(db, id, seed.redirectUris, now)
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

async function insertSeededApplication(db: Db, seed: Seed, userId: string, now: Date): Promise<void> {
  const { clientId, redirectUris } = seed
  await insertApplication(db, {
    id: clientId,
    groupId: (await findOwnGroup(db, userId)) ?? (await createGroup(db, 'Sandbox developers', userId, now)).id,
    linkId: randomUUID(),
    name: 'Reference client',
    description: 'Lists and creates your applications.',
    webPageUrl: '',
    iconUrl: '',
    privacyPolicyUrl: '',
    redirectUris,
    defaultRedirectUri: redirectUris[0] ?? '',
    scopes: '',
    defaultScopes: '',
    createdAt: now,
    createdBy: userId,
    madeByClient: null,
    updatedAt: now,
    updatedBy: userId,
  })
}
