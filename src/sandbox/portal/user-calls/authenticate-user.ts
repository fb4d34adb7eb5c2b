// Makes sure that a call comes from the user whose e-mail it names, by the password.
import type { Services } from '../../services.ts'
import type { Credentials } from '../../store/users.ts'
import { type CallFields, requireField } from '../call-fields.ts'
import { checkPassword } from '../check-password.ts'
import { permissionDenied, tooManyRequests } from './user-call-error.ts'

/** Throws OAuthError when a field is missing, UserCallError when they are wrong, or were too often. */
export async function authenticateUser(
  parts: Pick<Services, 'store' | 'passwords' | 'clock'>,
  fields: CallFields,
  source: string,
): Promise<Credentials> {
  const email = requireField(fields, 'email')
  const password = requireField(fields, 'password')
  const checked = await checkPassword(parts, { email, password, source })
  if ('credentials' in checked) return checked.credentials
  throw checked.refusal === 'wrong' ? permissionDenied('password-wrong') : tooManyRequests(checked.retryAfterSeconds)
}
