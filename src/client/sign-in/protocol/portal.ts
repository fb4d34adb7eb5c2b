// The login portal: this client's registration there, what the portal says of itself, and how to post a form to it.
import type { Secret } from '../../secret.ts'
import { type Answer, isRecord, type RequestContext, type Upstream } from '../../upstream.ts'

/** This client's registration at the portal. */
export type Registration = {
  /** The portal's public address, which is also its issuer name (RFC 8414); browsers are sent there. */
  loginUrl: string
  /** The same portal, as this server reaches it. */
  loginInternalUrl: string
  clientId: string
  clientSecret: Secret
  redirectUri: string
  cancelUrl: string
}

export type Portal = Registration & { upstream: Upstream; readMetadata: ReturnType<typeof createMetadataReader> }

/** What the portal says of itself (RFC 8414). It decides what is sent, and never where: every address is a setting. */
export type Metadata = { usesPkce: boolean; isIssuerRequired: boolean; revokes: boolean }

export type RefusalCode = 'invalid_grant' | 'client_misconfigured'

/** A refusal of the token endpoint (RFC 6749 5.2). `cause` is for the log. */
export class PortalRefusal extends Error {
  readonly code: RefusalCode

  constructor(code: RefusalCode, cause?: string) {
    super(code, { cause })
    this.code = code
  }
}

const maxBytes = 64 * 1024
const nothing: Metadata = { usesPkce: false, isIssuerRequired: false, revokes: false }
const metadataFreshMs = 60 * 60 * 1000
const retryAfterMs = 30 * 1000
const metadataDeadlineMs = 1_000

export function createPortal(registration: Registration, upstream: Upstream, clock: () => Date): Portal {
  return { ...registration, upstream, readMetadata: createMetadataReader(registration, upstream, clock) }
}

/**
 * Asks at most once an hour, and never holds anybody up for more than a second. What the portal once offered is not
 * forgotten because it cannot be read just now: only another document of the portal changes it.
 */
function createMetadataReader(registration: Registration, upstream: Upstream, clock: () => Date) {
  let latest = Promise.resolve(nothing)
  let askedAt = 0
  let freshMs = 0

  /** Never fails: without a document a login goes on exactly as the specification has it. */
  return (context: RequestContext): Promise<Metadata> => {
    const now = clock().getTime()
    // A clock that was set back must not make it good for longer.
    if (now >= askedAt && now < askedAt + freshMs) return latest
    askedAt = now
    freshMs = metadataFreshMs
    const before = latest
    latest = fetchMetadata(registration, upstream, context).catch(() => {
      freshMs = retryAfterMs
      return before
    })
    return latest
  }
}

async function fetchMetadata(
  { loginUrl, loginInternalUrl }: Registration,
  upstream: Upstream,
  context: RequestContext,
): Promise<Metadata> {
  const at = new URL(loginInternalUrl)
  // RFC 8414 3.1: the path of the issuer goes behind the well-known part, not before it.
  const url = `${at.origin}/.well-known/oauth-authorization-server${at.pathname.replace(/\/$/, '')}`
  const answer = await upstream.send({ method: 'GET', url, ...context, deadlineMs: metadataDeadlineMs, maxBytes })
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

/** RFC 6749 2.3.1: the client secret goes into the body, and nowhere else. */
export function postForm(
  { upstream, loginInternalUrl, clientId, clientSecret }: Registration & { upstream: Upstream },
  path: '/api/exchangeToken' | '/api/revokeToken',
  fields: Record<string, string>,
  context: RequestContext,
  deadlineMs = 5_000,
): Promise<Answer> {
  const form = new URLSearchParams({ ...fields, client_id: clientId, client_secret: clientSecret.reveal() })
  return upstream.send({
    method: 'POST',
    url: loginInternalUrl + path,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
    ...context,
    deadlineMs,
    maxBytes,
  })
}

/** The portal answers invalid_grant with 401 and others with 400: the word decides, not the status. */
export function readRefusal({ upstream }: Portal, answer: Answer): Error {
  if (answer.status === 429 || answer.status >= 500) return upstream.unavailable(answer)
  const error = isRecord(answer.json) ? answer.json.error : undefined
  if (typeof error !== 'string' || answer.status < 400) return upstream.unexpected(`status ${answer.status}`)
  if (error === 'invalid_grant') return new PortalRefusal('invalid_grant')
  const known = /^[a-z_]{1,40}$/.test(error) ? error : 'an unknown error'
  return new PortalRefusal('client_misconfigured', `status ${answer.status}, ${known}`)
}
