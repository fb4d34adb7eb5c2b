// Reads the query or the form of a request.

/**
 * Returns the values that were sent exactly once and are not empty. If `mayBeEmpty` matches the name of a value, the
 * value may be empty.
 */
export function filledTextsIn(values: unknown, mayBeEmpty?: RegExp): Record<string, string> {
  return Object.fromEntries(
    Object.entries((values ?? {}) as Record<string, unknown>).filter(
      (pair): pair is [string, string] =>
        typeof pair[1] === 'string' && (pair[1] !== '' || mayBeEmpty?.test(pair[0]) === true),
    ),
  )
}
