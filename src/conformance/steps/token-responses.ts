// Token responses that a check writes itself.
import type { CheckContext, Start } from '../context.ts'

/** Orders a token response for the next exchange. It contains a refresh token only if `fields` has one. */
export async function orderTokenResponse(
  context: CheckContext,
  { state }: Start,
  fields: Record<string, unknown>,
): Promise<void> {
  const token = await context.platform.tokenOf(await context.person())
  const all = { access_token: token, expires_in: 3600, token_type: 'Bearer', state, ...fields }
  const type = 'application/json; charset=utf-8'
  await context.order('exchange-answer', { options: { status: 200, body: JSON.stringify(all), type } })
}
