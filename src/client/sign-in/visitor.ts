// The visitor of a request: `request.visitor` in the signed-in scope, `request.visitorIfAny` everywhere.
import type { Api } from './api.ts'

/**
 * A little data of the product in the session cookie, such as a role or a language. At most 500 bytes as JSON.
 * A product adds its fields, all of them optional:
 *
 *   declare module '../sign-in/visitor.ts' {
 *     interface SessionData { role?: string }
 *   }
 */
// biome-ignore lint/suspicious/noEmptyInterface: products add their fields
export interface SessionData {}

/**
 * On a public page with `recognise`, the session is not renewed. If its access token has expired there, `userId` is
 * undefined and `data` is empty. The next page of the signed-in scope renews the session and has `userId` and `data`
 * again.
 */
export type VisitorInfo = {
  /** The id of the visitor's account at the portal, from the access token. Store a visitor's data under this id. */
  userId: string | undefined
  /**
   * The user id, or a random id for this login if the access token does not contain a user id. Forms and drafts belong to
   * this id. Do not store data under this id.
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
  /**
   * True if the client asked the portal to renew the session before the handler ran. A page can then skip optional calls.
   */
  wasRenewalTried: boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The signed-in visitor. Throws outside the signed-in scope, because a request there may have no session. */
    readonly visitor: Visitor
    /**
     * The visitor, if one is signed in. Templates have it as `it.visitor`. Always undefined on routes outside the signed-in
     * scope that do not have the preHandler `app.signIn.recognise`.
     */
    visitorIfAny: VisitorInfo | Visitor | undefined
  }
}
