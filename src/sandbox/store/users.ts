// Users of the portal. Clients know the id of a user as `subject`.
import { randomUUID } from 'node:crypto'
import { normaliseEmail } from '../values/email-address.ts'
import { type Db, unchanged } from './schema.ts'

export interface User {
  id: string
  email: string
  firstName: string
  lastName: string
}

/** The columns of a User, for every query that selects from the table `users` or joins it. */
export const userColumns = [
  'users.id',
  'users.email',
  'users.first_name as firstName',
  'users.last_name as lastName',
] as const

interface NewUser {
  email: string
  firstName: string
  lastName: string
  passwordHash: string
}

/** Returns the new user's id, or undefined if another user has this e-mail address. */
export async function createUser(db: Db, user: NewUser, now: Date): Promise<string | undefined> {
  const row = await db
    .insertInto('users')
    .values({
      id: randomUUID(),
      email: normaliseEmail(user.email),
      first_name: user.firstName,
      last_name: user.lastName,
      password_hash: user.passwordHash,
      created_at: now.getTime(),
    })
    .onConflict(conflict => conflict.column('email').doNothing())
    .returning('id')
    .executeTakeFirst()
  return row?.id
}

/** The data that is needed to check a password. Code that does not check passwords must not get the hash. */
export interface Credentials {
  userId: string
  passwordHash: string
}

const credentialColumns = ['users.id as userId', 'users.password_hash as passwordHash'] as const

export async function findCredentials(db: Db, email: string): Promise<Credentials | undefined> {
  return db.selectFrom('users').select(credentialColumns).where('email', '=', normaliseEmail(email)).executeTakeFirst()
}

/** Does the same as findCredentials, but finds the user by id. */
export async function findCredentialsOf(db: Db, userId: string): Promise<Credentials | undefined> {
  return db.selectFrom('users').select(credentialColumns).where('id', '=', userId).executeTakeFirst()
}

/** If the password was changed after `credentials` were read, the function changes nothing and returns false. */
export async function replacePasswordHash(db: Db, credentials: Credentials, passwordHash: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('users')
    .set({ password_hash: passwordHash })
    .where('id', '=', credentials.userId)
    .where('password_hash', '=', credentials.passwordHash)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function setPasswordHash(db: Db, userId: string, passwordHash: string): Promise<void> {
  await db.updateTable('users').set({ password_hash: passwordHash }).where('id', '=', userId).execute()
}

export async function findUser(db: Db, userId: string): Promise<User | undefined> {
  return db.selectFrom('users').select(userColumns).where('id', '=', userId).executeTakeFirst()
}

/** Lists the ids of at most `limit` users, in any order. */
export async function listSomeUsers(db: Db, limit: number): Promise<string[]> {
  const rows = await db.selectFrom('users').select('id').limit(limit).execute()
  return rows.map(({ id }) => id)
}

/** Locks the user until the transaction ends. Call this before you count the records of the user. */
export async function lockUser(db: Db, userId: string): Promise<void> {
  await db.updateTable('users').set(unchanged).where('id', '=', userId).execute()
}
