// The security headers of the laboratory's answers, and the values that differ on its pages.

export const labHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** On the laboratory's pages, these values replace the values of the same two headers in `labHeaders`. */
export const labPageHeaders = {
  'content-security-policy': [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self'",
    "script-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; '),
  // Do not use no-referrer: browsers would then send Origin: null with forms of these pages, and the guard needs the
  // Origin.
  'referrer-policy': 'same-origin',
}
