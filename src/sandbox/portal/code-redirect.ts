// Issues an authorization code, and gives the address that takes it to the client.
import type { Parts } from '../parts.ts'
import { createGrant } from '../store/grants.ts'
import type { Db } from '../store/schema.ts'
import { hashToken, makeAlphanumericToken } from '../tokens/opaque-token.ts'
import { addToUrl } from './add-to-url.ts'
import type { LoginRequest } from './login-request.ts'

/** The redirect of the specification, part 5, with `iss` added (RFC 9207). Call it once consent is given. */
export async function makeCodeRedirect(
  db: Db,
  { addresses, lifetimes, clock }: Pick<Parts, 'addresses' | 'lifetimes' | 'clock'>,
  request: LoginRequest,
  userId: string,
): Promise<string> {
  const now = clock()
  const code = makeAlphanumericToken()
  const clientId = request.application.id
  await createGrant(
    db,
    userId,
    {
      codeHash: hashToken(code),
      clientId,
      redirectUri: request.redirectUri,
      stateHash: request.state === undefined ? '' : hashToken(request.state),
      codeChallenge: request.codeChallenge ?? '',
    },
    { now, expiresAt: new Date(now.getTime() + lifetimes.codeSeconds * 1000) },
  )
  return addToUrl(request.redirectUri, {
    code,
    redirect_uri: request.redirectUri,
    subject: userId,
    client_id: clientId,
    state: request.state,
    iss: addresses.portalUrl,
  })
}
