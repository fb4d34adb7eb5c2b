// Which hosts an address may name. Such an address can be put into a header or a page without being misread.

/** The end of a message to callers that send another host. */
export const plainHostRule = 'with a host of letters, digits, dots and hyphens'

/** `hostname` comes from the URL parser. URL parsers accept `;`, `'` and more, which would end a directive of a policy. */
export function isPlainHost(hostname: string): boolean {
  return /^([a-z0-9.-]+|\[[0-9a-f:.]+\])$/.test(hostname)
}
