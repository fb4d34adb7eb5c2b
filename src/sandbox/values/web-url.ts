// Addresses that are safe in a link: http and https, and nothing that a browser would execute.
import { isPlainHost } from './plain-host.ts'

/**
 * True for an absolute http or https address without white space. Call this function when an address arrives, and again
 * before a page shows the address.
 */
export function isWebUrl(text: string): boolean {
  // URL parsers add missing slashes and drop white space, so both are checked here.
  return /^https?:\/\/[^\s\\]+$/i.test(text) && URL.canParse(text) && isPlainHost(new URL(text).hostname)
}
