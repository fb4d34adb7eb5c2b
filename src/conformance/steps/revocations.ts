// Waits for the revocation of tokens, because a client may revoke them after it has answered the visitor.
import type { CheckContext } from '../context.ts'

/**
 * After the answer to a sign-out, a check waits this number of seconds for the revocation, because a client may revoke
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
