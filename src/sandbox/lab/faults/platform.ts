// Functions of the platform that faults use: they find the client of a request, change access tokens, and add the fault
// to the step of the request.
import { randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Step } from '../../observe/steps.ts'
import type { Services } from '../../services.ts'
import { listSecretHashes } from '../../store/client-secrets.ts'
import { signAccessToken, verifyAccessToken } from '../../tokens/access-token.ts'
import { findCaller } from '../../tokens/find-caller.ts'
import { hashToken } from '../../tokens/opaque-token.ts'
import { BoundedMap } from '../../values/bounded-map.ts'
import { isEqual } from '../../values/is-equal.ts'
import { isId } from '../../values/is-id.ts'
import type { LabStep, StepFault } from '../record/recorded.ts'
import type { OpaqueForm } from './kind.ts'

/** Finds the client by the secret in the body, or by the access token. A wrong secret is not counted as a failure. */
export async function findProvenClient(
  services: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>,
  { headers, body }: FastifyRequest,
): Promise<string | undefined> {
  const { client_id: clientId, client_secret: secret } = (body ?? {}) as Record<string, unknown>
  if (typeof clientId === 'string' && typeof secret === 'string')
    return (await isClientSecret(services, clientId, secret)) ? clientId : undefined
  const caller = await findCaller(services, headers.authorization)
  return 'refusal' in caller ? undefined : caller.clientId
}

async function isClientSecret({ store }: Pick<Services, 'store'>, clientId: string, secret: string): Promise<boolean> {
  if (!isId(clientId)) return false
  const hash = hashToken(secret)
  return (await listSecretHashes(store.read, clientId)).some(valid => isEqual(valid, hash))
}

/** Returns a token of this size, with the claims of the given token and an additional claim `padding`. */
export async function enlargeAccessToken(
  { addresses, keyRing, clock }: Pick<Services, 'addresses' | 'keyRing' | 'clock'>,
  token: string,
  bytes: number,
): Promise<string> {
  const claims = await verifyAccessToken(keyRing, token, { issuer: addresses.portalUrl, now: clock() })
  if (!claims) return token
  const padding = 'x'.repeat(Math.max(0, Math.floor(((bytes - token.length) * 3) / 4) - ',"padding":""'.length))
  const padded: typeof claims & { padding: string } = { ...claims, padding }
  return signAccessToken(await keyRing.currentSigningKey(), padded)
}

/**
 * Notes which fault affected a request, and adds the fault to the step of this request. The platform itself knows
 * nothing about faults.
 */
export function createStepFaults() {
  const faults = new WeakMap<FastifyRequest, StepFault>()
  const trapped = new WeakSet<FastifyRequest>()

  return {
    note: (request: FastifyRequest, fault: StepFault): void => void faults.set(request, fault),

    /** Notes that a client has followed the redirect of a fault and reached its trap. */
    noteTrap(request: FastifyRequest, fault: StepFault): void {
      faults.set(request, fault)
      trapped.add(request)
    },

    addTo(step: Step, request: FastifyRequest): LabStep {
      const fault = faults.get(request)
      if (!fault) return step
      return { ...step, fault, ...(trapped.has(request) && { kind: 'trap', reason: 'redirect-followed' }) }
    },
  }
}

/** Returns a token that has the same claims and expires after this many seconds, unless it expires earlier anyway. */
export async function endAccessTokenIn(
  { addresses, keyRing, clock }: Pick<Services, 'addresses' | 'keyRing' | 'clock'>,
  token: string,
  seconds: number,
): Promise<string> {
  const now = clock()
  const claims = await verifyAccessToken(keyRing, token, { issuer: addresses.portalUrl, now })
  if (!claims) return token
  return signAccessToken(await keyRing.currentSigningKey(), {
    ...claims,
    exp: Math.min(claims.exp, Math.floor(now.getTime() / 1000) + seconds),
  })
}

/** How many opaque tokens are kept. The platform refuses older opaque tokens. */
const mostOpaqueTokens = 1000

/** Unusual claims of an access token. A client must not depend on the claims. */
const oddClaims = {
  'past-claims': { sub: 5, exp: 1, iat: 'soon', aud: null },
  'future-claims': { sub: { id: 5 }, nbf: 4_102_444_800, iat: 4_102_444_800, exp: 4_133_980_800 },
  'no-claims': {},
  'null-claims': null,
}

function opaqueText(form: OpaqueForm): string {
  const random = (bytes: number) => randomBytes(bytes).toString('base64url')
  if (form === 'plain') return random(32)
  if (form === 'dotted') return [random(12), random(24), random(24)].join('.')
  if (form === 'characters') return `${random(16)}+a/b~c.d_e-f${random(16)}==`
  const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url')
  return [encode({ alg: 'ES256', typ: 'JWT' }), encode(oddClaims[form]), random(64)].join('.')
}

/** Replaces access tokens with opaque strings, like the tokens of a platform that does not use JWTs. */
export function createOpaqueTokens() {
  const tokens = new BoundedMap<string, string>(mostOpaqueTokens)
  /** What the client has sent in the requests that `acceptIn` has changed. */
  const sent = new WeakMap<FastifyRequest, { authorization?: string; body?: unknown }>()
  const note = (request: FastifyRequest, values: { authorization?: string; body?: unknown }) =>
    sent.set(request, { ...sent.get(request), ...values })
  return {
    make(token: string, form: OpaqueForm): string {
      const opaque = opaqueText(form)
      tokens.set(opaque, token)
      return opaque
    },

    /**
     * If the request contains an opaque token, the platform uses the access token that the opaque token replaces. The
     * body of a revocation contains the token in the field `token`.
     */
    acceptIn(request: FastifyRequest): void {
      const { authorization = '' } = request.headers
      const [, sentToken = ''] = /^Bearer +(\S+)$/i.exec(authorization) ?? []
      const bearer = tokens.get(sentToken)
      if (bearer !== undefined) {
        note(request, { authorization })
        request.headers.authorization = `Bearer ${bearer}`
      }
      const { body } = request
      const token = tokens.get((body as { token?: string } | null | undefined)?.token ?? '')
      if (token === undefined) return
      note(request, { body })
      request.body = { ...(body as object), token }
    },

    /** Returns the Authorization header as the client has sent it. */
    authorizationIn: (request: FastifyRequest): string | undefined =>
      sent.get(request)?.authorization ?? request.headers.authorization,

    /** Returns the body as the client has sent it. */
    bodyIn: (request: FastifyRequest): unknown => sent.get(request)?.body ?? request.body,

    /**
     * Returns the step with the opaque tokens that the client sent. The laboratory needs these tokens to find the
     * login.
     */
    showIn(step: Step, request: FastifyRequest): Step {
      const values = sent.get(request)
      if (values === undefined) return step
      const { authorization, body = step.request.body } = values
      const headers = { ...step.request.headers, ...(authorization !== undefined && { authorization }) }
      return { ...step, request: { ...step.request, headers, body } }
    },
  }
}
