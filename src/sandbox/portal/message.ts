// A message that a page shows only once, after a form has changed something. The message is in a cookie, which the page
// deletes.
import type { FastifyReply } from 'fastify'
import type { Services } from '../services.ts'
import { makeFormToken, readFormToken } from '../tokens/form-token.ts'
import { messageCookieName, strictCookie } from '../values/portal-cookies.ts'

/** The cookie lives long enough for the redirect, and for a visitor who must sign in before the page appears. */
const lifetimeMs = 5 * 60_000

export type PageMessage =
  | { about: 'invited' | 'invitation cancelled' | 'renamed' }
  /** If the visitor must not learn who the account belongs to, `userId` is undefined. */
  | { about: 'removed'; userId: string | undefined }
  | { about: 'joined'; groupId: string }
  /** `groupName` is undefined if the visitor was neither a member of the group nor invited to it. */
  | { about: 'left' | 'declined'; groupName: string | undefined }
  | { about: 'withdrawn'; clientId: string }
  | { about: 'token revoked' | 'tokens revoked' }
  | { about: 'signed out everywhere' }

interface AddressedMessage {
  /** The path of the only page that shows the message. */
  path: string
  /** The only user who sees the message. Undefined on a page for visitors who are not signed in. */
  userId: string | undefined
  message: PageMessage
}

type Keys = Pick<Services, 'keyRing' | 'clock'>

/** Answers a form with a redirect to the page, which shows the message once. */
export function redirectWithMessage(
  { keyRing, clock }: Keys,
  reply: FastifyReply,
  { path, userId, message }: { path: string; userId?: string; message: PageMessage },
): FastifyReply {
  // The portal signs the content of the cookie. Programs on other ports of this host can also set this cookie, but they
  // must not choose the text of this page.
  const addressed: AddressedMessage = { path, userId, message }
  const expiresAt = new Date(clock().getTime() + lifetimeMs)
  const value = makeFormToken(keyRing.sealingKey, 'message', addressed, expiresAt)
  // The cookie can be Strict, because the portal reads it only after a redirect within the portal. The cookie must be
  // Strict: with Lax, another site could open a page of the portal, for example in a new window, and this page would
  // delete the message before the visitor sees it.
  return reply.setCookie(messageCookieName, value, { ...strictCookie, maxAge: lifetimeMs / 1000 }).redirect(path, 303)
}

/** Returns the message for this page and this user, and deletes its cookie. A message for another page stays. */
export function takeMessage(
  { keyRing, clock }: Keys,
  reply: FastifyReply,
  { path, userId }: { path: string; userId?: string },
): PageMessage | undefined {
  const value = reply.request.cookies[messageCookieName]
  const addressed = readFormToken<AddressedMessage>(keyRing.sealingKey, 'message', value, clock())
  if (addressed?.path !== path || addressed.userId !== userId) return undefined
  reply.clearCookie(messageCookieName, strictCookie)
  return addressed.message
}
