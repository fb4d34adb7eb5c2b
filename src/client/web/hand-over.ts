// What forms leave with the browser, sealed: the token in each of them, and what the next page shows once.
import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { PublicError } from '../errors.ts'
import { type Cookie, type Cookies, expire, type Sealer, setCookies } from './seal.ts'

/**
 * Names the form and whom it was shown to, so that each form acts once and for that visitor. `mayHaveActed`: it was sent
 * before, and nobody knows what became of it.
 */
export type FormToken = { id: string; visitorId: string; shownAt: Date; mayHaveActed?: boolean }

const tokenPurpose = 'form'
const tokenLifetimeMs = 24 * 60 * 60 * 1000

export function createFormTokens(sealer: Sealer, clock: () => Date) {
  function seal({ id, visitorId, shownAt, mayHaveActed = false }: FormToken): string {
    const payload = [id, visitorId, shownAt.getTime(), mayHaveActed]
    return sealer.seal(tokenPurpose, payload, new Date(shownAt.getTime() + tokenLifetimeMs))
  }

  /** Undefined where it is older than a day, or no token of ours. */
  function open(text: string | undefined): FormToken | undefined {
    const opened = sealer.open(tokenPurpose, text)
    if (!opened) return undefined
    const [id, visitorId, shownAt, mayHaveActed] = opened.payload as [string, string, number, boolean]
    return { id, visitorId, shownAt: new Date(shownAt), mayHaveActed }
  }

  return {
    seal,
    open,

    create(visitorId: string): string {
      return seal({ id: randomUUID(), visitorId, shownAt: clock() })
    },

    /** Throws PublicError 409 where the form is older than a day, or was shown to another visitor. */
    check(text: string | undefined, visitorId: string, formPage: string): FormToken {
      const nextStep = { href: formPage, text: 'Open it again' }
      const token = open(text)
      if (token?.visitorId === visitorId) return token
      const tooOld = 'This page has been open for too long. Please check it and send it again.'
      if (!token) throw new PublicError('form_too_old', 409, tooOld, { nextStep })
      const message = 'You are now signed in as someone else than when you opened this form, so nothing was done.'
      throw new PublicError('other_visitor', 409, message, { nextStep })
    },
  }
}

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
      const cookie = sealer.sealCookie(name, handover, new Date(clock().getTime() + lifetimeMs), sameSite)
      const { [name]: _, ...others } = reply.request.cookies
      if (cookie.name.length + cookie.value.length > Math.min(longest, mostOwnBytes - ownBytes(others))) return false
      setCookies(reply, [cookie])
      return true
    },

    /** What was left for this page and this visitor. It stays until expireHandover takes it away. */
    find(request: FastifyRequest, visitorId: string, kind: Handover['kind']): Handover['value'] | undefined {
      const handover = sealer.openCookie(name, request.cookies)?.payload as Handover | undefined
      const isForHere = handover?.path === request.url.split('?', 1)[0]! && handover.kind === kind
      return isForHere && handover.visitorId === visitorId ? handover.value : undefined
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
