// What one page leaves for the next one to show, once: credentials, or a form that was not sent.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Cookie, type Cookies, expire, setCookies } from './cookies.ts'
import type { Sealer } from './seal.ts'

/** For the page at `path`, and for nobody but this visitor. A `draft` waits until a login is done, a `secret` does not. */
export type Handover = { path: string; visitorId: string; kind: 'draft' | 'secret'; value: Record<string, unknown> }

export type Handovers = ReturnType<typeof createHandovers>

const name = '__Host-handover'
const lifetimeMs = 10 * 60 * 1000
const longest = 3_500
/** Of all cookies of this client together (docs/decisions/003): Node takes 16 KiB for all headers. */
const mostOwnBytes = 8 * 1024

export function createHandovers(sealer: Sealer, clock: () => Date) {
  return {
    /** False where it does not fit into a cookie, beside those that there are: then this answer must show it itself. */
    leave(reply: FastifyReply, handover: Handover): boolean {
      // A draft is read after signing in, which begins on another site.
      const sameSite = handover.kind === 'draft' ? 'lax' : 'strict'
      const expiresAt = new Date(clock().getTime() + lifetimeMs)
      const cookie = sealer.sealCookie(name, JSON.stringify(handover), expiresAt, sameSite)
      const { [name]: _, ...others } = reply.request.cookies
      if (cookie.name.length + cookie.value.length > Math.min(longest, mostOwnBytes - ownBytes(others))) return false
      setCookies(reply, [cookie])
      return true
    },

    /** What was left for this page and this visitor. It stays until expireHandover takes it away. */
    find(request: FastifyRequest, visitorId: string, kind: Handover['kind']): Handover['value'] | undefined {
      const opened = sealer.openCookie(name, request.cookies)
      if (!opened) return undefined
      const handover = JSON.parse(opened.payload.toString()) as Handover
      const isForHere = handover.path === request.url.split('?', 1)[0]
      const isForVisitor = handover.visitorId === visitorId
      return isForHere && isForVisitor && handover.kind === kind ? handover.value : undefined
    },
  }
}

export function expireHandover(cookies: Cookies): Cookie[] {
  return name in cookies ? [expire(name)] : []
}

function ownBytes(cookies: Cookies): number {
  const own = Object.entries(cookies).filter(([name]) => name.startsWith('__Host-'))
  return own.reduce((sum, [name, value = '']) => sum + name.length + value.length, 0)
}
