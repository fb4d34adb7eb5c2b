// Waits for the revocation of tokens, because a client may revoke them after it has answered the visitor.
import type { CheckContext } from '../context.ts'

/** How many seconds after the answer to a sign-out a check waits for the revocation. */
export const revocationSeconds = 3

/** The reason for checks that judge a revocation, if none arrives. */
export const noRevocation = `the client revokes no token within ${revocationSeconds} seconds after a visitor has signed out`

/** Waits until the revocation has arrived. Returns false if it has not arrived in time. */
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
