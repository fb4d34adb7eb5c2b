// The token response: an access token of a family, beside the refresh token that is the family's newest.
import type { Services } from '../services.ts'
import type { TokenFamily } from '../store/refresh-tokens.ts'
import { signUserToken } from '../tokens/access-token.ts'

/** Wire form, without the state, which is echoed by the route. */
export interface TokenResponse {
  access_token: string
  expires_in: number
  token_type: 'Bearer'
  scope: string
  refresh_token: string
}

export interface Family extends TokenFamily {
  clientId: string
  refreshToken: string
}

export async function issueTokens(
  { addresses, lifetimes, keyRing, clock }: Pick<Services, 'addresses' | 'lifetimes' | 'keyRing' | 'clock'>,
  { grantId, userId, generation, clientId, refreshToken }: Family,
): Promise<TokenResponse> {
  const lifetimeSeconds = lifetimes(clientId).accessTokenSeconds
  const order = { issuer: addresses.portalUrl, grantId, generation, userId, clientId, now: clock(), lifetimeSeconds }
  return {
    access_token: await signUserToken(keyRing, order),
    expires_in: lifetimeSeconds,
    token_type: 'Bearer',
    scope: '',
    refresh_token: refreshToken,
  }
}
