// Seals values with AES-256-GCM before they are sent to the browser. Only this client can read or change a sealed
// value. A value that was sealed for one purpose cannot be used for another purpose.
import { createCipheriv, createDecipheriv, createHash, createSecretKey, randomBytes } from 'node:crypto'
import type { Secret } from '../secret.ts'
import type { Cookie, Cookies } from './cookies.ts'

export type Sealer = ReturnType<typeof createSealer>

/** `payload` has the same type as the value that was sealed for this purpose. */
type Unsealed = { payload: unknown; expiresAt: Date }

// The sealed bytes: header | ciphertext | tag.
// The header: version (1 byte), key id (4 bytes), expiry in seconds (4 bytes), nonce (12 bytes).
const version = 2
const keyIdAt = 1
const expiryAt = 5
const nonceAt = 9
const headerLength = 21
const tagLength = 16

/**
 * `secrets` are keys of 32 bytes in base64url. The first key seals new values. Every key can unseal, so that keys can
 * be replaced one after the other. `sealedFor` identifies this client's registration at the portal. A value that was
 * sealed for another registration cannot be unsealed.
 */
export function createSealer(secrets: Secret[], sealedFor: string, clock: () => Date) {
  const keys = secrets.map(secret => {
    const bytes = Buffer.from(secret.reveal(), 'base64url')
    const id = createHash('sha256').update('key id').update(bytes).digest().subarray(0, 4)
    // With a KeyObject, sealing is four times as fast as with raw bytes.
    return { id, secret: createSecretKey(bytes) }
  })
  const newest = keys[0]!

  /**
   * GCM also authenticates these bytes. So a value with another header, another purpose or another registration cannot
   * be unsealed.
   */
  const authenticatedData = (purpose: string, header: Buffer) =>
    Buffer.concat([header, Buffer.from(`${purpose}\n${sealedFor}`)])

  /** Returns base64url text. If the payload has n bytes of JSON, the text has 4/3 × (n + 37) characters. */
  function seal(purpose: string, payload: unknown, expiresAt: Date): string {
    const header = Buffer.alloc(headerLength)
    header[0] = version
    newest.id.copy(header, keyIdAt)
    header.writeUInt32BE(Math.floor(expiresAt.getTime() / 1000), expiryAt)
    randomBytes(headerLength - nonceAt).copy(header, nonceAt)
    const cipher = createCipheriv('aes-256-gcm', newest.secret, header.subarray(nonceAt))
    cipher.setAAD(authenticatedData(purpose, header))
    const ciphertext = Buffer.concat([cipher.update(JSON.stringify(payload)), cipher.final()])
    return Buffer.concat([header, ciphertext, cipher.getAuthTag()]).toString('base64url')
  }

  /** Returns undefined if the value was not sealed for this purpose, or if it has expired. Never throws. */
  function unseal(purpose: string, value: string | undefined): Unsealed | undefined {
    const bytes = Buffer.from(value ?? '', 'base64url')
    if (bytes.length < headerLength + tagLength || bytes[0] !== version) return undefined
    // Buffer.from ignores characters that are not base64url. Because of this check, only the exact text that `seal`
    // returned is accepted.
    if (bytes.toString('base64url') !== value) return undefined
    const header = bytes.subarray(0, headerLength)
    const key = keys.find(key => key.id.equals(header.subarray(keyIdAt, expiryAt)))
    // The header contains the time of expiry. Max-Age is not enough, because it works only in browsers: a stolen copy
    // of the cookie must also expire.
    const expiresAt = new Date(header.readUInt32BE(expiryAt) * 1000)
    if (!key || expiresAt <= clock()) return undefined
    const decipher = createDecipheriv('aes-256-gcm', key.secret, header.subarray(nonceAt), { authTagLength: tagLength })
    decipher.setAAD(authenticatedData(purpose, header)).setAuthTag(bytes.subarray(-tagLength))
    try {
      const json = Buffer.concat([decipher.update(bytes.subarray(headerLength, -tagLength)), decipher.final()])
      return { payload: JSON.parse(json.toString()), expiresAt }
    } catch {
      return undefined
    }
  }

  return {
    seal,
    unseal,
    /**
     * The ids of the keys, in the order of `secrets`. These ids are not secret. Replicas with different key ids cannot
     * read each other's sessions.
     */
    keyIds: keys.map(key => key.id.toString('hex')),

    sealCookie(name: string, payload: unknown, expiresAt: Date, sameSite: 'lax' | 'strict'): Cookie {
      const maxAgeSeconds = Math.max(1, Math.round((expiresAt.getTime() - clock().getTime()) / 1000))
      return { name, value: seal(name, payload, expiresAt), maxAgeSeconds, sameSite }
    },

    unsealCookie(name: string, cookies: Cookies): Unsealed | undefined {
      return Object.hasOwn(cookies, name) ? unseal(name, cookies[name]) : undefined
    },
  }
}
