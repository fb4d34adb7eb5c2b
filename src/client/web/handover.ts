// Stores a value for the next page in a sealed cookie. The value is a draft, credentials that are shown once, or a
// notice.
import { isDeepStrictEqual } from 'node:util'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Cookie, type Cookies, expire, setCookies } from './cookies.ts'
import { requestPath } from './pages.ts'
import type { Sealer } from './seal.ts'
import { isPrefetch } from './security.ts'

/**
 * `value` is a JSON value for the page at `path`. The page gets this value only if its visitor has this `sessionOwner`.
 * If `sessionOwner` is undefined, the page gets the value only if nobody is signed in.
 */
type Handover = { path: string; sessionOwner: string | undefined; value: unknown }

export type Handovers = ReturnType<typeof createHandovers>
export type Notices = ReturnType<typeof createNotices>

const handoverName = '__Host-handover'
const noticeName = '__Host-notice'
const lifetimeMs = 10 * 60 * 1000
const maxHandoverBytes = 3_500
/** The limit for all cookies of this client together, because Node accepts at most 16 KiB of headers in a request. */
const maxCookieBytes = 8 * 1024

/** Returns functions that pass a draft or credentials to the next page. */
export function createHandovers(sealer: Sealer, clock: () => Date) {
  return {
    /**
     * Stores a value in a cookie for the next page. Returns false if the cookie, or all cookies of this site together,
     * would be too long. Also returns false if the cookie still contains another value that no page has shown yet. In
     * both cases, the answer to the current request must show the value. If the visitor must sign in before the next
     * page, use `lax`, because the browser then comes to that page from the portal.
     */
    leave(reply: FastifyReply, handover: Handover, sameSite: Cookie['sameSite'] = 'strict'): boolean {
      const { [handoverName]: _, ...others } = reply.request.cookies
      const waiting = sealer.unsealCookie(handoverName, reply.request.cookies)
      if (waiting && !isDeepStrictEqual(waiting.payload, handover)) return false
      const cookie = sealer.sealCookie(handoverName, handover, endOfLife(clock), sameSite)
      const bytes = cookie.name.length + cookie.value.length
      if (bytes > maxHandoverBytes || bytes > maxCookieBytes - countOwnBytes(others)) return false
      setCookies(reply, [cookie])
      return true
    },

    /** Renders a page with the value that is stored for this page. If there is none, `render` gets undefined. */
    take: (request: FastifyRequest, reply: FastifyReply, render: (value: unknown) => Promise<string>) =>
      takeFrom(handoverName, sealer, request, reply, render),
  }
}

/**
 * Notices are sentences that a page shows once, such as "Your changes are saved." The cookie contains only the name of
 * the notice, and the template contains the text. The address of the page does not contain the name: otherwise anyone
 * could make a link that shows the notice, and a reload would show it again.
 */
export function createNotices(sealer: Sealer, clock: () => Date) {
  return {
    /**
     * Call this before redirecting to `path`. If there is an earlier notice that no page has shown yet, the new notice
     * replaces it. If you also end the session, end it before this call.
     */
    leave(reply: FastifyReply, path: string, notice: string): void {
      const handover: Handover = { path, sessionOwner: reply.request.visitorIfAny?.sessionOwner, value: notice }
      setCookies(reply, [sealer.sealCookie(noticeName, handover, endOfLife(clock), 'strict')])
    },

    /** Renders a page with the notice that is stored for this page. If there is none, `render` gets undefined. */
    take: (request: FastifyRequest, reply: FastifyReply, render: (notice: string | undefined) => Promise<string>) =>
      takeFrom(noticeName, sealer, request, reply, value => render(typeof value === 'string' ? value : undefined)),
  }
}

/**
 * The cookie is deleted only after the page has been rendered. So if an error occurs, the value is not lost. The answer
 * to a HEAD request or to a prefetch may never be shown, so this answer does not delete the cookie. A prefetched page
 * does not contain the value, because the browser may keep this page.
 */
async function takeFrom(
  cookieName: string,
  sealer: Sealer,
  request: FastifyRequest,
  reply: FastifyReply,
  render: (value: unknown) => Promise<string>,
): Promise<string> {
  const handover = sealer.unsealCookie(cookieName, request.cookies)?.payload as Handover | undefined
  const isForThisPage =
    handover?.path === requestPath(request) && handover?.sessionOwner === request.visitorIfAny?.sessionOwner
  const mayUse = isForThisPage && !isPrefetch(request)
  const page = await render(mayUse ? handover?.value : undefined)
  if (mayUse && request.method !== 'HEAD') setCookies(reply, [expire(cookieName)])
  return page
}

/** Returns cookies that make the browser delete all values and notices that no page has shown yet. */
export function expireHandovers(cookies: Cookies): Cookie[] {
  return [handoverName, noticeName].filter(name => name in cookies).map(expire)
}

function endOfLife(clock: () => Date): Date {
  return new Date(clock().getTime() + lifetimeMs)
}

function countOwnBytes(cookies: Cookies): number {
  const own = Object.entries(cookies).filter(([name]) => name.startsWith('__Host-'))
  return own.reduce((sum, [name, value = '']) => sum + name.length + value.length, 0)
}
