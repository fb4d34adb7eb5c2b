// Parameters for an address that somebody else has made.

/**
 * Adds parameters and keeps what is there, byte by byte. Spaces become %20, not +: both kinds of decoder understand it.
 * Parameters that are undefined are left out.
 */
export function addToUrl(url: string, parameters: Record<string, string | undefined>): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  return `${url}${url.includes('?') ? '&' : '?'}${pairs.join('&')}`
}
