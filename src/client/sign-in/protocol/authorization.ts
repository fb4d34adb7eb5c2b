// The way of the browser to the portal and back: the address that it is sent to, and what it brings in return.
import { hash } from 'node:crypto'
import type { RequestContext } from '../../upstream.ts'
import type { Portal, Registration } from './portal.ts'

/** Part 4.2 of the specification. `codeVerifier`: RFC 7636, undefined where the portal does not list S256. */
export function authorizeUrl(registration: Registration, state: string, codeVerifier: string | undefined): string {
  const { loginUrl, clientId, redirectUri, cancelUrl } = registration
  const parameters = new URLSearchParams({
    grant_type: 'authorization',
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    cancel_url: cancelUrl,
    state,
  })
  if (codeVerifier) {
    parameters.set('code_challenge', hash('sha256', codeVerifier, 'base64url'))
    parameters.set('code_challenge_method', 'S256')
  }
  return `${loginUrl}/?${parameters}`
}

export type LoginErrorCode =
  | 'login_callback_invalid'
  | 'login_unknown'
  | 'login_without_cookies'
  | 'login_used'
  | 'token_too_long'

/** Why a login does not come to its end. `cause` is for the log. */
export class LoginError extends Error {
  readonly code: LoginErrorCode

  constructor(code: LoginErrorCode, cause?: string) {
    super(code, { cause })
    this.code = code
  }
}

/** The query of the portal's redirect (part 4.3 of the specification); a parameter that is not there is an empty text. */
export type Callback = Record<(typeof parameters)[number], string>

/** `redirect_uri` and `subject` come from the browser: whoever made the link chose them, so nothing is done with them. */
const parameters = [
  'state',
  'code',
  'subject',
  'client_id',
  'redirect_uri',
  'error',
  'error_description',
  'iss',
] as const
const longestParameter = 2048

/** RFC 6749 3.1: no parameter comes twice. Throws LoginError, as do the checks below. */
export function readCallback(query: Record<string, unknown>): Callback {
  const read = (name: string): string => {
    const value = query[name] ?? ''
    // Two of one name are an array here.
    if (typeof value !== 'string') throw invalid(`${name} comes twice`)
    if (value.length > longestParameter) throw invalid(`${name} is too long`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
    if (/[\x00-\x1f\x7f]/.test(value)) throw invalid(`${name} holds control characters`)
    return value
  }
  return Object.fromEntries(parameters.map(name => [name, read(name)])) as Callback
}

export function checkState({ state }: Callback): void {
  if (!state) throw invalid('no state')
}

/** RFC 9207: not an answer of another server, mixed in. A portal may promise to name itself each time. */
export async function checkIssuer({ iss }: Callback, portal: Portal, context: RequestContext): Promise<void> {
  if (iss && iss.replace(/\/+$/, '') !== portal.loginUrl) throw invalid('iss')
  if (!iss && (await portal.readMetadata(context)).isIssuerRequired) throw invalid('no iss')
}

/** Part 4.3 of the specification: a code, the subject, and our own client id. */
export function checkCode({ code, subject, client_id }: Callback, portal: Portal): void {
  if (!code) throw invalid('no code')
  if (!subject) throw invalid('no subject')
  if (client_id !== portal.clientId) throw invalid('client_id')
}

function invalid(cause: string): LoginError {
  return new LoginError('login_callback_invalid', cause)
}
