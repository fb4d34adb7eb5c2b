// Checks the form of an id. Every id is a UUID, or the id that the operator has chosen for the first client.

/**
 * Before you query the store with a string from a request, check the string with this function. PostgreSQL, for
 * example, fails if the string contains the character NUL.
 */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(value)
}
