// Puts the first user, group and application into the store. Each setting is applied when it has changed since it was
// applied last, never only because of a restart, and never to what somebody else has made.
import type { Seed } from '../config.ts'
import type { Passwords } from '../people/passwords.ts'
import { signOutEverywhere } from '../store/portal-sessions.ts'
import type { Db } from '../store/schema.ts'
import { findSeededUser, lockSeeding, noteSeededUser, type SeededUser } from '../store/seeds.ts'
import type { Store } from '../store/store.ts'
import { makeRoomFor } from '../store/sweep.ts'
import { createUser, findCredentials, setPasswordHash } from '../store/users.ts'
import { seedClient } from './seed-client.ts'
import type { Seeding, SeedReport } from './seeding.ts'

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
