// Makes random strings: codes, refresh tokens, client secrets and session ids. The store has only the hashes of these
// strings.
import { createHmac, hash, hkdfSync, randomBytes } from 'node:crypto'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Returns 30 random letters and digits (178 bits). Authorization codes and refresh tokens have this form. */
export function makeAlphanumericToken(): string {
  return toAlphanumeric(randomBytes(32))
}

/** Returns 32 random bytes in base64url (43 characters). Client secrets and session ids have this form. */
export function makeSecret(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * Computes the refresh token that follows the given refresh token. Because the next token is computed from the given
 * token, the portal can repeat its answer within the grace period, although the database has only hashes.
 */
export function deriveSuccessor(sealingKey: Buffer, refreshToken: string): string {
  const key = Buffer.from(hkdfSync('sha256', sealingKey, '', 'refresh token successor', 32))
  return toAlphanumeric(createHmac('sha256', key).update(refreshToken).digest())
}

/** Returns the SHA-256 hash in base64url. One round of hashing is enough for a string with at least 128 random bits. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'base64url')
}

// Turns 256 random bits into one of 62^30 values. The bias is below 2^-77.
function toAlphanumeric(bytes: Buffer): string {
  let rest = BigInt(`0x${bytes.toString('hex')}`)
  let text = ''
  while (text.length < 30) {
    text += alphabet[Number(rest % 62n)]
    rest /= 62n
  }
  return text
}
