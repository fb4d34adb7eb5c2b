// Checks the request that starts a login. The client and the redirect URI are checked first: the portal sends all later
// errors to the redirect URI, so the portal must be able to trust this URI.
import type { JSONSchema } from 'json-schema-to-ts'
import type { StepNotes } from '../observe/notes.ts'
import type { Reason } from '../observe/reasons.ts'
import { Refusal, type RefusalDetails } from '../observe/refusal.ts'
import type { Services } from '../services.ts'
import { type Application, findApplication } from '../store/applications.ts'
import type { Db } from '../store/schema.ts'
import { isId } from '../values/is-id.ts'
import { longestStartBytes, longestText } from '../values/text-length.ts'

/** A request that has passed every check. */
export interface LoginRequest {
  application: Application
  redirectUri: string
  cancelUrl: string
  /** Undefined if the request has no state. The redirect to the client then does not contain a state. */
  state: string | undefined
  /** The PKCE challenge (S256). Undefined if the request has no challenge. */
  codeChallenge: string | undefined
}

const uri = { type: 'string', format: 'uri' } as const

/** The parameters that start a login, for the API description. readLoginRequest reports wrong parameters. */
export const loginParameters = {
  type: 'object',
  required: ['grant_type', 'response_type', 'client_id', 'redirect_uri', 'cancel_url'],
  properties: {
    grant_type: { type: 'string', enum: ['authorization'] },
    response_type: { type: 'string', enum: ['code'] },
    client_id: { type: 'string', description: 'Client ID of the application.' },
    redirect_uri: {
      ...uri,
      description:
        'The address to which the portal sends the browser back. It must equal a registered redirect URI, byte for byte.',
    },
    cancel_url: {
      ...uri,
      description:
        'The address to which the portal sends the browser if the person declines. It must have the origin of a registered redirect URI.',
    },
    state: {
      type: 'string',
      description:
        'A new value for each login. The portal returns the value in the redirect, and the application compares it with the value that it sent.',
    },
    code_challenge: {
      type: 'string',
      minLength: 43,
      maxLength: 43,
      description:
        'The hash of a verifier (PKCE, RFC 7636). If a login has a challenge, the exchange must contain the verifier.',
    },
    code_challenge_method: { type: 'string', enum: ['S256'], description: 'Required with a code_challenge.' },
  },
} as const satisfies JSONSchema

type Parameter = keyof typeof loginParameters.properties
type Parameters = Partial<Record<Parameter, string>>

export const startParameters = Object.keys(loginParameters.properties) as Parameter[]

/** The reasons why a request with a trusted redirect URI cannot start a login. */
export type StartReason = Extract<
  Reason,
  | 'field-repeated'
  | 'field-too-long'
  | 'field-missing'
  | 'response-type-unsupported'
  | 'grant-type-unsupported'
  | 'cancel-url-foreign'
  | 'challenge-invalid'
>

/** A refusal that the portal sends to the client's redirect URI, which has already been checked (RFC 6749 4.1.2.1). */
export class LoginRefusal extends Refusal {
  declare readonly reason: StartReason
  readonly application: Application
  readonly redirectUri: string
  readonly state: string | undefined

  constructor(
    reason: StartReason,
    details: RefusalDetails,
    { application, redirectUri, state }: Pick<LoginRequest, 'application' | 'redirectUri' | 'state'>,
  ) {
    super(reason, details)
    this.application = application
    this.redirectUri = redirectUri
    this.state = state
  }
}

/** Returns whether the request has at least one of the parameters that start a login. */
export function isLoginRequest(query: Record<string, unknown>): boolean {
  return startParameters.some(name => query[name] !== undefined)
}

/**
 * Throws Refusal if the client or the redirect URI is wrong. Throws LoginRefusal if a later check fails (RFC 6749
 * 4.1.2.1). Unknown parameters are ignored, and an empty parameter counts as left out (RFC 6749 3.1).
 */
