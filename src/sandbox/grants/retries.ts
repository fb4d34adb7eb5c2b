// When a client repeats a request, it has perhaps not received the answer.

/**
 * A request that arrives within this time after the same request counts as a retry. A browser may deliver one callback
 * twice, and a client may lose an answer.
 */
export const retryMs = 10_000

/**
 * Returns the time between two requests. Another instance of the sandbox may have answered the first request. If the
 * clock of that instance is ahead, `before` is later than `now`. The result is never negative, so a request does not
 * count as a retry if that clock is days ahead.
 */
export function msBetween(before: Date, now: Date): number {
  return Math.abs(now.getTime() - before.getTime())
}
