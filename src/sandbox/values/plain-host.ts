// Which hosts an address may name, so that it can stand in a header or on a page without being read as something else.

/** The end of a message to callers that send another host. */
export const plainHostRule = 'with a host of letters, digits, dots and hyphens'

/** For a host as the URL parser gives it. URL parsers let `;`, `'` and more through, which end a directive of a policy. */
export function isPlainHost(hostname: string): boolean {
  return /^([a-z0-9.-]+|\[[0-9a-f:.]+\])$/.test(hostname)
}
