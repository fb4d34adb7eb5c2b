// Gives an account a new password, and ends whatever the one before has opened.
import type { Services } from '../services.ts'
import { signOutEverywhere } from '../store/sign-out-everywhere.ts'
import { type Credentials, replacePasswordHash } from '../store/users.ts'

/**
 * Ends every session at the portal and every grant (RFC 9700 4.14.2); marks of known browsers end with the password.
 * Undefined, and nothing is done, where the password was changed since `credentials` were read: of two at once one
 * counts. Throws Busy.
 */
export async function changePassword(
  { store, passwords, clock }: Pick<Services, 'store' | 'passwords' | 'clock'>,
  credentials: Credentials,
  { password, source }: { password: string; source: string },
): Promise<Credentials | undefined> {
  const { userId } = credentials
  const passwordHash = await passwords.hash(password, source)
  const isChanged = await store.transaction(async db => {
    if (!(await replacePasswordHash(db, credentials, passwordHash))) return false
    await signOutEverywhere(db, userId, clock())
    return true
  })
  return isChanged ? { userId, passwordHash } : undefined
}
