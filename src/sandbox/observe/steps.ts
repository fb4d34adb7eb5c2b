// What a request to the portal or the API was: which step of the protocol, about whom, what was checked, and why it failed.
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

/** One thing that was looked for or compared. The two values are as they came: whoever shows them hides what is secret. */
export interface Check {
  name: CheckName
  passed: boolean
  expected?: string | undefined
  received?: string | undefined
}

/** Whom a request is about. An id that a client claims is told apart from one that it has proven. */
export interface About {
  claimedClientId?: string | undefined
  /** A claimed one that the portal has, whoever claims it. */
  knownClientId?: string | undefined
  provenClientId?: string | undefined
  userId?: string | undefined
  grantId?: string | undefined
  /** Of a form of the portal: the path and query that began the login, which the form carries. */
  startPath?: string | undefined
}

type Texts = Record<string, string>

export interface Step {
  /** Made here, and different for each request. */
  id: string
  /** The caller's X-Request-Id, or one made here. It is also in the log and on error pages. */
  requestId: string
  at: Date
  listener: 'portal' | 'api'
  kind: StepKind
  /** The pattern of the route; `(none)` where there is no such route. */
  route: string
  durationMs: number
  request: { method: string; url: string; headers: Texts; body: unknown }
  response: {
    /** 0 where there was none. */
    status: number
    headers: Texts
    body: unknown
    /** The connection ended before the last byte went out. */
    isCut?: boolean
  }
  about: About
  checks: Check[]
  reason: Reason | undefined
}

/** Whoever wants to know what happens at the portal and the API. Its functions must not throw. */
export interface Observer {
  /** Called when a request has been answered or its connection has ended. */
  onStep(step: Step, request: FastifyRequest): void
  /** Where a developer reads about the step with this id, as soon as the request is answered. */
  urlOf?(stepId: string): string
}
