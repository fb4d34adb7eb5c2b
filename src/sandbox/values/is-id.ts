// What can be the id of anything here: a UUID, or what the operator named the first client.

/** What is no id is not looked for in the store: to PostgreSQL a NUL, for one, is a fault. */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(value)
}
