// What the browser keeps for us: cookies, and the seal (AES-256-GCM) by which nobody reads, changes or misuses them.
import { createCipheriv, createDecipheriv, createHash, createSecretKey, randomBytes } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import type { Secret } from '../secret.ts'

export type Cookie = { name: string; value: string; maxAgeSeconds: number; sameSite: 'lax' | 'strict' }

/** What the request brought, by name. */
export type Cookies = Record<string, string | undefined>

/** The `__Host-` prefix demands all of these attributes. */
export function setCookies(reply: FastifyReply, cookies: Cookie[]): void {
  for (const { name, value, maxAgeSeconds, sameSite } of cookies)
    reply.setCookie(name, value, { path: '/', secure: true, httpOnly: true, sameSite, maxAge: maxAgeSeconds })
}

/** A cookie that lives for no time: the browser drops the one of this name. */
export function expire(name: string): Cookie {
  return { name, value: '', maxAgeSeconds: 0, sameSite: 'strict' }
}

/** Programs on other ports of this host can set any number of cookies. Each line that takes one away is 100 bytes long. */
export const mostTakenAway = 10

/**
 * Which of these cookies one answer takes away: so few that its headers stay small, and those that this client has sealed
 * before any other. The next answers take away the others.
 */
export function chooseToExpire(names: string[], cookies: Cookies, sealer: Sealer): string[] {
  if (names.length <= mostTakenAway) return names
  const own = new Set(names.filter(name => sealer.openCookie(name, cookies)))
  return [...own, ...names.filter(name => !own.has(name))].slice(0, mostTakenAway)
}

/** The cookies that the browser sends once it has taken those in `set`. */
export function afterSetting(cookies: Cookies, set: Cookie[]): Cookies {
  const changed = Object.fromEntries(set.map(({ name, value }) => [name, value]))
  return Object.fromEntries(Object.entries({ ...cookies, ...changed }).filter(([, value]) => value !== ''))
}

export type Sealer = ReturnType<typeof createSealer>
/** `payload`: as it was sealed, and so of the type that its purpose says. */
type Opened = { payload: unknown; expiresAt: Date; isSealedWithOldKey: boolean }

/** version 1 byte, key id 4, expiry 4 (seconds), nonce 12 | ciphertext | tag 16: 37 bytes over the payload. */
const version = 1
const headerLength = 21
const nonceAt = 9
const tagLength = 16

/**
 * `secrets`: keys of 32 bytes in base64url; the first seals, all open, so that keys can be rotated. `context` names this
 * client's registration: what was sealed for another one does not open.
 */
export function createSealer(secrets: Secret[], context: string, clock: () => Date) {
  const keys = secrets.map(secret => {
    const bytes = Buffer.from(secret.reveal(), 'base64url')
    const id = createHash('sha256').update('key id').update(bytes).digest().subarray(0, 4)
    // Node looks at a key that comes as bytes anew for each call, and takes four times as long.
    return { id, secret: createSecretKey(bytes) }
  })
  const newest = keys[0]!
  const boundTo = (purpose: string, header: Buffer) => Buffer.concat([header, Buffer.from(`${purpose}\n${context}`)])

  /** The value is good for this purpose alone. In base64url, 4/3 of the payload as JSON + 37 bytes. */
  function seal(purpose: string, payload: unknown, expiresAt: Date): string {
    const header = Buffer.alloc(headerLength)
    header[0] = version
    newest.id.copy(header, 1)
    header.writeUInt32BE(Math.floor(expiresAt.getTime() / 1000), 5)
    randomBytes(headerLength - nonceAt).copy(header, nonceAt)
    const cipher = createCipheriv('aes-256-gcm', newest.secret, header.subarray(nonceAt))
    cipher.setAAD(boundTo(purpose, header))
    return Buffer.concat([
      header,
      cipher.update(JSON.stringify(payload)),
      cipher.final(),
      cipher.getAuthTag(),
    ]).toString('base64url')
  }

  /** Undefined for anything that is not a live value of this purpose, whatever else it is. Never throws. */
  function open(purpose: string, value: string | undefined): Opened | undefined {
    const bytes = Buffer.from(value ?? '', 'base64url')
    if (bytes.length < headerLength + tagLength || bytes[0] !== version) return undefined
    // Decoding forgives characters that mean nothing; a value is good in one spelling alone.
    if (bytes.toString('base64url') !== value) return undefined
    const header = bytes.subarray(0, headerLength)
    const key = keys.find(key => key.id.equals(header.subarray(1, 5)))
    // The cookie's Max-Age is the browser's word; a copy of the cookie does not keep it.
    const expiresAt = new Date(header.readUInt32BE(5) * 1000)
    if (!key || expiresAt <= clock()) return undefined
    const cipher = createDecipheriv('aes-256-gcm', key.secret, header.subarray(nonceAt), { authTagLength: tagLength })
    cipher.setAAD(boundTo(purpose, header)).setAuthTag(bytes.subarray(-tagLength))
    try {
      const json = Buffer.concat([cipher.update(bytes.subarray(headerLength, -tagLength)), cipher.final()])
      return { payload: JSON.parse(json.toString()), expiresAt, isSealedWithOldKey: key !== newest }
    } catch {
      return undefined
    }
  }

  return {
    seal,
    open,
    /** Newest first. They are no secret: replicas whose ids differ sign their visitors in and out by turns. */
    keyIds: keys.map(key => key.id.toString('hex')),

    sealCookie(name: string, payload: unknown, expiresAt: Date, sameSite: 'lax' | 'strict'): Cookie {
      const maxAgeSeconds = Math.max(1, Math.round((expiresAt.getTime() - clock().getTime()) / 1000))
      return { name, value: seal(name, payload, expiresAt), maxAgeSeconds, sameSite }
    },

    openCookie(name: string, cookies: Cookies): Opened | undefined {
      return Object.hasOwn(cookies, name) ? open(name, cookies[name]) : undefined
    },
  }
}
