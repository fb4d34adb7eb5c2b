// Checks a password, and says when somebody has been wrong too often to be heard.
import type { Services } from '../services.ts'
import { type Bucket, countFailure, failureWindowMs, findBackOff } from '../store/failures.ts'
import { type Credentials, findCredentials, normaliseEmail } from '../store/users.ts'
import { hashToken } from '../tokens/opaque-token.ts'
import { findMarkBucket, type Mark } from './known-browser.ts'

/** Where failures for an account are counted. */
export function accountBucket(email: string): string {
  return `account ${hashToken(normaliseEmail(email))}`
}

export interface PasswordAttempt {
  email: string
  password: string
  /** Where it comes from, as counts name it. */
  source: string
  /** Of a browser that has signed in before. */
  mark?: Mark | undefined
}

export type CheckedPassword =
  | { credentials: Credentials }
  | { refusal: 'wrong' }
  | { refusal: 'too-many-failures'; retryAfterSeconds: number }

/**
 * Counts failures for the account and for the source; while either has too many, the right password is refused as well.
 * A browser known to the account is counted by itself, so that others can lock nobody out, until it has failed too often
 * too. Throws Busy.
 */
export async function checkPassword(
  { store, passwords, clock }: Pick<Services, 'store' | 'passwords' | 'clock'>,
  { email, password, source, mark }: PasswordAttempt,
): Promise<CheckedPassword> {
  // An address that is no text for the database (PostgreSQL takes no NUL) belongs to nobody.
  const credentials = email.includes('\0') ? undefined : await findCredentials(store.read, email)
  const markBucket = findMarkBucket(mark, credentials)
  const everybody: Bucket[] = [
    { key: accountBucket(email), limit: 10, windowMs: failureWindowMs },
    { key: `address ${source}`, limit: 100, windowMs: failureWindowMs },
  ]
  const findBuckets = async () =>
    markBucket && (await findBackOff(store.read, [markBucket], clock())) === 0 ? [markBucket] : everybody

  const before = await findBackOff(store.read, await findBuckets(), clock())
  if (before > 0) return { refusal: 'too-many-failures', retryAfterSeconds: before }
  const isRight = await passwords.verify(password, credentials?.passwordHash, source)
  // Once more: of many tries at once, those after the tenth failure must not learn whether they were right.
  const buckets = await findBuckets()
  const after = await findBackOff(store.read, buckets, clock())
  if (after > 0) return { refusal: 'too-many-failures', retryAfterSeconds: after }
  if (isRight && credentials) return { credentials }
  await store.write(db => countFailure(db, buckets, clock()))
  return { refusal: 'wrong' }
}
