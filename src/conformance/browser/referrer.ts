// Makes the Referer header of a request, as the Referrer-Policy requires (W3C Referrer Policy, 8.3 and 8.4).
import { isTrustworthy } from './site.ts'

const policies = [
  'no-referrer',
  'no-referrer-when-downgrade',
  'origin',
  'origin-when-cross-origin',
  'same-origin',
  'strict-origin',
  'strict-origin-when-cross-origin',
  'unsafe-url',
] as const
export type ReferrerPolicy = (typeof policies)[number]

export const defaultPolicy: ReferrerPolicy = 'strict-origin-when-cross-origin'
const longest = 4096

/**
 * If the header lists several policies, browsers use the last policy that they know. Returns undefined if browsers know
 * none of the policies.
 */
export function readReferrerPolicy(header: string | null | undefined): ReferrerPolicy | undefined {
  const known = (header ?? '').split(',').map(part => part.trim().toLowerCase())
  return policies.find(policy => policy === known.findLast(one => policies.some(policy => policy === one)))
}

/** Old policy names that only meta elements accept. */
const oldWords: Record<string, ReferrerPolicy> = {
  never: 'no-referrer',
  default: defaultPolicy,
  always: 'unsafe-url',
  'origin-when-crossorigin': 'origin-when-cross-origin',
}

export function readMetaPolicy(content: string): ReferrerPolicy | undefined {
  return oldWords[content.trim().toLowerCase()] ?? readReferrerPolicy(content)
}

/** Returns the Referer header of a request to `to`, or undefined if the request has no such header. */
export function referrerFor(page: string, policy: ReferrerPolicy, to: URL): string | undefined {
  const from = new URL(page)
  if (!/^https?:$/.test(from.protocol)) return undefined
  const origin = `${from.origin}/`
  const bare = `${from.origin}${from.pathname}${from.search}`
  const full = bare.length > longest ? origin : bare
  const isSame = from.origin === to.origin
  const isDowngrade = isTrustworthy(from) && !isTrustworthy(to)
  switch (policy) {
    case 'no-referrer':
      return undefined
    case 'origin':
      return origin
    case 'unsafe-url':
      return full
    case 'same-origin':
      return isSame ? full : undefined
    case 'strict-origin':
      return isDowngrade ? undefined : origin
    case 'no-referrer-when-downgrade':
      return isDowngrade ? undefined : full
    case 'origin-when-cross-origin':
      return isSame ? full : origin
    case 'strict-origin-when-cross-origin':
      if (isSame) return full
      return isDowngrade ? undefined : origin
  }
}
