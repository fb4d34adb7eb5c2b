// The addresses of a login: the portal's own path that starts the login, and the addresses to which the portal sends
// the browser back (AZ-09).
import type { LoginRefusal, LoginRequest, StartReason } from '../grants/login-request.ts'
import { type AnswerTable, answerIn } from '../observe/refusal.ts'

/** Returns the path that starts this login. The visitor comes back to this path after signing in. */
export function loginPath(login: LoginRequest): string {
  return addToUrl('/', {
    grant_type: 'authorization',
    response_type: 'code',
    client_id: login.application.id,
    redirect_uri: login.redirectUri,
    cancel_url: login.cancelUrl,
    state: login.state,
    code_challenge: login.codeChallenge,
    code_challenge_method: login.codeChallenge && 'S256',
  })
}

/** Returns the redirect URI with the code and the other parameters, including `iss` (RFC 9207). */
export function codeUrl(
  login: LoginRequest,
  { code, userId, issuer }: { code: string; userId: string; issuer: string },
) {
  return addToUrl(login.redirectUri, {
    code,
    redirect_uri: login.redirectUri,
    subject: userId,
    client_id: login.application.id,
    state: login.state,
    iss: issuer,
  })
}

export function declinedUrl({ cancelUrl, state }: LoginRequest): string {
  return addToUrl(cancelUrl, { error: 'access_denied', state })
}

export function loginErrorUrl(refusal: LoginRefusal, issuer: string): string {
  const { error, description } = loginErrorOf(refusal)
  return addToUrl(refusal.redirectUri, { error, error_description: description, state: refusal.state, iss: issuer })
}

type LoginError = [error: string, description: string]

/** The errors that the portal sends to the client if the client's request cannot start a login (RFC 6749 4.1.2.1). */
const loginErrors: Required<Pick<AnswerTable<LoginError>, StartReason>> = {
  'field-repeated': ({ field }) => ['invalid_request', `${field} was given more than once.`],
  'field-missing': ({ field }) => [
    'invalid_request',
    field === 'grant_type' ? 'grant_type must be authorization.' : `${field} is missing.`,
  ],
  'response-type-unsupported': ['unsupported_response_type', 'response_type must be code.'],
  'grant-type-unsupported': ['invalid_request', 'grant_type must be authorization.'],
  'cancel-url-foreign': [
    'invalid_request',
    'cancel_url must be given, and have the origin of a registered redirect URI.',
  ],
  'field-too-long': ({ field, limit }) => ['invalid_request', `${field} is longer than ${limit}.`],
  'challenge-invalid': ({ field, isMissing }) => {
    if (isMissing) return ['invalid_request', 'code_challenge_method came without a code_challenge.']
    return field === 'code_challenge_method'
      ? ['invalid_request', 'code_challenge_method must be S256.']
      : ['invalid_request', 'code_challenge must be 43 characters of base64url.']
  },
}

export function loginErrorOf(refusal: LoginRefusal): { error: string; description: string } {
  // The type of the table makes sure that it has an answer for every StartReason.
  const [error, description] = answerIn(loginErrors, refusal)!
  return { error, description }
}

/**
 * Adds parameters to an address. The function does not change the address itself. A space becomes %20, not +, because
 * all decoders understand %20. Undefined parameters are left out.
 */
function addToUrl(url: string, parameters: Record<string, string | undefined>): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  return `${url}${url.includes('?') ? '&' : '?'}${pairs.join('&')}`
}
