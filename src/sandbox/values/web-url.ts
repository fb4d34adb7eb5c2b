// Decides which addresses are safe in a link: only http and https addresses, because a browser would execute an address
// such as `javascript:`.
import { isPlainHost } from './plain-host.ts'

/**
 * Returns true for an absolute http or https address without white space. Call this function when an address arrives,
 * and again before a page shows the address.
 */
export function isWebUrl(text: string): boolean {
  // A URL parser adds missing slashes and drops white space, so check the slashes and the white space before parsing.
  return /^https?:\/\/[^\s\\]+$/i.test(text) && URL.canParse(text) && isPlainHost(new URL(text).hostname)
}
