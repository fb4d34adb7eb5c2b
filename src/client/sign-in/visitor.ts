// The types of a visitor, and the properties of a request that contain the visitor: `request.visitor` in the signed-in
// scope, and `request.visitorIfAny` everywhere.
import type { Api } from './api.ts'

/**
 * The product's own data in the session cookie, such as a role or a language. As JSON, the data may be at most 500
 * bytes long. A product adds its own fields, which must be optional:
 *
 *   declare module '../sign-in/visitor.ts' {
 *     interface SessionData { role?: string }
 *   }
 */
// biome-ignore lint/suspicious/noEmptyInterface: products add their fields
export interface SessionData {}

/**
 * On public pages with `recognise`, the client does not renew the session. If the access token has expired, `userId` is
 * undefined and `data` is empty on these pages. On the next page of the signed-in scope, the client renews the session,
 * and both have their values again.
 */
export type VisitorInfo = {
  /**
   * The id of the visitor's account at the portal, from the access token. Use this id as the key when you store a
   * visitor's data.
   */
  userId: string | undefined
  /**
   * The user id, or a random id for this login if the access token does not contain a user id. Forms and drafts belong
   * to this id. Do not use it as a key when you store data.
   */
  sessionOwner: string
  /** The visitor's name, or an empty string if the portal does not return it. */
  name: string
  /** When the visitor has to sign in again. */
  expiresAt: Date
  /** The product's own data, from `loadSessionData`. */
  data: SessionData
}

export type Visitor = VisitorInfo & {
  /** Calls the application API on the visitor's behalf. */
  api: Api
  /** True if the client tried to renew the session before the handler ran. A page can then leave out optional calls. */
  wasRenewalTried: boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The signed-in visitor. Throws outside the signed-in scope, because a request there may have no session. */
    readonly visitor: Visitor
    /**
     * The signed-in visitor, or undefined. Templates read it as `it.visitor`. Outside the signed-in scope, a route has
     * this value only if it has the preHandler `app.signIn.recognise`.
     */
    visitorIfAny: VisitorInfo | Visitor | undefined
  }
}
