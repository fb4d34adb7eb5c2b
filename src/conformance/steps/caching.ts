// Reads the headers of an answer, and decides whether a cache may keep the answer.
import type { HttpExchange } from '../browser/browser.ts'
import { headerOf, statusOf } from '../findings.ts'

/** If an answer with one of these statuses does not mention caching, a cache may keep it (RFC 9110, 15.1). */
const keptByDefault = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]

/** Returns why a cache may keep the answer. Returns undefined if no cache may keep it. */
export function whyKept(exchange: HttpExchange): string | undefined {
  const control = headerOf(exchange, 'cache-control')
  if (/\bno-store\b/i.test(control ?? '')) return undefined
  if (/\b(public|immutable|s-maxage\s*=\s*"?0*[1-9]|max-age\s*=\s*"?0*[1-9])/i.test(control ?? ''))
    return `Cache-Control is ${control}`
  const expires = Date.parse(headerOf(exchange, 'expires') ?? '')
  if (control === undefined && expires > Date.now()) return `Expires is ${headerOf(exchange, 'expires')}`
  if (!keptByDefault.includes(statusOf(exchange))) return undefined
  return `its status is ${statusOf(exchange)}, and Cache-Control is ${control ?? 'missing'}`
}
