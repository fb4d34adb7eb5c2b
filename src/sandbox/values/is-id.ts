// Checks the form of an id. Every id is a UUID, or the id that the operator has chosen for the first client.

/**
 * Call this before you look up a text from a request in the store. PostgreSQL, for example, fails if the text contains
 * the character NUL.
 */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(value)
}
