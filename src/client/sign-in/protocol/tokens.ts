// Server to server: exchanges a code, renews, revokes, asks for the visitor's name, and trusts nothing in the answers.
import { type Answer, isRecord, type RequestContext, type Upstream } from '../../upstream.ts'
import { createMetadataReader, type Logger, LoginError, type Registration } from './authorization.ts'

export type Tokens = {
  accessToken: string
  /** Seconds from now: a whole number from 1 to 400 days. */
  expiresIn: number
  refreshToken: string | undefined
}

/** The portal will not renew with this refresh token, however often it is asked; the message says why, for the log. */
export class RefreshRefused extends Error {}

const finalErrors = ['invalid_grant', 'unsupported_grant_type', 'unauthorized_client']
/** The specification names one grant type alone: a portal need not know any other, nor say so in OAuth's words. */
const finalStatuses = [404, 405, 501]

/** RFC 6750 2.1, b64token: nothing that could end a header line early. */
const bearerToken = /^[A-Za-z0-9._~+/-]+=*$/
/** Browsers keep no cookie for longer. */
const longestSeconds = 400 * 24 * 60 * 60
const longestName = 40
const usualLimits = { deadlineMs: 5_000, maxBytes: 64 * 1024 }
/** For what a visitor waits for that can be done without. */
const shortLimits = { ...usualLimits, deadlineMs: 1_000 }

export type Portal = ReturnType<typeof createPortal>

/** The login portal, as this server reaches it. */
export function createPortal(registration: Registration, upstream: Upstream, clock: () => Date, logger: Logger) {
  const { loginUrl, loginInternalUrl, clientId, clientSecret } = registration
  const readMetadata = createMetadataReader(registration, upstream, clock, logger)
  // Plain in here and nowhere else.
  const credentials = { client_id: clientId, client_secret: clientSecret.reveal() }

  /** RFC 6749 2.3.1: the client secret goes into the body, and nowhere else. */
  function post(path: string, fields: Record<string, string>, context: RequestContext, limits = usualLimits) {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const body = new URLSearchParams({ ...fields, ...credentials }).toString()
    return upstream.send({ method: 'POST', url: loginInternalUrl + path, headers, body, context, ...limits })
  }

  /** Where visitors sign out of the portal itself; undefined if the portal lists no page for that. */
  async function findSignOutPage(context: RequestContext): Promise<string | undefined> {
    return (await readMetadata(context)).hasSignOutPage ? `${loginUrl}/sign-out` : undefined
  }
  return { ...registration, upstream, readMetadata, findSignOutPage, post }
}

/** Part 4.2 of the specification; sent once, whatever happens. Throws LoginError, and PublicError of the upstream. */
export async function exchangeCode(
  portal: Portal,
  { code, state }: { code: string; state: string },
  codeVerifier: string | undefined,
  context: RequestContext,
): Promise<Tokens> {
  const proof = codeVerifier && { code_verifier: codeVerifier }
  const fields = { grant_type: 'authorization_code', code, redirect_uri: portal.redirectUri, state, ...proof }
  const answer = await portal.post('/api/exchangeToken', fields, context)
  if (answer.status !== 200) throw readRefusal(portal, answer)
  return readTokens(portal, answer, state)
}

/** RFC 6749 6. Throws RefreshRefused where it fails for good; LoginError and PublicError where it fails for now. */
export async function refreshTokens(portal: Portal, refreshToken: string, context: RequestContext): Promise<Tokens> {
  const fields = { grant_type: 'refresh_token', refresh_token: refreshToken }
  const answer = await portal.post('/api/exchangeToken', fields, context)
  const error = errorOf(answer)
  if (error && finalErrors.includes(error)) throw new RefreshRefused(error)
  if (finalStatuses.includes(answer.status)) throw new RefreshRefused(`status ${answer.status}`)
  if (answer.status !== 200) throw readRefusal(portal, answer)
  const tokens = readTokens(portal, answer, undefined)
  // RFC 6749 6: where no new refresh token comes, the old one stays good.
  return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken }
}

