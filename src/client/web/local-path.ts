// Decides which address a visitor may be led back to: a path of this site, and nothing else.

const longest = 200

/**
 * The path as given, or undefined. Two independent checks, because browsers drop tabs and turn backslashes: an allowed
 * alphabet, and where the URL parser that browsers share would really go. The result starts with exactly one slash.
 */
export function localPath(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  if (!/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(value)) return undefined
  const here = 'http://here.invalid'
  const url = URL.parse(value, here)
  if (!url || url.origin !== here || url.pathname.startsWith('//')) return undefined
  const path = url.pathname + url.search
  // Only now, because the parser spells some characters in three.
  return path.length <= longest ? path : undefined
}
