// Checks passwords, limits how many wrong passwords can be tried, and changes passwords.
import { randomUUID } from 'node:crypto'
import { Refusal } from '../observe/refusal.ts'
import type { Services } from '../services.ts'
import { type Bucket, countFailure, failureWindowMs, findBackOff, sourceBucket } from '../store/failures.ts'
import { signOutEverywhere } from '../store/portal-sessions.ts'
import { type Credentials, findCredentials, replacePasswordHash } from '../store/users.ts'
import { hashToken } from '../tokens/opaque-token.ts'
import { normaliseEmail } from '../values/email-address.ts'

/**
 * The content of a cookie with which the portal recognises a browser that has signed in before. If strangers enter
 * wrong passwords elsewhere, the person with this browser can still sign in.
 */
export interface KnownBrowser {
  id: string
  /** A hash for each account that has signed in with this browser, most recent first. */
  accounts: string[]
}

interface PasswordAttempt {
  email: string
  password: string
  /** The network address for which failures are counted. */
  source: string
  knownBrowser?: KnownBrowser | undefined
}

// The cookie contains at most this many accounts. If more people use the same browser, the portal forgets the oldest
// accounts. If strangers then enter wrong passwords for these accounts, the owners may have to wait for a quarter of an
// hour.
const mostAccounts = 5

/**
 * Checks a password. Failures are counted for the account and for the source. While one of these counts is at its
 * limit, even the right password is refused. A browser that is known for the account has its own count, so that
 * strangers cannot lock out the person who uses this browser. When the browser's own count is at its limit, further
 * failures count like the failures of any other browser. Throws Refusal (password-wrong, too-many-failures) and Busy.
 */
export async function checkPassword(
  { store, passwords, clock }: Pick<Services, 'store' | 'passwords' | 'clock'>,
  { email, password, source, knownBrowser }: PasswordAttempt,
): Promise<Credentials> {
  // PostgreSQL cannot store the character NUL, so no account has an address with this character.
  const credentials = email.includes('\0') ? undefined : await findCredentials(store.read, email)
  const ownBucket = findBrowserBucket(knownBrowser, credentials)
  const everybody: Bucket[] = [
    { key: accountBucket(email), limit: 10, windowMs: failureWindowMs },
    sourceBucket(source),
  ]
  const findBuckets = async () =>
    ownBucket && (await findBackOff(store.read, [ownBucket], clock())) === 0 ? [ownBucket] : everybody
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
 * Adds the account that has just signed in to the accounts of a browser. If the browser was known before, it keeps its
 * id, and so its count of failures.
 */
export function withAccount(known: KnownBrowser | undefined, credentials: Credentials): KnownBrowser {
  const account = hashAccount(credentials)
  const others = known?.accounts.filter(other => other !== account) ?? []
  return { id: known?.id ?? randomUUID(), accounts: [account, ...others].slice(0, mostAccounts) }
}

/**
 * Returns this browser's own count of failures for the account, or undefined if the browser is not known for the
 * account.
 */
function findBrowserBucket(known: KnownBrowser | undefined, credentials: Credentials | undefined): Bucket | undefined {
  if (!known || !credentials) return undefined
  const account = hashAccount(credentials)
  if (!known.accounts.includes(account)) return undefined
  // Databases contain keys with this prefix, so it stays.
  return { key: `mark ${known.id} ${account}`, limit: 10, windowMs: failureWindowMs }
}

/**
 * Hashes the account together with its password hash, so after a change of the password no browser is known for the
 * account. The password hash contains a salt, so nobody can guess the result.
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