/** RFC 7009: ends a refresh token and the access tokens that it gave, or the grant of an access token. */
export async function revokeToken(portal: Portal, token: string, context: RequestContext): Promise<void> {
  const answer = await portal.post('/api/revokeToken', { token }, context, shortLimits)
  if (answer.status !== 200) throw readRefusal(portal, answer)
}

/** The visitor's name, without what would disturb the text around it; empty where the portal tells none, which is no fault. */
export async function fetchName(portal: Portal, { accessToken }: Tokens, context: RequestContext): Promise<string> {
  const { upstream, loginInternalUrl } = portal
  const [url, headers] = [`${loginInternalUrl}/api/me`, { authorization: `Bearer ${accessToken}` }]
  const answer = await upstream.send({ method: 'GET', url, headers, context, ...shortLimits }).catch(() => undefined)
  const { firstName = '', lastName = '' } = answer?.status === 200 && isRecord(answer.json) ? answer.json : {}
  if (typeof firstName !== 'string' || typeof lastName !== 'string') return ''
  // Letters, marks, numbers, punctuation, symbols and joiners; nothing that controls text or turns its direction.
  const words = `${firstName} ${lastName}`.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S}\u200c\u200d]+/gu, ' ').trim()
  return [...words].slice(0, longestName).join('')
}

function readRefusal({ upstream }: Portal, answer: Answer): Error {
  const error = errorOf(answer)
  if (error === undefined) return upstream.unusable(answer)
  if (error === 'invalid_grant') return new LoginError('invalid_grant')
  const known = /^[a-z_]{1,40}$/.test(error) ? error : 'an unknown error'
  return new LoginError('client_misconfigured', `status ${answer.status}, ${known}`)
}

/** RFC 6749 5.2. The portal refuses a code with 401 and not with 400: the word decides, and not the status. */
function errorOf({ status, json }: Answer): string | undefined {
  const isRefusal = status >= 400 && status < 500 && status !== 429
  return isRefusal && isRecord(json) && typeof json.error === 'string' ? json.error : undefined
}

/**
 * RFC 6749 5.1 and part 2 of the specification. `state` must come back as sent where one is given; a refresh sends none.
 * Throws PublicError 502.
 */
function readTokens(portal: Portal, { json }: Answer, state: string | undefined): Tokens {
  const refuse = (detail: string) => portal.upstream.unexpected(`token response: ${detail}`)
  if (!isRecord(json)) throw refuse('not a JSON object')
  const { access_token, token_type, expires_in, refresh_token } = json
  if (state !== undefined && json.state !== state) throw refuse('the state of another login')
  if (typeof token_type !== 'string' || token_type.toLowerCase() !== 'bearer') throw refuse('token_type')
  if (typeof access_token !== 'string' || !bearerToken.test(access_token)) throw refuse('access_token')
  // Anything else would become a cookie that never expires: browsers read Max-Age=NaN or 1.5 that way.
  if (typeof expires_in !== 'number' || !Number.isFinite(expires_in) || expires_in <= 0) throw refuse('expires_in')
  if (refresh_token !== undefined && (typeof refresh_token !== 'string' || !bearerToken.test(refresh_token)))
    throw refuse('refresh_token')
  const expiresIn = Math.min(Math.max(1, Math.floor(expires_in)), longestSeconds)
  return { accessToken: access_token, expiresIn, refreshToken: refresh_token }
}

/**
 * The `sub` of an access token; undefined where it is no JWT. Unverified, which is enough here: the token came from the
 * portal itself over a connection of ours.
 */
export function readSubject(accessToken: string): string | undefined {
  try {
    const payload: unknown = JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString())
    if (isRecord(payload) && typeof payload.sub === 'string' && /^(?!\.{1,2}$)[\x21-\x7e]{1,100}$/.test(payload.sub))
      return payload.sub
  } catch {
    // The specification says that it is a JWT, but nothing here depends on it.
  }
  return undefined
}
