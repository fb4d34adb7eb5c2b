// A mark for browsers that have signed in to an account before: what strangers get wrong does not lock them out.
import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Services } from '../services.ts'
import { type Bucket, failureWindowMs } from '../store/failures.ts'
import type { Credentials } from '../store/users.ts'
import { makeFormToken, readFormToken } from '../tokens/form-token.ts'
import { hashToken } from '../tokens/opaque-token.ts'

const cookieName = '__Host-portal-known'
const purpose = 'known browser'
const lifetimeMs = 180 * 86_400_000
// A cookie has room for more, but whoever has more accounts than this can wait a quarter of an hour.
const mostAccounts = 5

/** What the browser has signed in to, the latest first. */
export interface Mark {
  id: string
  accounts: string[]
}

/** Undefined when the browser brings none that we made. */
export function readMark(
  { keyRing, clock }: Pick<Services, 'keyRing' | 'clock'>,
  request: FastifyRequest,
): Mark | undefined {
  return readFormToken<Mark>(keyRing.sealingKey, purpose, request.cookies[cookieName], clock())
}

/** Once a visitor has signed in. The mark keeps its id, and with it what was counted. */
export function markBrowser(
  parts: Pick<Services, 'keyRing' | 'clock'>,
  credentials: Credentials,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const known = readMark(parts, request)
  const account = accountOf(credentials)
  const others = known?.accounts.filter(other => other !== account) ?? []
  const mark: Mark = { id: known?.id ?? randomUUID(), accounts: [account, ...others].slice(0, mostAccounts) }
  const expiresAt = new Date(parts.clock().getTime() + lifetimeMs)
  const value = makeFormToken(parts.keyRing.sealingKey, purpose, mark, expiresAt)
  const options = { path: '/', secure: true, httpOnly: true, sameSite: 'lax', maxAge: lifetimeMs / 1000 } as const
  reply.setCookie(cookieName, value, options)
}

/** Where the failures of a browser are counted that is known to this account; undefined for every other. */
export function findMarkBucket(mark: Mark | undefined, credentials: Credentials | undefined): Bucket | undefined {
  if (!mark || !credentials) return undefined
  const account = accountOf(credentials)
  if (!mark.accounts.includes(account)) return undefined
  return { key: `mark ${mark.id} ${account}`, limit: 10, windowMs: failureWindowMs }
}

/** With the hash of the password in it, so that a new password ends every mark. Its salt keeps it from being guessed. */
function accountOf({ userId, passwordHash }: Credentials): string {
  return hashToken(`${userId} ${passwordHash}`)
}
