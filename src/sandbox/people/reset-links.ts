// Makes and reads the links that reset a password.
import { Refusal } from '../observe/refusal.ts'
import type { Services } from '../services.ts'
import { type Bucket, countAttempt } from '../store/failures.ts'
import { type Credentials, findCredentials, findCredentialsOf } from '../store/users.ts'
import { makeFormToken, readFormToken } from '../tokens/form-token.ts'
import { hashToken } from '../tokens/opaque-token.ts'
import { isEqual } from '../values/is-equal.ts'
import { hashAccount } from './password.ts'

const resetPurpose = 'reset link'
export const resetLinkMinutes = 30
export const mostResetLinks = 5

/** The content of a link that resets a password. The store does not contain a record of the link. */
interface ResetLink {
  userId: string
  /**
   * A hash of the current password hash. Each new password changes this hash. A link therefore works only once, and a
   * new password also ends all other links of the account.
   */
  passwordHash: string
}

/**
 * makeResetToken uses this value if there is no account. The function then runs the same code, so that the response
 * time does not show whether the account exists.
 */
const nobody: Credentials = { userId: '', passwordHash: '' }

/**
 * Makes the token of a link that resets the password. If there is no account, `isForSomebody` is false, and the caller
 * must not send the token to anybody. Returns undefined after five requests in half an hour.
 */
export async function makeResetToken(
  { store, keyRing, clock }: Pick<Services, 'store' | 'keyRing' | 'clock'>,
  { email, source }: { email: string; source: string },
): Promise<{ token: string; isForSomebody: boolean } | undefined> {
  const credentials = await findCredentials(store.read, email)
  const { userId, passwordHash } = credentials ?? nobody
  // Hash the password hash again, because the password hash contains a salt, which the link must not show.
  const link: ResetLink = { userId, passwordHash: hashToken(passwordHash) }
  const windowMs = resetLinkMinutes * 60_000
  const token = makeFormToken(keyRing.sealingKey, resetPurpose, link, new Date(clock().getTime() + windowMs))
  // Each pair of source and account has its own count, so that a stranger cannot use up the owner's attempts. A new
  // password ends every link and begins a new count. All e-mail addresses without an account share one count per
  // source, so that a stranger cannot fill the table. A count lasts as long as a link is valid. Therefore the last link
  // still works while the portal refuses to make new links.
  const key = `resets of ${hashAccount({ userId, passwordHash })} from ${source}`
  const bucket: Bucket = { key, limit: mostResetLinks, windowMs }
  const retryAfterSeconds = await store.transaction(db => countAttempt(db, bucket, clock()))
  return retryAfterSeconds > 0 ? undefined : { token, isForSomebody: credentials !== undefined }
}

/**
 * Returns the account whose password the link resets. Throws Refusal (link-expired) if the portal did not make the
 * link, or if the link has expired or was already used.
 */
export async function readResetToken(
  { store, keyRing, clock }: Pick<Services, 'store' | 'keyRing' | 'clock'>,
  token: unknown,
): Promise<Credentials> {
  const link = readFormToken<ResetLink>(keyRing.sealingKey, resetPurpose, token, clock())
  const credentials = link && (await findCredentialsOf(store.read, link.userId))
  if (!credentials || !isEqual(hashToken(credentials.passwordHash), link.passwordHash))
    throw new Refusal('link-expired')
  return credentials
}
