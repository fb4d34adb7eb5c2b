// What forms leave with the browser, sealed: the token in each of them, and what the next page shows once.
import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { PublicError } from '../errors.ts'
import { type Cookie, type Cookies, expire, type Sealer, setCookies } from './seal.ts'
import type { VisitorOf } from './views.ts'

/**
 * Names the form and whom it was shown to, so that each form acts once and for that visitor. `shownAt` in milliseconds
 * since 1970. `mayHaveActed`: it was sent before, and nobody knows what became of it.
 */
export type FormToken = { id: string; visitorId: string; shownAt: number; mayHaveActed?: boolean }

const tokenPurpose = 'form token'
const tokenLifetimeMs = 24 * 60 * 60 * 1000

export function createFormTokens(sealer: Sealer, clock: () => Date) {
  const seal = (token: FormToken) => sealer.seal(tokenPurpose, token, new Date(token.shownAt + tokenLifetimeMs))

  /** Undefined where it is older than a day, or no token of ours. */
  const open = (text: string | undefined) => sealer.open(tokenPurpose, text)?.payload as FormToken | undefined

  return {
    seal,
    open,
    create: (visitorId: string) => seal({ id: randomUUID(), visitorId, shownAt: clock().getTime() }),

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

/** `value`, as JSON, for the page at `path`, and for nobody but this visitor. */
type Handover = { path: string; visitorId: string; value: unknown }

export type Handovers = ReturnType<typeof createHandovers>

const name = '__Host-handover'
const lifetimeMs = 10 * 60 * 1000
const longest = 3_500
/** Of all cookies of this client together (docs/decisions/003): Node takes 16 KiB for all headers. */
const mostOwnBytes = 8 * 1024

export function createHandovers(sealer: Sealer, clock: () => Date, visitorOf: VisitorOf) {
  return {
    /**
     * False where it does not fit into a cookie, beside those that there are: then this answer must show it itself.
     * What waits for a login is read after coming from another site: it is `lax`.
     */
    leave(reply: FastifyReply, handover: Handover, sameSite: Cookie['sameSite'] = 'strict'): boolean {
      const cookie = sealer.sealCookie(name, handover, new Date(clock().getTime() + lifetimeMs), sameSite)
      const { [name]: _, ...others } = reply.request.cookies
      if (cookie.name.length + cookie.value.length > Math.min(longest, mostOwnBytes - ownBytes(others))) return false
      setCookies(reply, [cookie])
      return true
    },

    /** Shows what was left for this page and this visitor, or undefined, and only then takes it away: a page that fails loses nothing. */
    async take<T>(request: FastifyRequest, reply: FastifyReply, show: (value: T | undefined) => Promise<string>) {
      const left = sealer.openCookie(name, request.cookies)?.payload as Handover | undefined
      const isForHere = left?.path === request.url.split('?', 1)[0] && left?.visitorId === visitorOf(request).visitorId
      const page = await show(isForHere ? (left?.value as T) : undefined)
      if (isForHere) setCookies(reply, expireHandover(request.cookies))
      return page
    },
  }
}

const noticeName = '__Host-notice'

/** `notice` names a sentence of the page at `path`, such as `saved`. The cookie never holds the words themselves. */
type Notice = { path: string; visitorId: string; notice: string }

export type Notices = ReturnType<typeof createNotices>

/** What a page says once after a form was sent. An address cannot make a page say it, and a reload does not repeat it. */
export function createNotices(sealer: Sealer, clock: () => Date, visitorOf: VisitorOf) {
  return {
    /** To call before redirecting to `path`. A later notice replaces one that no page has shown yet. */
    leave(reply: FastifyReply, path: string, notice: string): void {
      const { visitorId } = visitorOf(reply.request)
      const left: Notice = { path, visitorId, notice }
      setCookies(reply, [sealer.sealCookie(noticeName, left, new Date(clock().getTime() + lifetimeMs), 'strict')])
    },

    /** Calls `show` with the notice for this page and this visitor, if there is one. A page that fails keeps it. */
    async take(request: FastifyRequest, reply: FastifyReply, show: (notice: string | undefined) => Promise<string>) {
      const left = sealer.openCookie(noticeName, request.cookies)?.payload as Notice | undefined
      const isForHere = left?.path === request.url.split('?', 1)[0] && left?.visitorId === visitorOf(request).visitorId
      const page = await show(isForHere ? left?.notice : undefined)
      if (isForHere) setCookies(reply, [expire(noticeName)])
      return page
    },
  }
}

/** Takes away what no page has shown yet. */
export function expireHandover(cookies: Cookies): Cookie[] {
  return [name, noticeName].filter(one => one in cookies).map(expire)
}

function ownBytes(cookies: Cookies): number {
  const own = Object.entries(cookies).filter(([name]) => name.startsWith('__Host-'))
  return own.reduce((sum, [name, value = '']) => sum + name.length + value.length, 0)
}
