// The records that seeding has made, and the settings that seeding has applied. The store keeps this information in
// separate rows, because people can change and remove the records.
import { normaliseEmail } from '../values/email-address.ts'
import type { Db } from './schema.ts'

export interface SeededUser {
  userId: string
  /** The hash of the password that seeding applied last. The user may have changed the password since then. */
  passwordHash: string
}

/**
 * The settings that seeding applied last. A field is null if the setting was applied by an earlier version of the
 * sandbox that did not store the value.
 */
interface SeededClient {
  secretHash: string | null
  /** Comma-separated. */
  redirectUris: string | null
}

/**
 * Locks seeding, so that other instances must wait before they seed. On PostgreSQL, the row stays locked until the
 * transaction ends. On SQLite, the transaction itself is the lock.
 */
export async function lockSeeding(db: Db): Promise<void> {
  await db
    .updateTable('sandbox_schema')
    .set(eb => ({ version: eb.ref('version') }))
    .execute()
}

export async function findSeededUser(db: Db, email: string): Promise<SeededUser | undefined> {
  return db
    .selectFrom('seeded_users')
    .select(['user_id as userId', 'password_hash as passwordHash'])
    .where('email', '=', normaliseEmail(email))
    .executeTakeFirst()
}

export async function noteSeededUser(db: Db, email: string, { userId, passwordHash }: SeededUser): Promise<void> {
  const values = { user_id: userId, password_hash: passwordHash }
  await db
    .insertInto('seeded_users')
    .values({ email: normaliseEmail(email), ...values })
    .onConflict(conflict => conflict.column('email').doUpdateSet(values))
    .execute()
}

export async function findSeededClient(db: Db, id: string): Promise<SeededClient | undefined> {
  return db
    .selectFrom('seeded_clients')
    .select(['secret_hash as secretHash', 'redirect_uris as redirectUris'])
    .where('id', '=', id)
    .executeTakeFirst()
}

export async function noteSeededClient(db: Db, id: string, { secretHash, redirectUris }: SeededClient): Promise<void> {
  const values = { secret_hash: secretHash, redirect_uris: redirectUris }
  await db
    .insertInto('seeded_clients')
    .values({ id, ...values })
    .onConflict(conflict => conflict.column('id').doUpdateSet(values))
    .execute()
}
