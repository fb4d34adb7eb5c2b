// The form of every id: a UUID, or the id that the operator chose for the first client.

/** No other text is looked up in the store. PostgreSQL, for example, fails on a NUL character. */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(value)
}
