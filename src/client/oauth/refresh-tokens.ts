// The step after an access token has run out: a new one for the refresh token (RFC 6749 6), or the end of it (RFC 7009).
import { type Answer, isRecord, type RequestContext } from '../upstream.ts'
import { type Portal, postForm, refusal } from './portal.ts'
import { readTokens, type Tokens } from './tokens.ts'

/** The portal will not renew with this refresh token, however often it is asked; the message says why, for the log. */
export class RefreshRefused extends Error {}

const finalErrors = ['invalid_grant', 'unsupported_grant_type', 'unauthorized_client']
/** The specification names one grant type alone: a portal need not know any other, nor say so in OAuth's words. */
const finalStatuses = [404, 405, 501]

/** Throws RefreshRefused where it fails for good, and PublicError where it fails for now. */
export async function refreshTokens(portal: Portal, refreshToken: string, context: RequestContext): Promise<Tokens> {
  const fields = { grant_type: 'refresh_token', refresh_token: refreshToken }
  const answer = await postForm(portal, '/api/exchangeToken', fields, context)
  const whyForGood = readFinalRefusal(answer)
  if (whyForGood) throw new RefreshRefused(whyForGood)
  if (answer.status !== 200) throw refusal(portal, answer)
  const tokens = readTokens(portal, answer, undefined)
  // RFC 6749 6: where no new refresh token comes, the old one stays good.
  return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken }
}

function readFinalRefusal({ status, json }: Answer): string | undefined {
  if (finalStatuses.includes(status)) return `status ${status}`
  const error = isRecord(json) ? String(json.error) : ''
  const isRefusal = status >= 400 && status < 500 && status !== 429
  return isRefusal && finalErrors.includes(error) ? error : undefined
}

/** Ends the refresh token and what it gave. A visitor who signs out waits for it, so it has little time. Throws PublicError. */
export async function revokeTokens(portal: Portal, refreshToken: string, context: RequestContext): Promise<void> {
  const answer = await postForm(portal, '/api/revokeToken', { token: refreshToken }, context, 1_000)
  if (answer.status !== 200) throw refusal(portal, answer)
}
