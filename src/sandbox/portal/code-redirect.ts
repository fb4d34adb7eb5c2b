// Issues an authorization code, and gives the address that takes it to the client.
import type { Services } from '../services.ts'
import { hasConsent, lockConsent } from '../store/consents.ts'
import { createGrant, endSurplusGrants } from '../store/grants.ts'
import type { Proof } from '../store/proof.ts'
import type { Db } from '../store/schema.ts'
import { hashToken, makeAlphanumericToken } from '../tokens/opaque-token.ts'
import { addToUrl } from './add-to-url.ts'
import { type LoginRequest, refuseRemoved, toLoginPath } from './login-request.ts'
import { requireProof } from './require-proof.ts'

/**
 * The redirect of the specification, part 5, with `iss` added (RFC 9207). Call it once consent is given. Throws PageError
 * where `user` was signed out meanwhile.
 */
export async function makeCodeRedirect(
  db: Db,
  { addresses, lifetimes, clock }: Pick<Services, 'addresses' | 'lifetimes' | 'clock'>,
  request: LoginRequest,
  user: { userId: string; proof: Proof },
): Promise<string> {
  const { userId } = user
  await requireProof(db, user, toLoginPath(request))
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
    { now, expiresAt: new Date(now.getTime() + lifetimes(clientId).codeSeconds * 1000) },
  )
  await endSurplusGrants(db, userId, clientId, now)
  return addToUrl(request.redirectUri, {
    code,
    redirect_uri: request.redirectUri,
    subject: userId,
    client_id: clientId,
    state: request.state,
    iss: addresses.portalUrl,
  })
}

/** The same, in a transaction of its own. Undefined when the user has not allowed the application, or does not any more. */
export async function makeAllowedRedirect(
  parts: Pick<Services, 'addresses' | 'lifetimes' | 'store' | 'clock'>,
  request: LoginRequest,
  user: { userId: string; proof: Proof },
): Promise<string | undefined> {
  const { userId } = user
  const { store } = parts
  const { id } = request.application
  // Nothing is locked for those who are only about to be asked.
  if (!(await hasConsent(store.read, userId, id))) return undefined
  const redirect = store.transaction(async db =>
    (await lockConsent(db, userId, id)) ? makeCodeRedirect(db, parts, request, user) : undefined,
  )
  return redirect.catch(refuseRemoved)
}
