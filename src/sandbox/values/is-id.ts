// The form of every id: a UUID, or the id that the operator chose for the first client.

/** The store is not asked for any other text: PostgreSQL, for example, fails on a NUL. */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(value)
}
