// Checks passwords, limits how many wrong passwords can be tried, and changes passwords.
import { randomUUID } from 'node:crypto'
import { Refusal } from '../observe/refusal.ts'
import type { Services } from '../services.ts'
import { type Bucket, countFailure, failureWindowMs, findBackOff } from '../store/failures.ts'
import { signOutEverywhere } from '../store/portal-sessions.ts'
import { type Credentials, findCredentials, replacePasswordHash } from '../store/users.ts'
import { hashToken } from '../tokens/opaque-token.ts'
import { normaliseEmail } from '../values/email-address.ts'

/**
 * The content of a cookie with which the portal recognises a browser that has signed in before. If strangers enter
 * wrong passwords elsewhere, the person with this browser can still sign in.
 */
export interface Mark {
  id: string
  /** A hash for each account that has signed in with this browser, most recent first. */
  accounts: string[]
}

export interface PasswordAttempt {
  email: string
  password: string
  /** The network address for which failures are counted. */
  source: string
  mark?: Mark | undefined
}

// A mark contains at most this many accounts. If more people use the same browser, the mark forgets the oldest
// accounts. If strangers then enter wrong passwords for these accounts, the owners may have to wait for a quarter of an
// hour.
const mostAccounts = 5

/**
 * Checks a password. Failures are counted for the account and for the source. While one of these counts is at its
 * limit, even the right password is refused. A browser with a mark for the account has its own count, so that strangers
 * cannot lock out the person who uses this browser. When the browser's own count is at its limit, further failures
 * count like the failures of any other browser. Throws Refusal (password-wrong, too-many-failures) and Busy.
 */
export async function checkPassword(
  { store, passwords, clock }: Pick<Services, 'store' | 'passwords' | 'clock'>,
  { email, password, source, mark }: PasswordAttempt,
): Promise<Credentials> {
  // PostgreSQL cannot store the character NUL, so no account has an address with this character.
  const credentials = email.includes('\0') ? undefined : await findCredentials(store.read, email)
  const markBucket = findMarkBucket(mark, credentials)
  const everybody: Bucket[] = [
    { key: accountBucket(email), limit: 10, windowMs: failureWindowMs },
    { key: `address ${source}`, limit: 100, windowMs: failureWindowMs },
  ]
  const findBuckets = async () =>
    markBucket && (await findBackOff(store.read, [markBucket], clock())) === 0 ? [markBucket] : everybody
  const refuseIfFull = async (buckets: Bucket[]) => {
    const retryAfterSeconds = await findBackOff(store.read, buckets, clock())
    if (retryAfterSeconds > 0) throw new Refusal('too-many-failures', { retryAfterSeconds })
  }

  await refuseIfFull(await findBuckets())
  const isRight = await passwords.verify(password, credentials?.passwordHash, source)
  // Check the limit again, because many attempts may run at the same time. After the tenth failure, the portal must no
  // longer say whether a password was right.
  const buckets = await findBuckets()
  await refuseIfFull(buckets)
  if (isRight && credentials) return credentials
  await store.write(db => countFailure(db, buckets, clock()))
  throw new Refusal('password-wrong')
}

/** Returns the key under which failures for an account are counted. */
export function accountBucket(email: string): string {
  return `account ${hashToken(normaliseEmail(email))}`
}

/**
 * Makes the mark for a browser that has just signed in. If the browser already had a mark, the new mark gets the id of
 * the old mark, so that the browser keeps its count of failures.
 */
export function markFor(known: Mark | undefined, credentials: Credentials): Mark {
  const account = hashAccount(credentials)
  const others = known?.accounts.filter(other => other !== account) ?? []
  return { id: known?.id ?? randomUUID(), accounts: [account, ...others].slice(0, mostAccounts) }
}

/**
 * Returns this browser's own count of failures for the account, or undefined if the browser has no mark for the
 * account.
 */
function findMarkBucket(mark: Mark | undefined, credentials: Credentials | undefined): Bucket | undefined {
  if (!mark || !credentials) return undefined
  const account = hashAccount(credentials)
  if (!mark.accounts.includes(account)) return undefined
  return { key: `mark ${mark.id} ${account}`, limit: 10, windowMs: failureWindowMs }
}

/**
 * Hashes the account together with its password hash, so a new password makes every mark for the account invalid. The
 * password hash contains a salt, so nobody can guess the result.
 */
export function hashAccount({ userId, passwordHash }: Credentials): string {
  return hashToken(`${userId} ${passwordHash}`)
}

/**
 * Changes the password, and ends every session at the portal and every grant (RFC 9700 4.14.2). Throws Refusal
 * (password-changed) if the password was changed after `credentials` were read. If two changes run at the same time,
 * only one succeeds. Throws Busy.
 */
export async function changePassword(
  { store, passwords, clock }: Pick<Services, 'store' | 'passwords' | 'clock'>,
  credentials: Credentials,
  { password, source }: { password: string; source: string },
): Promise<Credentials> {
  const { userId } = credentials
  const passwordHash = await passwords.hash(password, source)
  await store.transaction(async db => {
    if (!(await replacePasswordHash(db, credentials, passwordHash))) throw new Refusal('password-changed')
    await signOutEverywhere(db, userId, clock())
  })
  return { userId, passwordHash }
}
