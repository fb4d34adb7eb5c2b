// Every sentence for a login that does not come to its end; the steps themselves throw typed errors without words.
import { PublicError } from '../errors.ts'
import { LoginError, type LoginErrorCode } from './protocol/authorization.ts'

type Words = { status: number; message: string }

const words: Record<LoginErrorCode, Words> = {
  login_callback_invalid: {
    status: 400,
    message: 'This address is not a complete answer of the login portal. Please sign in again.',
  },
  login_unknown: {
    status: 400,
    message:
      'This sign-in was not begun in this browser, or it is over, or took longer than ten minutes. Please sign in again.',
  },
  login_without_cookies: {
    status: 400,
    message:
      'Your browser sent no cookie of this site, and cookies are required for signing in. Please allow them and sign in again; or, if you began in another browser, go on there.',
  },
  login_used: { status: 400, message: 'This sign-in link was used already: it is good only once.' },
  token_too_long: {
    status: 502,
    message: 'The login portal gave an access token that is too long for a cookie. Its operator has to shorten it.',
  },
  invalid_grant: {
    status: 400,
    message:
      'The login portal no longer accepts this sign-in: it was used already or took too long. Please sign in again.',
  },
  client_misconfigured: {
    status: 502,
    message:
      'The login portal refused this client. That is a fault of its settings and not of yours; its operator can read more in the log.',
  },
}

/** A LoginError as the PublicError that visitors see; any other error as it is. */
export function inWords(error: unknown): unknown {
  if (!(error instanceof LoginError)) return error
  const { status, message } = words[error.code]
  return new PublicError(error.code, status, message, { cause: error.cause })
}
