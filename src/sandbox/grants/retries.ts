// Tells whether a repeated request may be a retry by a client that has not received the answer.

/**
 * A request that arrives within this time after the same request counts as a retry. A browser may deliver one callback
 * twice, and a client may lose an answer.
 */
export const retryMs = 10_000

/**
 * Returns the time between two requests, without a sign. Another instance of the sandbox may have answered the first
 * request. If the clock of that instance is days ahead, the second request therefore does not count as a retry.
 */
export function msBetween(before: Date, now: Date): number {
  return Math.abs(now.getTime() - before.getTime())
}
