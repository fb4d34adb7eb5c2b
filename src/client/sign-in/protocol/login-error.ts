// The reasons for which a login fails, with the message that the visitor sees.
import { PublicError } from '../../errors.ts'

/** The status and the message of each error. */
const errors = {
  login_callback_invalid: [400, 'This sign-in link is not complete. Please sign in again.'],
  login_unknown: [
    400,
    'This sign-in was started in another browser, has already ended, or took longer than ten minutes. Please sign in again.',
  ],
  login_without_cookies: [
    400,
    'Signing in needs cookies, and your browser sent none. Please allow cookies for this site and sign in again. Some browsers keep no secure cookies on http addresses: use https or another browser. If you started in another browser, continue there.',
  ],
  login_used: [400, 'This sign-in link has already been used. It works only once.'],
  invalid_grant: [
    400,
    'The login portal no longer accepts this sign-in. It has already been used, or took too long. Please sign in again.',
  ],
  other_user: [
    409,
    'You signed in at the login portal as somebody else than here, so nothing was connected. Sign out at the portal, then try again.',
  ],
  // The visitor can do nothing about the next ones.
  user_unknown: [
    502,
    'The login portal does not say who you are, so nothing can be connected. Please tell the operator of this site.',
  ],
  no_refresh_token: [
    502,
    'The login portal gave no lasting access, so nothing was connected. Please tell the operator of this site.',
  ],
  not_connected: [500, 'This site could not keep the connection, so nothing was connected. Please try again.'],
  token_too_long: [
    502,
    'The login portal gave an access token that is too long for a cookie. Please tell the operator of this site.',
  ],
  client_misconfigured: [
    502,
    'This site is not set up correctly for the login portal. It is not your fault. Please tell the operator of this site.',
  ],
} as const satisfies Record<string, readonly [status: number, message: string]>

export class LoginError extends PublicError {
  /** `detail` is for the log. It must not quote anything secret. */
  constructor(code: keyof typeof errors, detail?: string) {
    const [status, message] = errors[code]
    super(code, status, message, { cause: detail })
  }
}
