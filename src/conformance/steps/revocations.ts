// Finds the tokens that the client revokes. A check waits for a revocation, because a client may revoke tokens after it
// has answered the visitor.
import type { Browser } from '../browser/browser.ts'
import { NotApplicable } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { fieldsOf, tokensIssuedIn } from '../tokens.ts'
import { signOut } from './sign-out.ts'

/**
 * After the answer to a sign-out, a check waits this many seconds for the revocation, because a client may revoke
 * tokens from a queue.
 */
export const revocationSeconds = 10

/** The reason that a check about revocations gives for “not applicable” when no revocation arrives in time. */
export const noRevocation = `the client does not revoke a token within ${revocationSeconds} seconds after a visitor has signed out`

/** Waits until `hasArrived()` is true. Returns false if this takes too long. */
export async function untilRevoked(
  context: CheckContext,
  hasArrived: () => boolean,
  seconds = revocationSeconds,
): Promise<boolean> {
  const end = performance.now() + seconds * 1000
  for (;;) {
    await context.platform.settle(1000)
    if (hasArrived()) return true
    if (performance.now() >= end) return false
    await context.pause(200)
  }
}

/** Waits until the client has revoked more than `known` of the tokens that the portal issued in this check. */
export async function revokesMore(context: CheckContext, known = 0, seconds?: number): Promise<boolean> {
  return untilRevoked(context, () => revokedTokens(context).length > known, seconds)
}

/** Signs a visitor in and out. Returns whether the client then revokes a token. Waits at most `seconds` for this. */
export async function revokesAtSignOut(
  context: CheckContext,
  { seconds, browser = context.browser() }: { seconds?: number; browser?: Browser } = {},
): Promise<boolean> {
  const known = revokedTokens(context).length
  const { page } = await context.signedIn({ browser })
  await signOut(context, browser, page)
  return revokesMore(context, known, seconds)
}

/** The tokens that the portal issued in this check and that the client has revoked. */
export function revokedTokens(context: CheckContext): unknown[] {
  const given = context.arrived().flatMap(tokensIssuedIn)
  return context.platform.steps
    .filter(({ kind }) => kind === 'revoke')
    .map(step => fieldsOf(step).token)
    .filter(token => token !== undefined && given.includes(token as string))
}

/** Ends the check if even a normal sign-out does not revoke a token, because the client then does not revoke tokens. */
export async function expectPlainRevocation(context: CheckContext): Promise<void> {
  if (!(await revokesAtSignOut(context))) throw new NotApplicable(noRevocation)
}
