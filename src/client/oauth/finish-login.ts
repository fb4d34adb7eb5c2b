// The second step of a login: checks what the browser brought back, and exchanges the code for tokens.
import { PublicError } from '../errors.ts'
import type { RequestContext } from '../upstream.ts'
import { type Portal, postForm, refusal } from './portal.ts'
import { readTokens, type Tokens } from './tokens.ts'

type Outcome = { code: string } | { error: string; errorDescription: string }
/** What the portal's redirect says (part 4.3 of the specification): a code, or why there is none. */
export type Callback = Outcome & { state: string; namesIssuer: boolean }

const longestParameter = 2048
const startAgain = { href: '/login', text: 'Sign in again' }

/**
 * Reads the query of the callback. The state is checked by whoever keeps the login, before anything is done with the
 * rest. Takes no value for a redirect and none for an identity: `redirect_uri` and `subject` come from the browser,
 * and whoever made the link chose them. Throws PublicError 400.
 */
export function readCallback(portal: Portal, query: Record<string, unknown>): Callback {
  const read = (name: string): string => {
    const value = query[name] ?? ''
    // RFC 6749 3.1: a parameter that stands twice (here an array) makes the whole request invalid.
    if (typeof value !== 'string') throw refuseCallback(`${name} stands twice`)
    if (value.length > longestParameter) throw refuseCallback(`${name} is too long`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
    if (/[\x00-\x1f\x7f]/.test(value)) throw refuseCallback(`${name} holds control characters`)
    return value
  }
  const [state, code, subject, clientId] = [read('state'), read('code'), read('subject'), read('client_id')]
  const [error, errorDescription, issuer] = [read('error'), read('error_description'), read('iss')]
  read('redirect_uri')

  if (!state) throw refuseCallback('no state')
  // RFC 9207: an answer of another server, mixed in.
  if (issuer && issuer.replace(/\/+$/, '') !== portal.loginUrl) throw refuseCallback('iss')
  const namesIssuer = issuer !== ''
  if (error) return { state, namesIssuer, error, errorDescription }
  if (!code) throw refuseCallback('no code')
  if (!subject) throw refuseCallback('no subject')
  if (clientId !== portal.clientId) throw refuseCallback('client_id')
  return { state, namesIssuer, code }
}

/** `detail` is for the log. */
export function refuseCallback(detail: string): PublicError {
  const message = 'This address is not a complete answer of the login portal. Please sign in again.'
  return new PublicError('login_callback_invalid', 400, message, { cause: detail, nextStep: startAgain })
}

/** Part 4.2 of the specification, server to server; sent once, whatever happens. Throws PublicError. */
export async function exchangeCode(
  portal: Portal,
  callback: { state: string; code: string },
  codeVerifier: string | undefined,
  context: RequestContext,
): Promise<Tokens> {
  const answer = await postForm(
    portal,
    '/api/exchangeToken',
    {
      grant_type: 'authorization_code',
      code: callback.code,
      redirect_uri: portal.redirectUri,
      state: callback.state,
      ...(codeVerifier ? { code_verifier: codeVerifier } : {}),
    },
    context,
  )
  if (answer.status !== 200) throw refusal(portal, answer)
  return readTokens(portal, answer, callback.state)
}
