// The step after an access token has run out: a new one for the refresh token (RFC 6749 6), or the end of it (RFC 7009).
import { type Portal, postForm, refusal } from './portal.ts'
import { readTokens, type Tokens } from './tokens.ts'

/** Throws PublicError; its code is `invalid_grant` where the portal says that the refresh token is no good any more. */
export async function refreshTokens(portal: Portal, refreshToken: string, requestId: string): Promise<Tokens> {
  const fields = { grant_type: 'refresh_token', refresh_token: refreshToken }
  const answer = await postForm(portal, '/api/exchangeToken', fields, requestId)
  if (answer.status !== 200) throw refusal(portal, answer)
  const tokens = readTokens(portal, answer, undefined)
  // RFC 6749 6: where no new refresh token comes, the old one stays good.
  return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken }
}

/** Ends the refresh token and what it gave. A visitor who signs out waits for it, so it has little time. Throws PublicError. */
export async function revokeTokens(portal: Portal, refreshToken: string, requestId: string): Promise<void> {
  const answer = await postForm(portal, '/api/revokeToken', { token: refreshToken }, requestId, 1_500)
  if (answer.status !== 200) throw refusal(portal, answer)
}
