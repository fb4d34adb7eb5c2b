// What the portal says of itself (RFC 8414): whether it takes PKCE, names itself on the redirect, and revokes tokens.
import { isRecord, type RequestContext } from '../upstream.ts'
import type { Portal } from './portal.ts'

/** It decides what is sent, and never where: every address comes from the settings. */
export type Metadata = { usesPkce: boolean; isIssuerRequired: boolean; revokes: boolean }

export type PortalMetadata = ReturnType<typeof createPortalMetadata>

const nothing: Metadata = { usesPkce: false, isIssuerRequired: false, revokes: false }
const keepMs = 60 * 60 * 1000
const retryAfterMs = 30 * 1000
const deadlineMs = 1_000

/**
 * Asks at most once an hour, and never holds anybody up for more than a second. What the portal once offered is not
 * forgotten because it cannot be read just now: only another document of the portal changes it.
 */
export function createPortalMetadata(portal: Portal, clock: () => Date) {
  let latest = Promise.resolve(nothing)
  let askedAt = 0
  let goodForMs = 0

  return {
    /** Never fails: without a document a login goes on exactly as the specification has it. */
    read(context: RequestContext): Promise<Metadata> {
      const now = clock().getTime()
      // A clock that was set back must not make it good for longer.
      if (now >= askedAt && now < askedAt + goodForMs) return latest
      askedAt = now
      goodForMs = keepMs
      const before = latest
      latest = fetchMetadata(portal, context).catch(() => {
        goodForMs = retryAfterMs
        return before
      })
      return latest
    },
  }
}

async function fetchMetadata(portal: Portal, context: RequestContext): Promise<Metadata> {
  const { upstream, loginUrl, loginInternalUrl } = portal
  const at = new URL(loginInternalUrl)
  // RFC 8414 3.1: the path of the issuer goes behind the well-known part, not before it.
  const url = `${at.origin}/.well-known/oauth-authorization-server${at.pathname.replace(/\/$/, '')}`
  const answer = await upstream.send({ method: 'GET', url, ...context, deadlineMs, maxBytes: 64 * 1024 })
  const document = answer.status === 200 && isRecord(answer.json) ? answer.json : {}
  // RFC 8414 3.3: a document that names another issuer is not this portal's.
  if (String(document.issuer).replace(/\/+$/, '') !== loginUrl) throw upstream.unexpected('no document of this portal')
  const methods = document.code_challenge_methods_supported
  return {
    usesPkce: Array.isArray(methods) && methods.includes('S256'),
    isIssuerRequired: document.authorization_response_iss_parameter_supported === true,
    revokes: typeof document.revocation_endpoint === 'string',
  }
}
