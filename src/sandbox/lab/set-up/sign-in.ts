// POST /lab/v1/sign-in: issues tokens for a person, or completes a login that a client began. Both work without a
// browser.
import { randomUUID } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { issueCode, redeemCode } from '../../grants/codes.ts'
import { isLoginRequest } from '../../grants/login-request.ts'
import { makePortalToken } from '../../grants/tokens.ts'
import { answer, count, object, text } from '../../http/describe.ts'
import type { StepNotes } from '../../observe/notes.ts'
import { findApplication } from '../../store/applications.ts'
import { rememberConsent } from '../../store/consents.ts'
import { createPortalSession, deletePortalSession } from '../../store/portal-sessions.ts'
import { findCredentialsOf } from '../../store/users.ts'
import { userTokenLifetime } from '../../tokens/access-token.ts'
import { hashToken, makeSecret } from '../../tokens/opaque-token.ts'
import { isId } from '../../values/is-id.ts'
import { sessionCookieName } from '../../values/portal-cookies.ts'
import { refusalAnswers, storableText } from '../call-schemas.ts'
import { LabError } from '../lab-error.ts'
import { findPerson, personProperties } from './find-person.ts'
import { type SetUpServices, setUpCall } from './set-up.ts'

const signInBody = {
  type: 'object',
  additionalProperties: false,
  properties: {
    ...personProperties,
    clientId: storableText(1, 64, {
      description:
        'The client for which the call issues tokens. If clientId is left out, the answer has an access token like the one that a user creates on the portal’s page.',
    }),
    url: storableText(1, 8192, {
      description:
        'The portal address to which a client redirected the browser to begin a login. The answer contains the address to which the portal then redirects. The laboratory records this login, and faults can affect it. Faults that delay or break a connection, such as start-reset, do not affect this login. They wait for a request from a browser.',
    }),
  },
} as const satisfies JSONSchema

/** The schema of the answer, under its name in the OpenAPI document. */
export const signedInSchemas = {
  SignedIn: {
    anyOf: [
      object({ userId: text, accessToken: text, expiresIn: count, refreshToken: text }, { optional: ['refreshToken'] }),
      object({ userId: text, redirectUrl: text }),
    ],
    description:
      'For a login that a client began, the address to which the portal redirects the browser. Otherwise, the tokens.',
  },
}

type SignInServices = Pick<SetUpServices, 'addresses' | 'lifetimes' | 'store' | 'keyRing' | 'clock' | 'askPortal'>

/** The function `explain` returns a sentence that says why the request with this id failed. */
export function signInCall(services: SignInServices, explain: (requestId: string) => string | undefined) {
  return {
    schema: {
      ...setUpCall,
      operationId: 'signIn',
      summary: 'Get the tokens of a user, or finish a login that a client began',
      body: signInBody,
      response: {
        200: answer('Tokens, or the address that the portal redirects to.', 'SignedIn'),
        ...refusalAnswers(404, 413, 415),
      },
    },
    async handler(request: FastifyRequest<{ Body: FromSchema<typeof signInBody> }>) {
      const { userId, email, clientId, url } = request.body
      if (clientId !== undefined && url !== undefined)
        throw new LabError(422, { clientId: ['The address already names the client. Leave clientId out.'] })
      const path = url === undefined ? undefined : readStart(services, url)
      const { id } = await findPerson(services, { userId, email })
      if (path !== undefined) return { userId: id, ...(await finishLogin(services, { userId: id, path }, explain)) }
      const tokens =
        clientId === undefined ? givePortalToken(services, id) : giveTokens(services, { userId: id, clientId })
      return { userId: id, ...(await tokens) }
    },
  }
}

/** Returns the path and the query of the address. Throws LabError 422 if the address does not begin a login. */
function readStart({ addresses }: SignInServices, url: string): string {
  const start = URL.canParse(url) ? new URL(url) : undefined
  const isLogin =
    start?.origin === addresses.portalUrl &&
    start.pathname === '/' &&
    isLoginRequest(Object.fromEntries(start.searchParams))
  if (!isLogin)
    throw new LabError(422, { url: [`This must be an address that begins a login: ${addresses.portalUrl}/?…`] })
  return `/${start.search}`
}

/** Makes the same token as the page of the portal. */
async function givePortalToken(services: SignInServices, userId: string) {
  const credentials = await findCredentialsOf(services.store.read, userId)
  if (!credentials) throw new LabError(404, 'There is no such person.')
  const proof = { passwordHash: credentials.passwordHash }
  const { accessToken } = await makePortalToken(services, { id: randomUUID(), userId, proof, tokenName: '' })
  return { accessToken, expiresIn: userTokenLifetime }
}

/** Issues the same tokens as a login: the function makes a code and exchanges the code at once. */
async function giveTokens(given: SignInServices, { userId, clientId }: { userId: string; clientId: string }) {
  // This code is redeemed at once, so it does not need the lifetime in the client's settings, which can be one second.
  const lifetimes = (id: string) => ({ ...given.lifetimes.of(id), codeSeconds: 60 })
  const services = { ...given, lifetimes }
  const { store, clock } = services
  const application = isId(clientId) ? await findApplication(store.read, clientId) : undefined
  if (!application) throw new LabError(404, 'There is no such application.')
  const redirectUri = application.defaultRedirectUri
  const login = { application, redirectUri, cancelUrl: '', state: undefined, codeChallenge: undefined }
  const code = await store.transaction(async db => {
    await rememberConsent(db, userId, clientId, clock())
    return issueCode(db, services, login, userId)
  })
  const exchange = { clientId, code, redirectUri, state: undefined, codeVerifier: undefined }
  const { accessToken, expiresInSeconds, refreshToken } = await redeemCode(services, exchange, silentNotes)
  return { accessToken, expiresIn: expiresInSeconds, refreshToken }
}

/** The laboratory does not record this exchange, because no client has sent it. */
const silentNotes: StepNotes = { about() {}, check: ({ passed }) => passed }

/**
 * Opens the address in a new session of a person who has allowed the application. The portal treats the request like a
 * request from a browser: the laboratory records the steps, and faults can happen.
 */
async function finishLogin(
  { store, clock, askPortal }: SignInServices,
  { userId, path }: { userId: string; path: string },
  explain: (requestId: string) => string | undefined,
): Promise<{ redirectUrl: string }> {
  const now = clock()
  const [sessionId, requestId] = [makeSecret(), randomUUID()]
  const idHash = hashToken(sessionId)
  const { client_id: clientId } = Object.fromEntries(new URLSearchParams(path.slice(1)))
  await store.transaction(async db => {
    await createPortalSession(db, { idHash, userId, now, expiresAt: new Date(now.getTime() + 60_000) })
    // Store the consent only if the client_id in the address is a possible id. Otherwise, the portal reports that there
    // is no such client.
    if (isId(clientId)) await rememberConsent(db, userId, clientId, now)
  })
  const headers = { cookie: `${sessionCookieName}=${sessionId}`, 'x-request-id': requestId }
  const { location } = await askPortal({ url: path, headers }).finally(() =>
    store.write(db => deletePortalSession(db, idHash)),
  )
  if (location) return { redirectUrl: location }
  throw new LabError(422, {
    url: [explain(requestId) ?? 'The portal does not redirect the browser from this address back to a client.'],
  })
}
