// Lets nothing begin that signing out everywhere has just ended.
import { lockProof, type Proof } from '../store/proof.ts'
import type { Db } from '../store/schema.ts'
import { PageError } from './error-pages.ts'

/** In the transaction that makes a code or a token. `next` is a local path to begin anew at. Throws PageError 403. */
export async function requireProof(
  db: Db,
  { userId, proof }: { userId: string; proof: Proof },
  next: string,
): Promise<void> {
  if (await lockProof(db, userId, proof)) return
  const what = 'sessionHash' in proof ? 'You were signed out' : 'Your password was changed'
  throw new PageError(403, `${what} in the meantime. Sign in again to continue.`, {
    next: { href: next, label: 'Sign in' },
    reason: 'not-allowed',
  })
}