export async function readLoginRequest(
  { store }: Pick<Services, 'store'>,
  query: Record<string, unknown>,
  notes: StepNotes,
): Promise<LoginRequest> {
  if (typeof query.client_id === 'string') notes.about({ claimedClientId: query.client_id.slice(0, longestText) })
  const { parameters, repeated, tooLong } = collectParameters(query)
  // If one of these parameters is too long, the portal cannot redirect: a redirect needs the address of the client, and
  // must return the state.
  const unanswerable = tooLong.find(name => ['client_id', 'redirect_uri', 'state'].includes(name))
  if (unanswerable) throw new Refusal('field-too-long', { field: unanswerable, limit })
  const application = await findClient(store.read, parameters, repeated)
  notes.about({ knownClientId: application.id })
  const redirectUri = checkRedirectUri(application, parameters, repeated, notes)
  const { state, response_type: responseType, grant_type: grantType, cancel_url: cancelUrl } = parameters
  const refuse = (reason: StartReason, details: RefusalDetails): never => {
    throw new LoginRefusal(reason, details, { application, redirectUri, state })
  }
  const [firstRepeated] = repeated
  if (firstRepeated) refuse('field-repeated', { field: firstRepeated })
  const [firstTooLong] = tooLong
  if (firstTooLong) refuse('field-too-long', { field: firstTooLong, limit })
  if (responseType === undefined) refuse('field-missing', { field: 'response_type' })
  if (responseType !== 'code') refuse('response-type-unsupported', { field: 'response_type' })
  if (grantType !== 'authorization')
    refuse(grantType ? 'grant-type-unsupported' : 'field-missing', { field: 'grant_type' })
  const origins = [...new Set(application.redirectUris.map(uri => new URL(uri).origin))]
  const isCancelUrl = isUrlOf(origins, cancelUrl)
  notes.check({ name: 'cancel_url', passed: isCancelUrl, expected: origins, received: cancelUrl })
  if (!isCancelUrl) refuse('cancel-url-foreign', { field: 'cancel_url' })
  const challengeProblem = findChallengeProblem(parameters)
  if (challengeProblem) refuse('challenge-invalid', challengeProblem)
  return { application, redirectUri, cancelUrl: cancelUrl as string, state, codeChallenge: parameters.code_challenge }
}

const limit = `${longestStartBytes} bytes`

function collectParameters(query: Record<string, unknown>) {
  const parameters: Parameters = {}
  const repeated: Parameter[] = []
  const tooLong: Parameter[] = []
  for (const name of startParameters) {
    const value = query[name]
    // A parameter that was sent twice counts as missing, because nobody can know which value the client meant.
    if (Array.isArray(value)) repeated.push(name)
    else if (typeof value === 'string' && value !== '') {
      if (Buffer.byteLength(value) > longestStartBytes) tooLong.push(name)
      else parameters[name] = value
    }
  }
  return { parameters, repeated, tooLong }
}

async function findClient(db: Db, { client_id: clientId }: Parameters, repeated: string[]): Promise<Application> {
  if (clientId === undefined) throw missing('client_id', repeated)
  const application = isId(clientId) ? await findApplication(db, clientId) : undefined
  if (!application) throw new Refusal('client-unknown')
  return application
}

function checkRedirectUri(
  { redirectUris }: Application,
  { redirect_uri: redirectUri }: Parameters,
  repeated: string[],
  notes: StepNotes,
): string {
  // Compare byte by byte. The comparison must be exact, because looser comparisons have led to open redirects (RFC 9700
  // 4.1).
  const isRegistered = redirectUri !== undefined && redirectUris.includes(redirectUri)
  notes.check({ name: 'redirect_uri', passed: isRegistered, expected: redirectUris, received: redirectUri })
  if (redirectUri === undefined) throw missing('redirect_uri', repeated)
  if (!isRegistered) throw new Refusal('redirect-uri-unregistered')
  return redirectUri
}

function missing(field: string, repeated: string[]): Refusal {
  return new Refusal(repeated.includes(field) ? 'field-repeated' : 'field-missing', { field })
}

function isUrlOf(origins: string[], url: string | undefined): boolean {
  if (url === undefined || !/^https?:\/\/[\x21-\x7e]+$/i.test(url) || /[#\\]/.test(url)) return false
  if (!URL.canParse(url)) return false
  const { origin, username, password } = new URL(url)
  return !username && !password && origins.includes(origin)
}

function findChallengeProblem(parameters: Parameters): RefusalDetails | undefined {
  const { code_challenge: challenge, code_challenge_method: method } = parameters
  if (challenge === undefined) return method === undefined ? undefined : { field: 'code_challenge', isMissing: true }
  // Without a method, the challenge would be the verifier itself (the method `plain`, RFC 7636 4.3). That challenge
  // would protect nothing here.
  if (method !== 'S256') return { field: 'code_challenge_method' }
  return /^[\w-]{43}$/.test(challenge) ? undefined : { field: 'code_challenge' }
}
