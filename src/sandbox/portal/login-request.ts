// Reads the request that starts a login: whom to trust with an answer is settled first, everything else after that.
import type { FastifyRequest } from 'fastify'
import { noteAbout, noteCheck } from '../observe/observe.ts'
import type { Reason } from '../observe/steps.ts'
import type { Services } from '../services.ts'
import { type Application, ApplicationRemoved, findApplication } from '../store/applications.ts'
import type { Db } from '../store/schema.ts'
import { addToUrl } from './add-to-url.ts'
import { PageError } from './error-pages.ts'
import { LoginRequestError } from './login-request-error.ts'
import { longestText } from './longest-text.ts'

/** A request that passed every check. */
export interface LoginRequest {
  application: Application
  redirectUri: string
  cancelUrl: string
  /** Undefined when none was given; then none goes back. */
  state: string | undefined
  /** PKCE, S256; undefined when none was given. */
  codeChallenge: string | undefined
}

/** What a login can be started with. */
export const startParameters = [
  'grant_type',
  'response_type',
  'client_id',
  'redirect_uri',
  'cancel_url',
  'state',
  'code_challenge',
  'code_challenge_method',
] as const

type Parameters = Partial<Record<(typeof startParameters)[number], string>>

/** False when the address has none of the parameters. */
export function isLoginRequest(query: Record<string, unknown>): boolean {
  return startParameters.some(name => query[name] !== undefined)
}

/**
 * Throws PageError while nobody is known who could be told (RFC 6749 4.1.2.1), then LoginRequestError, which goes to the
 * redirect URI. Unknown parameters are ignored, empty ones count as left out (RFC 6749 3.1).
 */
export async function readLoginRequest(
  { store, addresses }: Pick<Services, 'addresses' | 'store'>,
  query: Record<string, unknown>,
  request: FastifyRequest,
): Promise<LoginRequest> {
  if (typeof query.client_id === 'string')
    noteAbout(request, { claimedClientId: query.client_id.slice(0, longestText) })
  const { parameters, repeated } = collectParameters(query)
  const application = await findClient(store.read, parameters, repeated)
  noteAbout(request, { knownClientId: application.id })
  const redirectUri = checkRedirectUri(application, parameters, repeated, request)
  const state = parameters.state
  const refuse = (reason: Reason, description: string, code = 'invalid_request'): never => {
    const parameters = { error: code, error_description: description, state, iss: addresses.portalUrl }
    throw new LoginRequestError(code, description, { application, location: addToUrl(redirectUri, parameters), reason })
  }
  const { response_type: responseType, grant_type: grantType, cancel_url: cancelUrl } = parameters
  if (repeated.length > 0) refuse('field-repeated', `${repeated[0]} was given more than once.`)
  if (responseType === undefined) refuse('field-missing', 'response_type is missing.')
  if (responseType !== 'code')
    refuse('response-type-unsupported', 'response_type must be code.', 'unsupported_response_type')
  if (grantType !== 'authorization')
    refuse(grantType ? 'grant-type-unsupported' : 'field-missing', 'grant_type must be authorization.')
  const isCancelUrl = isCancelUrlOf(application, cancelUrl)
  const origins = originsOf(application).join(', ')
  noteCheck(request, { name: 'cancel_url', passed: isCancelUrl, expected: origins, received: cancelUrl })
  if (!isCancelUrl)
    refuse('cancel-url-foreign', 'cancel_url must be given, and have the origin of a registered redirect URI.')
  const challengeFault = findChallengeFault(parameters)
  if (challengeFault) refuse('challenge-invalid', challengeFault)
  return { application, redirectUri, cancelUrl: cancelUrl as string, state, codeChallenge: parameters.code_challenge }
}

function collectParameters(query: Record<string, unknown>): { parameters: Parameters; repeated: string[] } {
  const parameters: Parameters = {}
  const repeated: string[] = []
  for (const name of startParameters) {
    const value = query[name]
    // Given twice it counts as not given: there is no telling which one was meant.
    if (Array.isArray(value)) repeated.push(name)
    else if (typeof value === 'string' && value !== '') {
      if (value.length > longestText)
        throw new PageError(400, `The application sent a ${name} of more than ${longestText} characters.`, {
          reason: 'field-too-long',
        })
      parameters[name] = value
    }
  }
  return { parameters, repeated }
}

async function findClient(db: Db, { client_id: clientId }: Parameters, repeated: string[]): Promise<Application> {
  const isPossible = clientId !== undefined && /^[A-Za-z0-9_-]{1,64}$/.test(clientId)
  const application = isPossible ? await findApplication(db, clientId) : undefined
  if (!application) throw notRegistered(clientId === undefined ? whyMissing('client_id', repeated) : undefined)
  return application
}

function notRegistered(reason: Reason = 'client-unknown'): PageError {
  return new PageError(400, 'The application that sent you here is not registered, so you cannot sign in to it.', {
    reason,
  })
}

function whyMissing(name: string, repeated: string[]): Reason {
  return repeated.includes(name) ? 'field-repeated' : 'field-missing'
}

/** For a consent or a code that could not be stored: the application may have been removed since the request was read. */
export function refuseRemoved(error: unknown): never {
  throw error instanceof ApplicationRemoved ? notRegistered() : error
}

function checkRedirectUri(
  { redirectUris }: Application,
  { redirect_uri: redirectUri }: Parameters,
  repeated: string[],
  request: FastifyRequest,
): string {
  // Byte by byte: every kindness here has been somebody's open redirect (RFC 9700 4.1).
  const isRegistered = redirectUri !== undefined && redirectUris.includes(redirectUri)
  const expected = redirectUris.join(', ')
  noteCheck(request, { name: 'redirect_uri', passed: isRegistered, expected, received: redirectUri })
  if (!isRegistered)
    throw new PageError(
      400,
      'The application that sent you here asked to send you on to an address that it has not registered.',
      { reason: redirectUri === undefined ? whyMissing('redirect_uri', repeated) : 'redirect-uri-unregistered' },
    )
  return redirectUri
}

function isCancelUrlOf(application: Application, cancelUrl: string | undefined): boolean {
  if (cancelUrl === undefined || !/^https?:\/\/[\x21-\x7e]+$/i.test(cancelUrl) || /[#\\]/.test(cancelUrl)) return false
  if (!URL.canParse(cancelUrl)) return false
  const { origin, username, password } = new URL(cancelUrl)
  return !username && !password && originsOf(application).includes(origin)
}

/** Origins of the registered redirect URIs. */
function originsOf(application: Application): string[] {
  return application.redirectUris.map(uri => new URL(uri).origin)
}

function findChallengeFault(parameters: Parameters): string | undefined {
  const { code_challenge: challenge, code_challenge_method: method } = parameters
  if (challenge === undefined) return method && 'code_challenge_method came without a code_challenge.'
  // Left out, the method means plain (RFC 7636 4.3), which protects nothing here.
  if (method !== 'S256') return 'code_challenge_method must be S256.'
  return /^[\w-]{43}$/.test(challenge) ? undefined : 'code_challenge must be 43 characters of base64url.'
}

/** The address of the request itself, to come back to after signing in. */
export function toLoginPath(request: LoginRequest): string {
  return addToUrl('/', {
    grant_type: 'authorization',
    response_type: 'code',
    client_id: request.application.id,
    redirect_uri: request.redirectUri,
    cancel_url: request.cancelUrl,
    state: request.state,
    code_challenge: request.codeChallenge,
    code_challenge_method: request.codeChallenge && 'S256',
  })
}
