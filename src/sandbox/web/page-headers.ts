// Shows pages with their security headers.
import type { FastifyReply } from 'fastify'
import { isPlainHost } from '../values/plain-host.ts'

/**
 * `formTargets` are the origins to which a form on this page can redirect. The caller has checked these origins.
 * Chromium applies form-action to the whole chain of redirects, so with only `'self'` it would block the redirect back
 * to the client. `hasScript` allows the portal's own scripts. The consent page has no scripts, because it shows text
 * that a stranger has written.
 */
export function setPageHeaders(
  reply: FastifyReply,
  { formTargets = [], hasScript = false }: { formTargets?: string[]; hasScript?: boolean } = {},
): void {
  reply.headers({
    'cache-control': 'no-store',
    'content-security-policy': [
      "default-src 'none'",
      "style-src 'self'",
      "img-src 'self'",
      ...(hasScript ? ["script-src 'self'"] : []),
      // Check the origins once more, because a host with a `;` would end the directive.
      `form-action ${["'self'", ...new Set(formTargets.filter(hasPlainHost))].join(' ')}`,
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ].join('; '),
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    // Do not use no-referrer: browsers would then send Origin: null with our own forms, and the guard needs the Origin.
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
  })
}

/**
 * Shows the page views/sandbox/name.eta, inside the layout. The Content-Security-Policy of the page allows its scripts,
 * and redirects of its forms to the origins `formTargets`.
 */
export function showPage(
  reply: FastifyReply,
  name: string,
  {
    formTargets = [],
    scripts = [],
    ...data
  }: { title: string; scripts?: string[]; formTargets?: string[] } & Record<string, unknown>,
) {
  setPageHeaders(reply, { formTargets, hasScript: scripts.length > 0 })
  return reply.viewAsync(name, { scripts, ...data })
}

function hasPlainHost(origin: string): boolean {
  return isPlainHost(new URL(origin).hostname)
}
