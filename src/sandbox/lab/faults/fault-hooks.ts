// Changes the answers of the portal and the API. This happens in hooks around the handlers, so the handlers know
// nothing about faults.
import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { stepIdOf } from '../../observe/observe.ts'
import type { Hide } from '../record/hide.ts'
import type { Logins } from '../record/logins.ts'
import type { StepFault } from '../record/recorded.ts'
import { trackConnections } from './connections.ts'
import { type Answer, type FaultContext, json, noAnswer, type When } from './kind.ts'
import { type OrderedFault, type OrderedFaults, type RequestSource, stepFaultOf } from './orders.ts'
import { type Listener, type Place, type PlaceWords, places, placesOf, startedBy } from './places.ts'
import { findRedirectBack } from './redirect-kinds.ts'
import type { Traps } from './traps.ts'

/**
 * The functions of the platform that faults use. They find the client of a request, change access tokens, and note what
 * happened to the request.
 */
export interface PlatformAccess {
  /** The client of a request, if the platform has already identified it. */
  clientOf(request: FastifyRequest): string | undefined
  /**
   * The client whose secret or access token the request contains. A wrong secret is not counted as a failure, and
   * nothing is stored.
   */
  provenClientOf(request: FastifyRequest): Promise<string | undefined>
  enlargeToken: FaultContext['enlargeToken']
  endTokenIn: FaultContext['endTokenIn']
  makeOpaque: FaultContext['makeOpaque']
  /**
   * If the request contains a string that `makeOpaque` made, the platform uses the access token that this string
   * replaces. Call this again when the body has been read.
   */
  acceptOpaqueToken(request: FastifyRequest): void
  /** The Authorization header as the client has sent it. */
  authorizationIn(request: FastifyRequest): string | undefined
  /** The body as the client has sent it. */
  bodyIn(request: FastifyRequest): unknown
  noteFault(request: FastifyRequest, fault: StepFault): void
  noteTrap(request: FastifyRequest, fault: StepFault): void
}

interface HookOptions {
  orderedFaults: OrderedFaults
  traps: Traps
  platform: PlatformAccess
  logins: Logins
  hide: Hide
}

/** If the platform has not acted, there is no real answer. Faults then change this made-up answer. */
const notActed = madeUp('The platform has not acted, so this answer is made up.')

/** A fault that changes a body needs a body. If the real answer has none, the fault changes this made-up answer. */
const withoutBody = madeUp('The platform has acted. Its real answer has no body, so this answer is made up.')

function madeUp(answer: string): FaultContext['answer'] {
  return json(200, { answer }) as FaultContext['answer']
}

