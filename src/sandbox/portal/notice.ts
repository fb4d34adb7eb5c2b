// A notice that a page shows once, after a form has changed something. The notice travels in a cookie that the page
// deletes.
import type { FastifyReply } from 'fastify'
import type { Services } from '../services.ts'
import { makeFormToken, readFormToken } from '../tokens/form-token.ts'

export const noticeCookieName = '__Host-portal-notice'

/** The cookie lives long enough for the redirect, and for a visitor who must sign in before the page appears. */
const lifetimeMs = 5 * 60_000
// The cookie is Strict, because the portal reads it after a redirect within the portal. If another site opens a page of
// the portal, this must not use up the notice.
const cookieOptions = { path: '/', secure: true, httpOnly: true, sameSite: 'strict' } as const

export type PageNotice =
  | { about: 'invited' | 'invitation cancelled' | 'renamed' }
  /** The id is left out if the visitor may not learn to whom it belongs. */
  | { about: 'removed'; userId: string | undefined }
  | { about: 'joined'; groupId: string }
  /** Undefined if the visitor was not in the group, or not invited to it. */
  | { about: 'left' | 'declined'; groupName: string | undefined }
  | { about: 'withdrawn'; clientId: string }
  | { about: 'token ended' | 'tokens ended' }
  | { about: 'signed out everywhere' }

interface AddressedNotice {
  /** The only page that shows it. */
  path: string
  /** The only user who sees it. Undefined on pages without a user. */
  userId: string | undefined
  notice: PageNotice
}

type Keys = Pick<Services, 'keyRing' | 'clock'>

/** Answers a form with a redirect to the page, which shows the notice once. */
export function redirectWithNotice(
  { keyRing, clock }: Keys,
  reply: FastifyReply,
  { path, userId, notice }: { path: string; userId?: string; notice: PageNotice },
): FastifyReply {
  // The cookie is sealed: programs on other ports of this host can also set cookies, but must not choose the words of this
  // page.
  const addressed: AddressedNotice = { path, userId, notice }
  const expiresAt = new Date(clock().getTime() + lifetimeMs)
  const value = makeFormToken(keyRing.sealingKey, 'notice', addressed, expiresAt)
  return reply.setCookie(noticeCookieName, value, { ...cookieOptions, maxAge: lifetimeMs / 1000 }).redirect(path, 303)
}

/** The notice for this page and user. The cookie of the notice is deleted. A notice for another page stays. */
export function takeNotice(
  { keyRing, clock }: Keys,
  reply: FastifyReply,
  { path, userId }: { path: string; userId?: string },
): PageNotice | undefined {
  const value = reply.request.cookies[noticeCookieName]
  const addressed = readFormToken<AddressedNotice>(keyRing.sealingKey, 'notice', value, clock())
  if (addressed?.path !== path || addressed.userId !== userId) return undefined
  reply.clearCookie(noticeCookieName, cookieOptions)
  return addressed.notice
}
