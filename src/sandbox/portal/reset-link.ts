// The link of a reset mail. Nothing is stored for it: it names the password that it replaces, and so it works once.
import type { Services } from '../services.ts'
import { type Credentials, findCredentialsOf } from '../store/users.ts'
import { makeFormToken, readFormToken } from '../tokens/form-token.ts'
import { hashToken, isEqualHash } from '../tokens/opaque-token.ts'

const purpose = 'reset link'
export const resetLinkMinutes = 30

interface ResetLink {
  userId: string
  /** Ends every link to the account as soon as one of them, or anything else, has changed the password. */
  passwordHash: string
}

export function makeResetLink(
  { addresses, keyRing, clock }: Pick<Services, 'addresses' | 'keyRing' | 'clock'>,
  { userId, passwordHash }: Credentials,
): string {
  // A hash of the hash, whose salt nobody outside knows: links can be read.
  const content: ResetLink = { userId, passwordHash: hashToken(passwordHash) }
  const expiresAt = new Date(clock().getTime() + resetLinkMinutes * 60_000)
  const token = makeFormToken(keyRing.sealingKey, purpose, content, expiresAt)
  return `${addresses.portalUrl}/reset-password?token=${token}`
}

/** Whose password the link resets; undefined where it is not ours, has expired or was used. */
export async function readResetToken(
  { store, keyRing, clock }: Pick<Services, 'store' | 'keyRing' | 'clock'>,
  token: unknown,
): Promise<Credentials | undefined> {
  const link = readFormToken<ResetLink>(keyRing.sealingKey, purpose, token, clock())
  const credentials = link && (await findCredentialsOf(store.read, link.userId))
  return credentials && isEqualHash(hashToken(credentials.passwordHash), link.passwordHash) ? credentials : undefined
}
