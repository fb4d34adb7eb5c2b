// Makes answers of the portal and the API go wrong, in hooks around their handlers. The handlers know nothing of faults.
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { stepIdOf } from '../../observe/observe.ts'
import type { StepFault } from '../recorded.ts'
import { trackConnections } from './connections.ts'
import { type Answer, type FaultContext, json, noAnswer, type When } from './kind.ts'
import { type Caller, type OrderedFault, type OrderedFaults, stepFaultOf } from './orders.ts'
import { type Listener, type Place, type PlaceWords, places, placesOf } from './places.ts'
import { findRedirectBack } from './redirect-kinds.ts'
import type { Traps } from './traps.ts'

/** What the platform lends: who asks, and where one writes down what happened to a request. */
export interface EdgePowers {
  /** The client that the platform knows a request to be of, as far as it has got with it. */
  clientOf(request: FastifyRequest): string | undefined
  /** The client that the request proves to be of. Nothing is counted, and nothing kept. */
  provenClientOf(request: FastifyRequest): Promise<string | undefined>
  enlargeToken(token: string, bytes: number): Promise<string>
  noteFault(request: FastifyRequest, fault: StepFault): void
  noteTrap(request: FastifyRequest, fault: StepFault): void
}

interface Parts {
  orderedFaults: OrderedFaults
  traps: Traps
  powers: EdgePowers
  /** Whether the login of this request was begun with the state whose hash is given. */
  isOfState(request: FastifyRequest, state: string, addressBack?: string): boolean
}

/** Takes the place of the platform's answer if the platform has not acted. */
const substitute = json(200, {
  answer: 'The platform has not acted, so nothing in here is true.',
}) as FaultContext['answer']

export function actAtEdge(
  server: FastifyInstance,
  listener: Listener,
  { orderedFaults, traps, powers, isOfState }: Parts,
): void {
  const connections = trackConnections()
  /** One request has one fault. */
  const dealtWith = new WeakSet<FastifyRequest>()

  server.addHook('preHandler', async (request, reply) => {
    if (orderedFaults.isEmpty()) return
    const taken = await takeFor(request, placesOf(request, listener), 'before')
    if (!taken) return
    const outcome = await act(taken, request, reply, substitute)
    if (outcome === undefined) return
    if (outcome !== noAnswer) reply.code(outcome.status).headers(outcome.headers).send(outcome.body)
    return goNoFurther()
  })

  // A platform that has refused has not acted: what is to go wrong afterwards waits for another request.
  server.addHook('onSend', async (request, reply, payload) => {
    if (orderedFaults.isEmpty() || reply.statusCode >= 400 || dealtWith.has(request)) return payload
    const headers = toTexts(reply.getHeaders())
    const back = findRedirectBack({ headers, body: payload })
    const taken = await takeFor(request, back ? ['redirect'] : placesOf(request, listener), 'after', back)
    if (!taken) return payload
    const body = await readPayload(payload)
    const answer = body || back ? { status: reply.statusCode, headers, body } : substitute
    const outcome = await act(taken, request, reply, answer)
    if (outcome === undefined) return body
    if (outcome === noAnswer) return goNoFurther()
    replace(reply, outcome)
    return outcome.body
  })

  server.addHook('preClose', async () => connections.endAll())

  async function takeFor(
    request: FastifyRequest,
    at: Place[],
    when: When,
    back?: string,
  ): Promise<OrderedFault | undefined> {
    const candidates = orderedFaults.waitingAt(at, when)
    if (candidates.length === 0) return undefined
    const caller = await findCaller(request, candidates, back)
    const taken = orderedFaults.take(candidates, caller, stepIdOf(request))
    if (!taken) return undefined
    dealtWith.add(request)
    powers.noteFault(request, stepFaultOf(taken))
    return taken
  }

  /** Before the portal has acted it has proven nobody. */
  async function findCaller(request: FastifyRequest, candidates: OrderedFault[], back?: string): Promise<Caller> {
    const isAsked = candidates.some(({ clientId }) => clientId !== undefined)
    const clientId = isAsked ? (powers.clientOf(request) ?? (await powers.provenClientOf(request))) : undefined
    return { clientId, isOfState: state => isOfState(request, state, back) }
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
        powers.noteFault(request, { ...stepFaultOf(taken), trap: trap.id })
        return trap.path
      },
      enlargeToken: powers.enlargeToken,
    })
  }
}

/** A hook that has resolved is followed by the handler, also where an answer was begun and its client has left. */
function goNoFurther(): Promise<never> {
  return new Promise(() => {})
}

/** Headers that the platform has set and the answer has not go; those of its connection stay. */
function replace(reply: FastifyReply, { status, headers }: Answer): void {
  for (const name of ['content-length', 'content-type', 'location']) reply.removeHeader(name)
  reply.code(status).headers(headers)
}

async function readPayload(payload: unknown): Promise<string> {
  if (payload instanceof Readable) return text(payload)
  return payload === undefined || payload === null ? '' : String(payload)
}

function toTexts(headers: Record<string, unknown>): Record<string, string> {
  const given = Object.entries(headers).filter(
    ([name, value]) => name !== 'content-length' && !Array.isArray(value) && value !== undefined,
  )
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
}
