// Calls to the login portal: metadata, code exchange, renewal, revocation and the visitor's name.
import { describeCause } from '../../errors.ts'
import { ExpiringMap } from '../../expiring-map.ts'
import type { Secret } from '../../secret.ts'
import { type Answer, isRecord, type RequestContext, type Upstream } from '../../upstream.ts'
import { LoginError } from './login-error.ts'

/** This client's registration at the portal. */
export type Registration = {
  /** The portal's public address, for browsers. This address is also the portal's issuer identifier (RFC 8414). */
  loginUrl: string
  /** The address at which this server reaches the portal. */
  loginInternalUrl: string
  clientId: string
  clientSecret: Secret
  redirectUri: string
  cancelUrl: string
}

/**
 * The features that the portal's metadata document lists (RFC 8414). The client does not use the addresses in this
 * document, because all addresses are settings.
 */
type Metadata = { usesPkce: boolean; isIssuerRequired: boolean; hasRevocation: boolean; hasSignOutPage: boolean }

export type Tokens = {
  accessToken: string
  /** The lifetime in seconds: a whole number, at least 1 second and at most 400 days. */
  expiresIn: number
  refreshToken: string | undefined
}

export type RenewedTokens = Tokens & { refreshToken: string }

/** Thrown if the portal will always refuse this refresh token. The message is written to the log. */
export class RefreshRefused extends Error {}

type Log = { info: (entry: object) => void; warn: (entry: object) => void }

export type Portal = ReturnType<typeof createPortal>

const defaultLimits = { deadlineMs: 5_000, maxBytes: 64 * 1024 }
/**
 * The limits of an optional call: if the call fails, the visitor's request continues. The visitor waits for such a
 * call, so the call must be short.
 */
const shortLimits = { ...defaultLimits, deadlineMs: 1_000 }

const metadataKey = 'metadata'
const metadataFreshMs = 60 * 60 * 1000
const metadataRetryMs = 30 * 1000
const emptyMetadata: Metadata = {
  usesPkce: false,
  isIssuerRequired: false,
  hasRevocation: false,
  hasSignOutPage: false,
}

/**
 * If the portal answers with one of these errors, a renewal with the same token can never succeed.
 * unsupported_grant_type means that the portal supports only the authorization_code grant.
 */
const finalRefreshErrors = ['invalid_grant', 'unsupported_grant_type', 'unauthorized_client']
const finalRefreshStatuses = [404, 405, 501]

/** RFC 6750 2.1, b64token. A token in this format contains no line break, so it cannot add a header to the request. */
const bearerToken = /^[A-Za-z0-9._~+/-]+=*$/
/** RFC 6749, appendix A.17. A refresh token is sent only as a field of a form, where every character is safe. */
const printableAscii = /^[\x20-\x7e]+$/
/** Browsers keep a cookie for at most 400 days. */
const maxExpiresIn = 400 * 24 * 60 * 60
const maxNameLength = 40

