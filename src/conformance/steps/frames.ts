// Reads the headers of a page, and decides whether other sites can show the page in a frame.

/**
 * Whether other sites cannot show the page in a frame. If the Content-Security-Policy has `frame-ancestors`, browsers
 * ignore X-Frame-Options (CSP 3, 6.4.2).
 */
export function isNotFramed(read: (name: string) => string | undefined | null, origin = ''): boolean {
  const ancestors = (read('content-security-policy') ?? '')
    .split(',')
    .flatMap(
      policy => /(?:^|;)\s*frame-ancestors(?:\s+([^;]*))?(?:;|$)/i.exec(policy)?.map(text => text ?? '')[1] ?? [],
    )
  if (ancestors.length === 0) return /^\s*(deny|sameorigin)\s*(,|$)/i.test(read('x-frame-options') ?? '')
  return ancestors.some(sources =>
    sources
      .trim()
      .split(/\s+/)
      .every(source => ['', "'none'", "'self'", origin.toLowerCase()].includes(source.toLowerCase())),
  )
}
