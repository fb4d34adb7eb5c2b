// What a request to the small client is while it is answered, and what it is answered with.
import type { IncomingHttpHeaders } from 'node:http'
import type { Parts } from './parts.ts'

export interface Settings {
  /** Origins, without a trailing slash. */
  publicUrl: string
  loginUrl: string
  apiUrl: string
  clientId: string
  clientSecret: string
  /** 32 bytes, shared by all replicas: everything about a visitor is sealed in his cookies. */
  key: Buffer
  print: (line: string) => void
}

export interface Visit {
  settings: Settings
  parts: Parts
  /** What this process does just now, or did a moment ago, by a name. */
  memory: Map<string, Promise<unknown>>
  method: string
  /** As it stood in the request. */
  target: string
  url: URL
  query: URLSearchParams
  headers: IncomingHttpHeaders
  /** In the order in which they came; a name may come twice. */
  cookies: [string, string][]
  body: string
  /** Goes out with whatever is answered in the end. */
  setCookies: string[]
}

export type Answer = { status: number; headers?: Record<string, string>; body?: string }
export type Login = { state: string; verifier: string; returnTo: string; at: number }
export type Callback = { code: string; state: string; subject: string; redirectUri: string }
export type Tokens = { accessToken: string; refreshToken: string | undefined; seconds: number }
export type Session = { accessToken: string; expiresAt: number; visitor: string }

/** Ends a visit with a page that says why. */
export class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** The platform refused, or could not be understood. `code` is OAuth's where there is one. */
export class PlatformFault extends Refusal {
  readonly upstream: number
  readonly code: string

  constructor(upstream: number, code = '') {
    super(upstream === 504 ? 504 : 502, 'The platform did not answer as it should. Please try again in a moment.')
    this.upstream = upstream
    this.code = code
  }
}
