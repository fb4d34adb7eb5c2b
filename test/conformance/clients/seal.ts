// Seals and unseals cookies, so that only this client can read or write them. Uses AES-256-GCM, with the name of the
// cookie as the purpose.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

export function seal(key: Buffer, purpose: string, value: unknown): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose))
  const sealed = Buffer.concat([cipher.update(JSON.stringify(value)), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
}

/** Returns undefined if the text was not sealed with this key for this purpose. */
export function unseal(key: Buffer, purpose: string, text: string): unknown {
  try {
    const bytes = Buffer.from(text, 'base64url')
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 })
    decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(12, 28))
    return JSON.parse(Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString())
  } catch {
    return undefined
  }
}
