// What a password may be: where an account is made, where it is changed and where it is reset.
import { longestPassword } from '../people/passwords.ts'
import { normaliseEmail } from '../store/users.ts'
import { isLonger } from '../values/text-length.ts'

/** Also said on the pages before anybody types. */
export const shortestPassword = 8

/** Undefined for a password that is good. Length counts, not the kind of characters; nothing is cut off, trimmed or folded. */
export function findPasswordProblem(password: string, email: string): string | undefined {
  if (isLonger(password, longestPassword)) return `Use ${longestPassword} characters or fewer.`
  if (!isLonger(password, shortestPassword - 1)) return `Use at least ${shortestPassword} characters.`
  // Half a surrogate pair would be hashed as another character.
  if (!password.isWellFormed()) return 'Use only letters, numbers and symbols.'
  const address = normaliseEmail(email)
  // Empty is what is no address, and then there is nothing to compare with.
  if (address !== '' && [address, address.split('@')[0]].includes(normaliseEmail(password)))
    return 'Choose a password that is not your e-mail address.'
  return undefined
}
