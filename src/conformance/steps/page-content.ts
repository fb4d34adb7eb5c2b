// What the HTML of a page loads and gives away.

/** Addresses of other origins that a page loads by itself. */
export function foreignLoads(html: string, client: string): string[] {
  const loads = html.matchAll(
    /<(?:img|script|iframe|embed|source|video|audio|input)\b[^>]*?\ssrc\s*=\s*["']?([^"'\s>]+)|<link\b(?=[^>]*\brel\s*=\s*["']?(?:stylesheet|icon|preload|modulepreload))[^>]*?\shref\s*=\s*["']?([^"'\s>]+)/gi,
  )
  return [...loads]
    .map(([, src, href]) => src ?? href ?? '')
    .filter(
      address =>
        URL.canParse(address, client) &&
        /^https?:/.test(new URL(address, client).protocol) &&
        new URL(address, client).origin !== client,
    )
}

/** A stack, or a path of a source file. */
export function isInside(text: string): boolean {
  return /\bat \S+ \(?(file:|node:|\/)|node_modules|Traceback \(most recent call last\)|File "[^"]+", line \d+|\.(ts|js|py|rb|java|go):\d+|\bECONNREFUSED\b|goroutine \d+ \[/.test(
    text,
  )
}
