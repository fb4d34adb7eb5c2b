// Every sentence for a login that does not come to its end; the steps themselves throw typed errors without words.
import { PublicError } from '../errors.ts'
import { LoginError, type LoginErrorCode } from './protocol/authorization.ts'

const words: Record<LoginErrorCode, string> = {
  login_callback_invalid: 'This sign-in link is not complete. Please sign in again.',
  login_unknown:
    'This sign-in was started in another browser, has already ended, or took longer than ten minutes. Please sign in again.',
  login_without_cookies:
    'Signing in needs cookies, and your browser sent none. Please allow cookies for this site and sign in again. If you started in another browser, continue there.',
  login_used: 'This sign-in link has already been used. It works only once.',
  invalid_grant:
    'The login portal no longer accepts this sign-in. It has already been used, or took too long. Please sign in again.',
  token_too_long:
    'The login portal gave an access token that is too long for a cookie. Please tell the operator of this site.',
  client_misconfigured:
    'This site is not set up correctly for the login portal. It is not your fault. Please tell the operator of this site.',
}

/** A LoginError as the PublicError that visitors see; any other error as it is. */
export function inWords(error: unknown): unknown {
  if (!(error instanceof LoginError)) return error
  const { code, cause } = error
  // The visitor can do nothing about the last two.
  const status = code === 'token_too_long' || code === 'client_misconfigured' ? 502 : 400
  return new PublicError(code, status, words[code], { cause })
}
