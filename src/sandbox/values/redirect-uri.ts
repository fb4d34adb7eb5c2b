// Decides which redirect URIs can be registered, and which hosts are loopback hosts. Loopback hosts do not need TLS.
import { isPlainHost } from './plain-host.ts'

/**
 * Returns true for an absolute URI of at most 2,048 characters that uses https, or http on a loopback address. The host
 * must be an IP address, or consist of letters, digits, dots and hyphens. The URI must not contain a fragment, user
 * information, a wildcard or a comma (RFC 6749 3.1.2, RFC 9700 2.6).
 */
export function isRedirectUri(text: string): boolean {
  // Allow only printable ASCII, because the portal compares redirect URIs byte by byte when a login starts. A URL
  // parser would silently drop or re-encode other characters.
  if (text.length > 2048 || !/^https?:\/\/[\x21-\x7e]+$/i.test(text) || /[#*,\\]/.test(text)) return false
  if (!URL.canParse(text)) return false
  const url = new URL(text)
  if (url.username || url.password || !isPlainHost(url.hostname)) return false
  return url.protocol === 'https:' || isLoopback(url.hostname)
}

export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}
