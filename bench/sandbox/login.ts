// The data of the client and of the login that the bench uses with every measured server.
import { createHash, randomBytes } from 'node:crypto'

export const client = {
  id: '3f1c9a52-6d0e-4f7b-8a57-1d2b3c4d5e6f',
  secret: 'bench-client-secret-of-40-characters-000',
  redirectUri: 'http://localhost:3000/exchangeToken',
}
export const user = { email: 'developer@sandbox.example', password: randomBytes(16).toString('base64url') }
export const state = 'bench-state-of-27-letters-0'
const codeVerifier = 'bench-code-verifier-of-43-characters-000000'
export const codeChallenge = createHash('sha256').update(codeVerifier).digest('base64url')

/** The form that exchanges a code. */
export function toExchangeForm(code: string): string {
  return new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    redirect_uri: client.redirectUri,
    state,
    code_verifier: codeVerifier,
    client_id: client.id,
    client_secret: client.secret,
  }).toString()
}
