// Makes the headers that describe a request's origin: Sec-Fetch-*, Origin, Referer.
import { type ReferrerPolicy, referrerFor } from './referrer.ts'
import { isTrustworthy, relate } from './site.ts'

/** The page that began a request. */
interface Initiator {
  /** `null` for a sandboxed page. */
  origin: string
  policy: ReferrerPolicy
}

export interface Cause {
  /** Undefined for an address that a person typed. */
  initiator: Initiator | undefined
  /**
   * The address of the page that began the request. After a redirect, `referrer` is the Referer of the previous
   * request.
   */
  referrer: string | undefined
  /** All addresses of the request so far: the first address, the redirects, and the current address. */
  chain: URL[]
  method: string
  mode: 'navigate' | 'no-cors' | 'cors' | 'same-origin'
  /** `document` for a page, `image` or `script` for a resource, and `empty` for a request that a script makes. */
  dest: string
  /** True if a person caused the request, by a click or by typing. */
  isByUser: boolean
}

export function originHeaders(cause: Cause): Record<string, string> {
  const { initiator, chain, referrer } = cause
  const to = chain.at(-1)!
  const origin = originFor(cause, to)
  const referer =
    initiator && referrer && initiator.origin !== 'null' ? referrerFor(referrer, initiator.policy, to) : undefined
  return {
    ...(origin === undefined ? {} : { origin }),
    ...(referer === undefined ? {} : { referer }),
    ...(isTrustworthy(to) ? fetchMetadata(cause) : {}),
  }
}

/** Returns the Sec-Fetch-* headers (W3C Fetch Metadata, 2). */
function fetchMetadata({ initiator, chain, mode, dest, isByUser }: Cause): Record<string, string> {
  const relations = initiator ? chain.map(url => relate(initiator.origin, url)) : []
  const site = !initiator
    ? 'none'
    : (['cross-site', 'same-site', 'same-origin'] as const).find(one => relations.includes(one))!
  return {
    'sec-fetch-site': site,
    'sec-fetch-mode': mode,
    ...(mode === 'navigate' && isByUser ? { 'sec-fetch-user': '?1' } : {}),
    'sec-fetch-dest': dest,
  }
}

/**
 * Returns the Origin header. Browsers send it with unsafe methods, and when a script reads from another origin (Fetch,
 * 3.1).
 */
function originFor({ initiator, chain, method, mode }: Cause, to: URL): string | undefined {
  if (!initiator) return method === 'GET' || method === 'HEAD' ? undefined : 'null'
  const isCross = relate(initiator.origin, to) !== 'same-origin'
  const isOfCors = mode === 'cors' && isCross
  if (!isOfCors && (method === 'GET' || method === 'HEAD')) return undefined
  // After a redirect from one origin to another, browsers send "null" as the origin.
  if (chain.some((url, index) => index > 0 && url.origin !== chain[index - 1]!.origin)) return 'null'
  if (isOfCors || mode === 'cors') return initiator.origin
  const { policy } = initiator
  const isDowngrade = initiator.origin.startsWith('https:') && to.protocol !== 'https:'
  const hides =
    policy === 'no-referrer' ||
    (policy === 'same-origin' && isCross) ||
    (isDowngrade && /^(no-referrer-when-downgrade|strict-origin|strict-origin-when-cross-origin)$/.test(policy))
  return hides ? 'null' : initiator.origin
}
