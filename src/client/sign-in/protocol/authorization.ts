// The way of the browser to the portal and back: the address that it is sent to, and what it brings in return.
import { hash } from 'node:crypto'
import type { PublicError } from '../../errors.ts'
import type { Secret } from '../../secret.ts'
import { isRecord, type RequestContext, type Upstream } from '../../upstream.ts'
import { describeCause } from '../../web/error-pages.ts'

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

/** What the portal says of itself (RFC 8414). It decides what is sent, and never where: every address is a setting. */
export type Metadata = { usesPkce: boolean; isIssuerRequired: boolean; revokes: boolean; hasSignOutPage: boolean }

/** For what happens outside a request, too. */
export type Logger = { info: (entry: object) => void; warn: (entry: object) => void }

/** Never fails: without a document a login goes on exactly as the specification has it. */
type ReadMetadata = (context: RequestContext) => Promise<Metadata>

const metadataLimits = { deadlineMs: 1_000, maxBytes: 64 * 1024 }
const metadataFreshMs = 60 * 60 * 1000
const retryAfterMs = 30 * 1000
const nothingOffered: Metadata = { usesPkce: false, isIssuerRequired: false, revokes: false, hasSignOutPage: false }

/** Part 4.2 of the specification. `codeVerifier`: RFC 7636, undefined where the portal does not list S256. */
export function authorizeUrl(registration: Registration, state: string, codeVerifier: string | undefined): string {
  const { loginUrl, clientId, redirectUri, cancelUrl } = registration
  const parameters = new URLSearchParams({
    grant_type: 'authorization',
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    cancel_url: cancelUrl,
    state,
  })
  if (codeVerifier) {
    parameters.set('code_challenge', hash('sha256', codeVerifier, 'base64url'))
    parameters.set('code_challenge_method', 'S256')
  }
  return `${loginUrl}/?${parameters}`
}

export type LoginErrorCode =
  | 'login_callback_invalid'
  | 'login_unknown'
  | 'login_without_cookies'
  | 'login_used'
  | 'token_too_long'
  | 'invalid_grant'
  | 'client_misconfigured'

/** Why a login does not come to its end; the last two are what the portal says (RFC 6749 5.2). `cause` is for the log. */
export class LoginError extends Error {
  readonly code: LoginErrorCode

  constructor(code: LoginErrorCode, cause?: string) {
    super(code, { cause })
    this.code = code
  }
}

/** `redirect_uri` and `subject` come from the browser: whoever made the link chose them, so nothing is done with them. */
const parameters = [
  'state',
  'code',
  'subject',
  'client_id',
  'redirect_uri',
  'error',
  'error_description',
  'iss',
] as const
const longestParameter = 2048

/** The query of the portal's redirect (part 4.3 of the specification); a parameter that is not there is an empty text. */
export type Callback = Record<(typeof parameters)[number], string>

/** RFC 6749 3.1: no parameter comes twice. Throws LoginError, as do the checks below. */
export function readCallback(query: Record<string, unknown>): Callback {
  const read = (name: string): string => {
    const value = query[name] ?? ''
    // Two of one name are an array here.
    if (typeof value !== 'string') throw invalid(`${name} comes twice`)
    if (value.length > longestParameter) throw invalid(`${name} is too long`)
    if (/\p{Cc}/u.test(value)) throw invalid(`${name} holds control characters`)
    return value
  }
  return Object.fromEntries(parameters.map(name => [name, read(name)])) as Callback
}

export function checkState({ state }: Callback): void {
  if (!state) throw invalid('no state')
}

/** RFC 9207: not an answer of another server, mixed in. A portal may promise to name itself each time. */
export async function checkIssuer(
  { iss }: Callback,
  portal: Registration & { readMetadata: ReadMetadata },
  context: RequestContext,
): Promise<void> {
  if (iss && iss.replace(/\/+$/, '') !== portal.loginUrl) throw invalid('iss')
  if (!iss && (await portal.readMetadata(context)).isIssuerRequired) throw invalid('no iss')
}

/** Part 4.3 of the specification: a code, the subject, and our own client id. */
export function checkCode({ code, subject, client_id }: Callback, portal: Registration): void {
  if (!code) throw invalid('no code')
  if (!subject) throw invalid('no subject')
  if (client_id !== portal.clientId) throw invalid('client_id')
}

function invalid(cause: string): LoginError {
  return new LoginError('login_callback_invalid', cause)
}

/**
 * Reads the document once an hour, and never holds a request up for more than a second. What the portal once offered is
 * not forgotten because the document cannot be read now: only another document of the portal changes it. Until the
 * document has been read once, every login and sign-out tries again, unless the portal itself says that it has none.
 */
export function createMetadataReader(
  registration: Registration,
  upstream: Upstream,
  clock: () => Date,
  logger: Logger,
): ReadMetadata {
  let known: Metadata | undefined
  let latest = Promise.resolve<Metadata>(nothingOffered)
  let isReading = false
  let askedAt = 0
  let freshMs = 0

  return context => {
    const now = clock().getTime()
    // A clock that was set back must not make it good for longer.
    const isFresh = now >= askedAt && now < askedAt + freshMs
    if (!isReading && !isFresh) {
      isReading = true
      askedAt = now
      latest = read(context).finally(() => {
        isReading = false
      })
    }
    return latest
  }

  async function read(context: RequestContext): Promise<Metadata> {
    try {
      known = await fetchMetadata(registration, upstream, context)
      freshMs = metadataFreshMs
      return known
    } catch (error) {
      const { code, cause } = error as PublicError
      const isAnswer = code === 'portal_unexpected'
      freshMs = known || isAnswer ? retryAfterMs : 0
      // The specification knows no such document, so a portal need not have one.
      const level = cause === 'status 404' && !known ? 'info' : 'warn'
      const { requestId: reqId } = context
      logger[level]({ event: 'portal_metadata_unread', reqId, reason: code, cause: describeCause(cause) })
      return known ?? nothingOffered
    }
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
  const answer = await upstream.send({ method: 'GET', url, context, ...metadataLimits })
  if (answer.status !== 200) throw upstream.unusable(answer)
  const document = isRecord(answer.json) ? answer.json : {}
  // RFC 8414 3.3: a document that names another issuer is not this portal's.
  if (String(document.issuer).replace(/\/+$/, '') !== loginUrl) throw upstream.unexpected('no document of this portal')
  const methods = document.code_challenge_methods_supported
  return {
    usesPkce: Array.isArray(methods) && methods.includes('S256'),
    isIssuerRequired: document.authorization_response_iss_parameter_supported === true,
    revokes: typeof document.revocation_endpoint === 'string',
    hasSignOutPage: typeof document.end_session_endpoint === 'string',
  }
}
