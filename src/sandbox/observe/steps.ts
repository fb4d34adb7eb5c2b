// A step describes a request to the portal or the API: its kind, its user and client, the results of the checks, and
// the reason for a refusal.
import type { FastifyRequest } from 'fastify'
import type { Reason } from './reasons.ts'

export type StepKind =
  | 'authorize'
  | 'sign-in'
  | 'sign-up'
  | 'consent'
  | 'exchange'
  | 'refresh'
  | 'revoke'
  | 'metadata'
  | 'api'
  | 'me'
  | 'page'

export type CheckName =
  | 'redirect_uri'
  | 'cancel_url'
  | 'client_secret'
  | 'code'
  | 'state'
  | 'code_verifier'
  | 'refresh_token'

/**
 * One comparison of a value from the request with an expected value. The values are unchanged and may be secret: an
 * observer must hide them before showing them.
 */
export interface Check {
  name: CheckName
  passed: boolean
  /** A list if the value in the request may equal any of these values. */
  expected?: string | string[] | undefined
  received?: string | undefined
}

/**
 * Says which client, user and grant a request concerns. `claimedClientId` is the client id that the request contains.
 * `provenClientId` is set only if a secret or a token proves which client sent the request.
 */
export interface About {
  claimedClientId?: string | undefined
  /** The claimed client id, if a client with this id exists. Nothing proves that the request comes from this client. */
  knownClientId?: string | undefined
  provenClientId?: string | undefined
  userId?: string | undefined
  grantId?: string | undefined
  /**
   * For a request that sends one of the portal's forms: the path and query that started the login. The form contains
   * this path and query.
   */
  startPath?: string | undefined
}

type Texts = Record<string, string>

export interface Step {
  /** The sandbox makes a different id for each request. */
  id: string
  /** The caller's X-Request-Id, or an id that the sandbox has made. This id is also in the log and on error pages. */
  requestId: string
  at: Date
  listener: 'portal' | 'api'
  kind: StepKind
  /** The pattern of the route, or `(none)` if the address has no route. */
  route: string
  durationMs: number
  request: { method: string; url: string; headers: Texts; body: unknown }
  response: {
    /** 0 if there was no answer. */
    status: number
    headers: Texts
    body: unknown
    /** Whether the connection ended before the last byte was sent. */
    isCut?: boolean
  }
  about: About
  checks: Check[]
  reason: Reason | undefined
}

/** Receives the steps of the portal and the API. Its functions must not throw. */
export interface Observer {
  /** Called when a request has been answered or its connection has ended. */
  onStep(step: Step, request: FastifyRequest): void
  /** The address of the page about the step with this id. The page exists as soon as the request is answered. */
  urlOf?(stepId: string): string
}
