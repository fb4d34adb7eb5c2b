// A notice that a page shows only once, after a form has changed something. The notice is in a cookie, which the page
// deletes.
import type { FastifyReply } from 'fastify'
import type { Services } from '../services.ts'
import { makeFormToken, readFormToken } from '../tokens/form-token.ts'

export const noticeCookieName = '__Host-portal-notice'

/** The cookie lives long enough for the redirect, and for a visitor who must sign in before the page appears. */
const lifetimeMs = 5 * 60_000
// The cookie can be Strict, because the portal reads it only after a redirect within the portal. The cookie must be
// Strict: with Lax, another site could open a page of the portal, for example in a new window, and this page would
// delete the notice before the visitor sees it.
const cookieOptions = { path: '/', secure: true, httpOnly: true, sameSite: 'strict' } as const

export type PageNotice =
  | { about: 'invited' | 'invitation cancelled' | 'renamed' }
  /** If the visitor must not learn who the account belongs to, `userId` is undefined. */
  | { about: 'removed'; userId: string | undefined }
  | { about: 'joined'; groupId: string }
  /** `groupName` is undefined if the visitor was neither a member of the group nor invited to it. */
  | { about: 'left' | 'declined'; groupName: string | undefined }
  | { about: 'withdrawn'; clientId: string }
  | { about: 'token revoked' | 'tokens revoked' }
  | { about: 'signed out everywhere' }

interface AddressedNotice {
  /** The path of the only page that shows the notice. */
  path: string
  /** The only user who sees the notice. Undefined on a page for visitors who are not signed in. */
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
  // The portal signs the content of the cookie. Programs on other ports of this host can also set this cookie, but they
  // must not choose the text of this page.
  const addressed: AddressedNotice = { path, userId, notice }
  const expiresAt = new Date(clock().getTime() + lifetimeMs)
  const value = makeFormToken(keyRing.sealingKey, 'notice', addressed, expiresAt)
  return reply.setCookie(noticeCookieName, value, { ...cookieOptions, maxAge: lifetimeMs / 1000 }).redirect(path, 303)
}

/** Returns the notice for this page and this user, and deletes its cookie. A notice for another page stays. */
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
