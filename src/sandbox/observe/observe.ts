// Notes during a request what it is about and what was checked, and tells whoever observes once it is answered.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { About, Check, Observer, Reason, Step, StepFault, StepKind } from './steps.ts'

interface Notes {
  kind?: StepKind
  about: About
  reason?: Reason
  fault?: StepFault
  /** Undefined where nobody observes: they hold secrets, so nobody keeps them for nothing. */
  checks?: Check[]
  /** The text of an answer in JSON. */
  answer?: string
}

const notes = new WeakMap<FastifyRequest, Notes>()

/** Longer answers are lists, which say nothing of a login. */
const longestAnswer = 16 * 1024

/** For a route's entry in the list of its listener: the step of the protocol that its requests are. */
export function step(kind: StepKind): { config: object } {
  return { config: { step: kind } }
}

/** Where a route alone does not say which step it is. */
export function noteKind(request: FastifyRequest, kind: StepKind): void {
  notesOf(request).kind = kind
}

export function noteAbout(request: FastifyRequest, about: About): void {
  Object.assign(notesOf(request).about, about)
}

/** Gives back whether it passed. */
export function noteCheck(request: FastifyRequest, check: Check): boolean {
  notesOf(request).checks?.push(check)
  return check.passed
}

/** For a refusal that is no error; of one that is, logRefusal does it. */
export function noteReason(request: FastifyRequest, reason: Reason): void {
  notesOf(request).reason = reason
}

/** For an answer that goes wrong because somebody asked for that. */
export function noteFault(request: FastifyRequest, fault: StepFault): void {
  notesOf(request).fault = fault
}

/** For a request that went where such an answer led. */
export function noteTrap(request: FastifyRequest, fault: StepFault): void {
  Object.assign(notesOf(request), { kind: 'trap', reason: 'redirect-followed', fault })
}

/** What the log says of a request. A client that nobody knows is not named: its id is whatever a stranger sent. */
export function whoAndWhy(request: FastifyRequest): { clientId?: string | undefined; reason?: Reason | undefined } {
  const { about: { knownClientId, provenClientId } = {}, reason } = notes.get(request) ?? {}
  const clientId = provenClientId ?? knownClientId
  return { ...(clientId !== undefined && { clientId }), ...(reason !== undefined && { reason }) }
}

/**
 * Tells of every request that is a step, or that was refused; the portal's own pages and files are neither. With no
 * observer nothing is collected.
 */
export function observeRequests(
  server: FastifyInstance,
  { listener, observe, clock }: { listener: Step['listener']; observe: Observer | undefined; clock: () => Date },
): void {
  if (!observe) return
  const tellStep = observe
  const told = new WeakSet<FastifyRequest>()
  server.addHook('onRequest', async (request, reply) => {
    notesOf(request).checks = []
    // Where a fault has cut the connection, there is no response.
    reply.raw.once('close', () => {
      if (notesOf(request).fault) tell(request, reply)
    })
  })
  server.addHook('onSend', async (request, reply, payload) => {
    const isJson = String(reply.getHeader('content-type')).startsWith('application/json')
    if (isJson && typeof payload === 'string' && payload.length <= longestAnswer) notesOf(request).answer = payload
  })
  server.addHook('onResponse', async (request, reply) => tell(request, reply))

  function tell(request: FastifyRequest, reply: FastifyReply): void {
    const { kind = kindOf(request), about, checks = [], reason, fault, answer } = notesOf(request)
    if (told.has(request) || (!kind && !reason)) return
    told.add(request)
    const { headersSent, statusCode, writableFinished } = reply.raw
    tellStep({
      id: request.id,
      at: new Date(clock().getTime() - Math.round(reply.elapsedTime)),
      listener,
      kind: kind ?? (listener === 'api' ? 'api' : 'page'),
      route: request.routeOptions.url ?? '(none)',
      durationMs: Math.round(reply.elapsedTime),
      request: { method: request.method, url: request.url, headers: toTexts(request.headers), body: request.body },
      response: {
        status: headersSent ? statusCode : 0,
        headers: toTexts(reply.getHeaders()),
        body: answer,
        ...(!writableFinished && { isCut: true }),
      },
      about,
      checks,
      reason,
      fault,
    })
  }
}

function notesOf(request: FastifyRequest): Notes {
  const found = notes.get(request) ?? { about: {} }
  notes.set(request, found)
  return found
}

function kindOf(request: FastifyRequest): StepKind | undefined {
  return (request.routeOptions.config as { step?: StepKind } | undefined)?.step
}

function toTexts(headers: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  )
}
