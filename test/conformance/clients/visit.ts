// The types of a request to the small client and of its answer.
import type { IncomingHttpHeaders } from 'node:http'
import type { Behaviour } from './behaviour.ts'

export interface Settings {
  /** Origins, without a trailing slash. */
  publicUrl: string
  loginUrl: string
  apiUrl: string
  /** The address of the callback, as it is registered with the portal. */
  redirectUri: string
  clientId: string
  clientSecret: string
  /**
   * 32 bytes, the same for all instances. With this key, the client seals the cookies that contain the data of a
   * visitor.
   */
  key: Buffer
  print: (line: string) => void
}

export interface Visit {
  settings: Settings
  behaviour: Behaviour
  /**
   * The data in the memory of this process, keyed by name. Another instance does not have this data, and a restart
   * deletes it.
   */
  memory: Map<string, unknown>
  method: string
  /** The request target, unchanged. */
  target: string
  url: URL
  query: URLSearchParams
  headers: IncomingHttpHeaders
  /** The cookies, in the order in which the request lists them. Several cookies can have the same name. */
  cookies: [string, string][]
  body: string
  /** The Set-Cookie headers of the answer. */
  setCookies: string[]
}

export type Answer = { status: number; headers?: Record<string, string>; body?: string }
export type Login = { state: string; verifier: string; returnTo: string; at: number }
export type Callback = { code: string; state: string; subject: string; redirectUri: string }
export type Tokens = { accessToken: string; refreshToken: string | undefined; seconds: number }
export type Session = { accessToken: string; expiresAt: number; visitor: string }

/** Thrown to answer a request with a page that shows the reason. */
export class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/**
 * Thrown if the platform refuses a call or sends an unreadable answer. `code`: the OAuth error code, if the answer has
 * one.
 */
export class PlatformError extends Refusal {
  readonly upstream: number
  readonly code: string

  constructor(upstream: number, code = '') {
    super(upstream === 504 ? 504 : 502, 'The platform did not answer as it should. Please try again in a moment.')
    this.upstream = upstream
    this.code = code
  }
}
