// The headers of every answer, set before anything can go wrong.

type Addresses = { publicUrl: string; loginUrl: string }

export function securityHeaders({ publicUrl, loginUrl }: Addresses): Record<string, string> {
  const headers: Record<string, string> = {
    // Chromium applies form-action to where a form's answer redirects, too: a form may end at the login portal.
    'content-security-policy':
      "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; object-src 'none'; base-uri 'none'; " +
      `frame-ancestors 'none'; form-action 'self' ${new URL(loginUrl).origin}`,
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    // Not no-referrer: that makes browsers send "Origin: null" with our own forms.
    'referrer-policy': 'same-origin',
    'cache-control': 'no-store',
  }
  // For this host alone, since other names below it are not ours to decide about.
  if (publicUrl.startsWith('https:')) headers['strict-transport-security'] = 'max-age=31536000'
  return headers
}
