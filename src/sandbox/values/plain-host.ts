// Decides which hosts are allowed in an address. An address with an allowed host is safe in a header and in a page.

/** The end of an error message about an address. It says which hosts are allowed. */
export const plainHostRule = 'with a host of letters, digits, dots and hyphens'

/**
 * `hostname` must come from the URL parser. URL parsers accept characters such as `;` and `'`. These characters would
 * end a directive in a Content-Security-Policy.
 */
export function isPlainHost(hostname: string): boolean {
  return /^([a-z0-9.-]+|\[[0-9a-f:.]+\])$/.test(hostname)
}
