// Makes the address that leads the browser to the portal, and checks the parameters of the callback.
import { hash } from 'node:crypto'
import type { RequestContext } from '../../upstream.ts'
import { LoginError } from './login-error.ts'
import type { Portal, Registration } from './portal.ts'

/**
 * Returns the address that starts a login (rule start-parameters). If `codeVerifier` is given, the address contains a
 * PKCE challenge (RFC 7636). Pass undefined if the portal does not support S256.
 */
export function authorizationUrl(registration: Registration, state: string, codeVerifier: string | undefined): string {
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

/**
 * `redirect_uri` and `subject` come from the browser and may be forged. The client checks only the syntax of these two
 * values, and does not use them.
 */
const callbackParameters = [
  'state',
  'code',
  'subject',
  'client_id',
  'redirect_uri',
  'error',
  'error_description',
  'iss',
] as const
const maxParameterLength = 2048

/** The parameters of the callback (rule callback-required-parameters). A missing parameter is an empty string. */
export type Callback = Record<(typeof callbackParameters)[number], string>

type Query = Record<string, unknown>

/**
 * Throws LoginError if `state` is missing or faulty. Later, the login cookie shows whether the `state` belongs to this
 * browser.
 */
export function readState(query: Query): string {
  const state = readParameter(query, 'state')
  if (!state) throw invalidCallback('no state')
  return state
}

/** Throws LoginError if a parameter is faulty. */
export function readCallback(query: Query): Callback {
  return Object.fromEntries(callbackParameters.map(name => [name, readParameter(query, name)])) as Callback
}

/** A parameter of the callback must not appear twice (RFC 6749 3.1). */
function readParameter(query: Query, name: (typeof callbackParameters)[number]): string {
  const value = query[name] ?? ''
  // If a parameter appears twice, its value is an array.
  if (typeof value !== 'string') throw invalidCallback(`${name} appears twice`)
  if (value.length > maxParameterLength) throw invalidCallback(`${name} is too long`)
  if (/\p{Cc}/u.test(value)) throw invalidCallback(`${name} contains control characters`)
  return value
}

/**
 * Throws LoginError if the callback comes from another authorization server (RFC 9207). Also throws LoginError if the
 * parameter `iss` is missing, but the portal's metadata says that the portal always sends it.
 */
export async function checkIssuer({ iss }: Callback, portal: Portal, context: RequestContext): Promise<void> {
  if (iss && iss.replace(/\/+$/, '') !== portal.registration.loginUrl) throw invalidCallback('iss')
  if (!iss && (await portal.readMetadata(context)).isIssuerRequired) throw invalidCallback('no iss')
}

/**
 * Throws LoginError if the code or the subject is missing, or if the client id belongs to another client
 * (rule callback-required-parameters).
 */
export function checkCode({ code, subject, client_id }: Callback, portal: Portal): void {
  if (!code) throw invalidCallback('no code')
  // RFC 6749, appendix A.11: a code consists of printable ASCII characters (CL-16).
  if (!/^[\x20-\x7e]+$/.test(code)) throw invalidCallback('code contains characters that a code cannot have')
  if (!subject) throw invalidCallback('no subject')
  if (client_id !== portal.registration.clientId) throw invalidCallback('client_id')
}

function invalidCallback(detail: string): LoginError {
  return new LoginError('login_callback_invalid', detail)
}
