// The reasons why a login fails. The messages are in sign-in/texts.ts.
import { PublicError } from '../../errors.ts'

const statuses = {
  login_callback_invalid: 400,
  login_unknown: 400,
  login_without_cookies: 400,
  login_used: 400,
  invalid_grant: 400,
  other_user: 409,
  // The cause of the following errors is the portal or this site, not the visitor.
  user_unknown: 502,
  no_refresh_token: 502,
  not_connected: 500,
  token_too_long: 502,
  client_misconfigured: 502,
} as const

export class LoginError extends PublicError {
  /** `detail` is written to the log, so it must not contain secrets. */
  constructor(code: keyof typeof statuses, detail?: string) {
    super(code, statuses[code], texts => texts.signIn.loginErrors[code], {
      cause: detail,
      title: texts => texts.signIn.loginFailed,
    })
  }
}