export function createPortal(registration: Registration, upstream: Upstream, clock: () => Date, log: Log) {
  const { loginUrl, loginInternalUrl, clientId, clientSecret, redirectUri } = registration

  /** Sends the client secret only in the body (RFC 6749 2.3.1). */
  function post(path: string, fields: Record<string, string>, context: RequestContext, limits = defaultLimits) {
    const credentials = { client_id: clientId, client_secret: clientSecret.reveal() }
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const body = new URLSearchParams({ ...fields, ...credentials }).toString()
    return upstream.send({ method: 'POST', url: loginInternalUrl + path, headers, body, context, ...limits })
  }

  /**
   * Exchanges a code for tokens (CL-14). The request is sent only once, even if it fails. Throws LoginError if the
   * portal refuses the code, and PublicError if there is no usable answer.
   */
  async function exchangeCode(
    { code, state }: { code: string; state: string },
    codeVerifier: string | undefined,
    context: RequestContext,
  ): Promise<Tokens> {
    const verifier = codeVerifier && { code_verifier: codeVerifier }
    const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, state, ...verifier }
    const answer = await post('/api/exchangeToken', fields, context)
    if (answer.status !== 200) throw refusal(answer)
    return readTokens(answer, state)
  }

  /**
   * Gets new tokens with a refresh token (RFC 6749 6). Throws RefreshRefused if the portal will always refuse this
   * refresh token. Throws LoginError or PublicError if only this attempt failed.
   */
  async function refresh(refreshToken: string, context: RequestContext): Promise<RenewedTokens> {
    const fields = { grant_type: 'refresh_token', refresh_token: refreshToken }
    const answer = await post('/api/exchangeToken', fields, context)
    const error = oauthError(answer)
    if (error && finalRefreshErrors.includes(error)) throw new RefreshRefused(error)
    if (finalRefreshStatuses.includes(answer.status)) throw new RefreshRefused(`status ${answer.status}`)
    if (answer.status !== 200) throw refusal(answer)
    const tokens = readTokens(answer, undefined)
    // If the answer contains no new refresh token, the old refresh token stays valid (RFC 6749 6).
    return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken }
  }

  /**
   * Revokes a token (RFC 7009). If this is a refresh token, its access tokens also become invalid. If this is an access
   * token, the whole grant ends. If the portal does not offer revocation, this function does nothing.
   */
  async function revoke(token: string, context: RequestContext): Promise<void> {
    if (!(await readMetadata(context)).hasRevocation) return
    const answer = await post('/api/revokeToken', { token }, context, shortLimits)
    if (answer.status !== 200) throw refusal(answer)
  }

  /**
   * Gets the visitor's name, which every page shows in its header. Returns an empty string if the portal does not
   * return a name.
   */
  async function fetchName({ accessToken }: Tokens, context: RequestContext): Promise<string> {
    const url = `${loginInternalUrl}/api/me`
    const headers = { authorization: `Bearer ${accessToken}` }
    const answer = await upstream.send({ method: 'GET', url, headers, context, ...shortLimits }).catch(() => undefined)
    const { firstName = '', lastName = '' } = answer?.status === 200 && isRecord(answer.json) ? answer.json : {}
    if (typeof firstName !== 'string' || typeof lastName !== 'string') return ''
    // Keeps letters, combining marks, numbers, punctuation, symbols and joiners. Removes control characters, and
    // characters that change the direction of the text.
    const words = `${firstName} ${lastName}`.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S}\u200c\u200d]+/gu, ' ').trim()
    return [...words].slice(0, maxNameLength).join('')
  }

  /** The last valid metadata document. */
  let lastMetadata: Metadata | undefined
  /** Has one entry, with the key `metadataKey`: the metadata, or a call in progress that reads it. */
  const cachedMetadata = new ExpiringMap<Promise<Metadata>>(clock)

  /**
   * Returns the portal's metadata, which is read once an hour. Never throws. Takes at most one second.
   *
   * If the document cannot be read, the client uses the document that it read last. So an outage never turns off PKCE
   * or revocation. After a failure, the client waits for 30 seconds before it tries again. But if the client has never
   * read the document and the portal is down, every login and every sign-out tries to read it.
   */
  function readMetadata(context: RequestContext): Promise<Metadata> {
    const cached = cachedMetadata.get(metadataKey)
    if (cached) return cached
    const metadata = fetchMetadata(context)
    cachedMetadata.set(metadataKey, metadata, metadataFreshMs)
    return metadata
  }

  /** Reads the metadata from the portal. After a failure, the cache keeps its entry for a shorter time. */
  async function fetchMetadata(context: RequestContext): Promise<Metadata> {
    let status: number | undefined
    try {
      // RFC 8414 3.1: the path of the issuer comes after `/.well-known/oauth-authorization-server`.
      const { origin, pathname } = new URL(loginInternalUrl)
      const url = `${origin}/.well-known/oauth-authorization-server${pathname.replace(/\/$/, '')}`
      const answer = await upstream.send({ method: 'GET', url, context, ...shortLimits })
      status = answer.status
      if (status !== 200) throw upstream.unexpectedStatus(answer)
      lastMetadata = toMetadata(answer.json)
      return lastMetadata
    } catch (error) {
      const { code, cause } = error as { code?: string; cause?: unknown }
      // The document is optional (rule metadata-optional), so the client does not log a warning if the portal has no
      // document.
      const level = status === 404 && !lastMetadata ? 'info' : 'warn'
      const { requestId: reqId } = context
      log[level]({ event: 'portal_metadata_unread', reqId, reason: code, cause: describeCause(cause) })
      const isAnswer = code === 'portal_unexpected'
      const metadata = lastMetadata ?? emptyMetadata
      cachedMetadata.set(metadataKey, Promise.resolve(metadata), lastMetadata || isAnswer ? metadataRetryMs : 0)
      return metadata
    }
  }

  function toMetadata(json: unknown): Metadata {
    const document = isRecord(json) ? json : {}
    // RFC 8414 3.3: a document that names another issuer must not be used.
    if (String(document.issuer).replace(/\/+$/, '') !== loginUrl)
      throw upstream.unexpected('metadata of another issuer')
    const methods = document.code_challenge_methods_supported
    return {
      usesPkce: Array.isArray(methods) && methods.includes('S256'),
      isIssuerRequired: document.authorization_response_iss_parameter_supported === true,
      hasRevocation: typeof document.revocation_endpoint === 'string',
      hasSignOutPage: typeof document.end_session_endpoint === 'string',
    }
  }

  /**
   * Returns the address of the page where visitors sign out of the portal. Returns undefined if the portal's metadata
   * lists no such page.
   */
  async function findSignOutPage(context: RequestContext): Promise<string | undefined> {
    return (await readMetadata(context)).hasSignOutPage ? `${loginUrl}/sign-out` : undefined
  }

  function refusal(answer: Answer): Error {
    const error = oauthError(answer)
    if (error === undefined) return upstream.unexpectedStatus(answer)
    if (error === 'invalid_grant') return new LoginError('invalid_grant')
    const known = /^[a-z_]{1,40}$/.test(error) ? error : 'an unknown error'
    return new LoginError('client_misconfigured', `status ${answer.status}, ${known}`)
  }

  /**
   * Reads the token response (RFC 6749 5.1, CL-17). Throws a PublicError with status 502 if a field is missing or
   * wrong. The response must contain the same `state` as the request. For a renewal, `state` is undefined, because the
   * request contains none.
   */
  function readTokens({ json }: Answer, state: string | undefined): Tokens {
    const invalid = (detail: string) => upstream.unexpected(`token response: ${detail}`)
    if (!isRecord(json)) throw invalid('not a JSON object')
    const { access_token, token_type, expires_in } = json
    const refreshToken = json.refresh_token ?? undefined
    if (state !== undefined && json.state !== state) throw invalid('the state of another login')
    if (typeof token_type !== 'string' || token_type.toLowerCase() !== 'bearer') throw invalid('token_type')
    if (typeof access_token !== 'string' || !bearerToken.test(access_token)) throw invalid('access_token')
    // Browsers ignore an invalid Max-Age such as NaN or 1.5, so the cookie would not expire with the token.
    if (typeof expires_in !== 'number' || !Number.isFinite(expires_in) || expires_in <= 0) throw invalid('expires_in')
    if (refreshToken !== undefined && (typeof refreshToken !== 'string' || !printableAscii.test(refreshToken)))
      throw invalid('refresh_token')
    const expiresIn = Math.min(Math.max(1, Math.floor(expires_in)), maxExpiresIn)
    return { accessToken: access_token, expiresIn, refreshToken }
  }

  return { registration, post, exchangeCode, refresh, revoke, fetchName, readMetadata, findSignOutPage }
}

/**
 * Returns the `error` of an OAuth error answer (RFC 6749 5.2). The status is not enough: the portal answers with 401
 * both to a wrong code and to wrong client credentials.
 */
function oauthError({ status, json }: Answer): string | undefined {
  const isRefusal = status >= 400 && status < 500 && status !== 429
  return isRefusal && isRecord(json) && typeof json.error === 'string' ? json.error : undefined
}

/**
 * Returns the user id (`sub`) in an access token. Returns undefined if the token is not a JWT. The signature is not
 * checked, because the token came from the portal over our own connection. The user id is used only to distinguish
 * visitors and to list their groups.
 */
export function readSubject(accessToken: string): string | undefined {
  try {
    const payload: unknown = JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString())
    if (isRecord(payload) && typeof payload.sub === 'string' && /^(?!\.{1,2}$)[\x21-\x7e]{1,100}$/.test(payload.sub))
      return payload.sub
  } catch {
    // Not a JWT.
  }
  return undefined
}
