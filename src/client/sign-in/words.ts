// Every sentence for a login that does not come to its end; the steps themselves throw typed errors without words.
import { PublicError } from '../errors.ts'
import { LoginError, type LoginErrorCode } from './protocol/authorization.ts'

type Words = { status: number; message: string }

const words: Record<LoginErrorCode, Words> = {
  login_callback_invalid: { status: 400, message: 'This sign-in link is not complete. Please sign in again.' },
  login_unknown: {
    status: 400,
    message:
      'This sign-in was started in another browser, has already ended, or took longer than ten minutes. Please sign in again.',
  },
  login_without_cookies: {
    status: 400,
    message:
      'Signing in needs cookies, and your browser sent none. Please allow cookies for this site and sign in again. If you started in another browser, continue there.',
  },
  login_used: { status: 400, message: 'This sign-in link has already been used. It works only once.' },
  token_too_long: {
    status: 502,
    message:
      'The login portal gave an access token that is too long for a cookie. Please tell the operator of this site.',
  },
  invalid_grant: {
    status: 400,
    message:
      'The login portal no longer accepts this sign-in. It has already been used, or took too long. Please sign in again.',
  },
  client_misconfigured: {
    status: 502,
    message:
      'This site is not set up correctly for the login portal. It is not your fault. Please tell the operator of this site.',
  },
}

/** A LoginError as the PublicError that visitors see; any other error as it is. */
export function inWords(error: unknown): unknown {
  if (!(error instanceof LoginError)) return error
  const { status, message } = words[error.code]
  return new PublicError(error.code, status, message, { cause: error.cause })
}