export function addFaultHooks(
  server: FastifyInstance,
  listener: Listener,
  { orderedFaults, traps, platform, ...recorded }: HookOptions,
): void {
  const isOfState = stateReader({ ...recorded, platform })
  const connections = trackConnections()
  /** The requests that a fault has affected. A request has at most one fault. */
  const withFault = new WeakSet<FastifyRequest>()

  server.addHook('onRequest', async request => platform.acceptOpaqueToken(request))
  server.addHook('preHandler', async request => platform.acceptOpaqueToken(request))

  server.addHook('preHandler', async (request, reply) => {
    if (orderedFaults.isEmpty()) return
    const taken = await takeFor(request, placesOf(request, listener), 'before')
    if (!taken) return
    const result = await act(taken, request, reply, notActed)
    if (result === undefined) return
    if (result !== noAnswer) reply.code(result.status).headers(result.headers).send(result.body)
    return goNoFurther()
  })

  // If the platform refuses a request, the platform has not acted. A fault with the time `after` then waits for another
  // request.
  server.addHook('onSend', async (request, reply, payload) => {
    if (orderedFaults.isEmpty() || reply.statusCode >= 400 || withFault.has(request)) return payload
    const headers = singleHeaders(reply.getHeaders())
    const back = findRedirectBack({ headers, body: payload })
    const taken = await takeFor(request, back ? ['redirect'] : placesOf(request, listener), 'after', back)
    if (!taken) return payload
    const body = await readPayload(payload)
    const isReal = body !== '' || back !== undefined || taken.fault.kind === 'headers'
    const answer = isReal ? { status: reply.statusCode, headers, body } : withoutBody
    const result = await act(taken, request, reply, answer)
    if (result === undefined) return body
    if (result === noAnswer) return goNoFurther()
    replace(reply, result)
    return result.body
  })

  server.addHook('preClose', async () => connections.endAll())

  async function takeFor(
    request: FastifyRequest,
    at: Place[],
    when: When,
    back?: string,
  ): Promise<OrderedFault | undefined> {
    // The laboratory's sign-in call sends its requests to the portal within the process, so these requests have no
    // connection.
    const hasConnection = request.raw.socket instanceof Socket
    const candidates = orderedFaults
      .waitingAt(at, when)
      .filter(({ fault, options }) => hasConnection || !fault.needsConnection(options))
    if (candidates.length === 0) return undefined
    const source = await findSource(request, candidates, back)
    const taken = orderedFaults.take(candidates, source, stepIdOf(request))
    if (!taken) return undefined
    withFault.add(request)
    platform.noteFault(request, stepFaultOf(taken))
    return taken
  }

  /**
   * Finds the client and the login of a request. The portal has not authenticated the client yet. If one of the faults
   * is limited to one client, this function authenticates the client. A login request contains no client secret, so its
   * client_id is enough: the fault affects only the browser that sent the request.
   */
  async function findSource(
    request: FastifyRequest,
    candidates: OrderedFault[],
    back?: string,
  ): Promise<RequestSource> {
    const isAsked = candidates.some(({ clientId }) => clientId !== undefined)
    const isStart = candidates.every(({ fault }) => fault.place === 'start')
    const clientId = isAsked ? await (isStart ? startedBy(request) : findClient(request)) : undefined
    return { clientId, isOfState: state => isOfState(request, state, back) }
  }

  async function findClient(request: FastifyRequest): Promise<string | undefined> {
    return platform.clientOf(request) ?? (await platform.provenClientOf(request))
  }

  function act(taken: OrderedFault, request: FastifyRequest, reply: FastifyReply, answer: FaultContext['answer']) {
    const { fault } = taken
    const { dialect }: PlaceWords = places[fault.place]
    return fault.run({
      answer,
      options: taken.options,
      dialect,
      connection: connections.open(request, reply),
      setTrap() {
        const trap = traps.set(taken)
        platform.noteFault(request, { ...stepFaultOf(taken), trap: trap.id })
        return trap.path
      },
      enlargeToken: platform.enlargeToken,
      endTokenIn: platform.endTokenIn,
      makeOpaque: platform.makeOpaque,
    })
  }
}

/**
 * Returns a function that says whether a request belongs to the login whose state has this hash. A request of the login
 * contains the state, or a token of the login.
 */
function stateReader({ platform, logins, hide }: Pick<HookOptions, 'platform' | 'logins' | 'hide'>) {
  return (request: FastifyRequest, state: string, addressBack?: string): boolean => {
    const back = addressBack === undefined ? {} : Object.fromEntries(new URL(addressBack).searchParams)
    const {
      state: sent,
      refresh_token: refreshToken,
      token,
    } = (platform.bodyIn(request) ?? {}) as Record<string, unknown>
    const bearer = platform.authorizationIn(request)?.replace(/^\S+\s+/, '')
    const { state: started } = request.query as Record<string, unknown>
    const isSent = [back.state, sent, started].some(one => typeof one === 'string' && hide.hash(one) === state)
    return (
      isSent ||
      [refreshToken, token, bearer].some(one => typeof one === 'string' && logins.isOfState(hide.hash(one), state))
    )
  }
}

/**
 * Returns a promise that never resolves. If the client closes the connection first, a promise that resolves would let
 * Fastify run the handler, and the platform would act despite the fault.
 */
function goNoFurther(): Promise<never> {
  return new Promise(() => {})
}

/**
 * Sets the status and the headers of the fault's answer, and removes the platform's headers that do not fit this
 * answer.
 */
function replace(reply: FastifyReply, { status, headers }: Answer): void {
  for (const name of ['content-length', 'content-type', 'location']) reply.removeHeader(name)
  reply.code(status).headers(headers)
}

async function readPayload(payload: unknown): Promise<string> {
  if (payload instanceof Readable) return text(payload)
  return payload === undefined || payload === null ? '' : String(payload)
}

/** Returns the headers that have one value, without the length of the platform's own body. */
function singleHeaders(headers: Record<string, unknown>): Record<string, string> {
  const given = Object.entries(headers).filter(
    ([name, value]) => name !== 'content-length' && !Array.isArray(value) && value !== undefined,
  )
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
}
