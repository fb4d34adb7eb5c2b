// Puts the first user, group and application into the store, once; a changed secret, password or redirect URI takes effect.
import { randomUUID } from 'node:crypto'
import type { Seed } from './config.ts'
import type { Passwords } from './portal/passwords.ts'
import { signOutEverywhere } from './portal/sign-out.ts'
import { findApplication, insertApplication, setRedirectUris } from './store/applications.ts'
import { addClientSecret, listSecretHashes } from './store/client-secrets.ts'
import { createGroup, listMemberships } from './store/groups.ts'
import type { Store } from './store/open-store.ts'
import type { Db } from './store/schema.ts'
import { createUser, findCredentials, setPasswordHash } from './store/users.ts'
import { hashToken } from './tokens/opaque-token.ts'

/** Several instances may do this at the same time. */
export async function seedStore(
  store: Store,
  seed: Seed,
  { passwords, clock }: { passwords: Passwords; clock: () => Date },
): Promise<void> {
  const now = clock()
  // Hashed before the transaction, which must be short and do nothing but query.
  const known = await findCredentials(store.read, seed.userEmail)
  const isPasswordKnown =
    known !== undefined && (await passwords.verify(seed.userPassword.reveal(), known.passwordHash))
  const passwordHash = isPasswordKnown ? known.passwordHash : await passwords.hash(seed.userPassword.reveal())
  await store.transaction(async db => {
    await lockSeeding(db)
    const userId = await seedUser(db, seed.userEmail, passwordHash, now)
    await seedApplication(db, seed, userId, now)
  })
}

// On PostgreSQL the row stays locked until the transaction ends; on SQLite the transaction itself is the lock.
async function lockSeeding(db: Db): Promise<void> {
  await db
    .updateTable('sandbox_schema')
    .set(eb => ({ version: eb.ref('version') }))
    .execute()
}

async function seedUser(db: Db, email: string, passwordHash: string, now: Date): Promise<string> {
  const known = await findCredentials(db, email)
  if (known) {
    if (known.passwordHash !== passwordHash) {
      await setPasswordHash(db, known.userId, passwordHash)
      await signOutEverywhere(db, known.userId, now)
    }
    return known.userId
  }
  const userId = await createUser(db, { email, firstName: 'Sandbox', lastName: 'Developer', passwordHash }, now)
  if (!userId) throw new Error('the seeded user was made by somebody else in the same moment')
  return userId
}

async function seedApplication(db: Db, seed: Seed, userId: string, now: Date): Promise<void> {
  const { clientId, redirectUris } = seed
  const application = await findApplication(db, clientId)
  if (!application) {
    const [membership] = await listMemberships(db, userId)
    const groupId = membership?.groupId ?? (await createGroup(db, 'Sandbox developers', userId, now)).id
    await insertApplication(db, {
      id: clientId,
      groupId,
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
  } else if (application.redirectUris.join() !== redirectUris.join()) {
    await setRedirectUris(db, clientId, redirectUris, now)
  }
  const secretHash = hashToken(seed.clientSecret.reveal())
  if (!(await listSecretHashes(db, clientId)).includes(secretHash))
    await addClientSecret(db, clientId, secretHash, { maker: { userId, clientId: null }, now })
}
