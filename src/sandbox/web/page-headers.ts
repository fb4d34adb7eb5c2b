// Security headers of every page.
import type { FastifyReply } from 'fastify'
import { isPlainHost } from '../values/plain-host.ts'

/**
 * `formTargets` are the origins, already checked, to which a form of this page may lead by redirect: Chromium applies
 * form-action to the whole chain of redirects, so `'self'` alone would stop the way back to the client.
 * `hasScript` lets the portal's own scripts in; pages that show what a stranger wrote to somebody who did not ask for
 * it, consent and errors, have none. `makesCalls` lets them call where the page came from.
 */
export function setPageHeaders(
  reply: FastifyReply,
  {
    formTargets = [],
    hasScript = false,
    makesCalls = false,
  }: { formTargets?: string[]; hasScript?: boolean; makesCalls?: boolean } = {},
): void {
  reply.headers({
    'cache-control': 'no-store',
    'content-security-policy': [
      "default-src 'none'",
      "style-src 'self'",
      // Swagger UI draws its arrows with data.
      `img-src 'self'${makesCalls ? ' data:' : ''}`,
      ...(makesCalls ? ["connect-src 'self'"] : []),
      ...(hasScript ? ["script-src 'self'"] : []),
      // Looked at once more: a host with a `;` would end the directive.
      `form-action ${["'self'", ...new Set(formTargets.filter(hasPlainHost))].join(' ')}`,
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ].join('; '),
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    // Not no-referrer: browsers would then send Origin: null with our own forms, and the guard needs the Origin.
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
  })
}

function hasPlainHost(origin: string): boolean {
  return isPlainHost(new URL(origin).hostname)
}
