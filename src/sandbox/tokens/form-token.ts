// A form token is a string that the portal sends to the browser, and that the browser sends back. Anyone can read the
// string, but only the portal can make it: it is signed for one purpose and a limited time.
import { createHmac, hkdfSync } from 'node:crypto'
import { isEqual } from '../values/is-equal.ts'

interface Envelope<T> {
  content: T
  /** Milliseconds since 1970. */
  expiresAt: number
}

/** Makes a form token. Because of `purpose`, the token of one form cannot be used in another form. */
export function makeFormToken<T>(sealingKey: Buffer, purpose: string, content: T, expiresAt: Date): string {
  const envelope: Envelope<T> = { content, expiresAt: expiresAt.getTime() }
  const text = Buffer.from(JSON.stringify(envelope)).toString('base64url')
  return `${text}.${authenticate(sealingKey, purpose, text)}`
}

/**
 * Reads the content of a form token. Returns undefined if the portal did not make the token for this purpose, or if the
 * token has expired.
 */
export function readFormToken<T>(sealingKey: Buffer, purpose: string, token: unknown, now: Date): T | undefined {
  const [text, mac, rest] = typeof token === 'string' ? token.split('.') : []
  if (!text || !mac || rest !== undefined) return undefined
  if (!isEqual(mac, authenticate(sealingKey, purpose, text))) return undefined
  const envelope = JSON.parse(Buffer.from(text, 'base64url').toString()) as Envelope<T>
  return envelope.expiresAt > now.getTime() ? envelope.content : undefined
}

function authenticate(sealingKey: Buffer, purpose: string, text: string): string {
  const key = Buffer.from(hkdfSync('sha256', sealingKey, '', `form token: ${purpose}`, 32))
  return createHmac('sha256', key).update(text).digest('base64url')
}
