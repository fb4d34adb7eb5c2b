// Collects notes and checks about each request. When the request is answered, the observer gets these notes and checks
// as one step.
import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Reason } from './reasons.ts'
import type { About, Check, Observer, Step, StepKind } from './steps.ts'

interface Notes {
  about: About
  reason?: Reason
  /**
   * Undefined without an observer. Checks contain secrets, so the sandbox keeps the checks only if an observer needs
   * them.
   */
  checks?: Check[]
  stepId?: string
  /** The address of the page about this step. */
  stepUrl?: string
  /** The text of the answer, if the answer is JSON. */
  answer?: string
}

/** The longest JSON answer that is kept. Longer answers are lists, which say nothing about a login. */
const longestAnswer = 16 * 1024

type KindOfStep = StepKind | ((request: FastifyRequest) => StepKind)

/** The options of a route whose requests are recorded as steps of this kind. */
export function step(kind: KindOfStep): { config: object } {
  return { config: { step: kind } }
}

export function noteAbout(request: FastifyRequest, about: About): void {
  Object.assign(notesOf(request).about, about)
}

/** Returns whether the check passed. */
export function noteCheck(request: FastifyRequest, check: Check): boolean {
  notesOf(request).checks?.push(check)
  return check.passed
}

/** Call this for a refusal that is not thrown as an error. For thrown errors, reportRefusal calls this function. */
export function noteReason(request: FastifyRequest, reason: Reason): void {
  notesOf(request).reason = reason
}

/**
 * Returns the client and the reason that the log names for a request. The log does not contain unknown client ids,
 * because a stranger can send any text as an id.
 */
export function clientAndReason(request: FastifyRequest): {
  clientId?: string | undefined
  reason?: Reason | undefined
} {
  const { about: { knownClientId, provenClientId } = {}, reason } = request.stepNotes ?? {}
  const clientId = provenClientId ?? knownClientId
  return { ...(clientId !== undefined && { clientId }), ...(reason !== undefined && { reason }) }
}

/**
 * Returns the id of this request's step. The sandbox makes this id itself: the X-Request-Id header would not be unique,
 * because a caller may send the same header with several requests.
 */
export function stepIdOf(request: FastifyRequest): string {
  const found = notesOf(request)
  found.stepId ??= randomUUID()
  return found.stepId
}

/** Returns the address of the page about this request's step. Returns undefined if there is no laboratory. */
export function stepUrlOf(request: FastifyRequest): string | undefined {
  return request.stepNotes?.stepUrl
}

declare module 'fastify' {
  interface FastifyRequest {
    /** createServer declares this property. Only the functions in this file use it. */
    stepNotes?: Notes | undefined
  }
  interface FastifyInstance {
    /**
     * Exists only with an observer. Call this function for a request whose address cannot be read, because Fastify does
     * not run any hooks for this request.
     */
    observeRequest?(request: FastifyRequest, reply: FastifyReply): void
  }
}

/**
 * Tells the observer about every request to a route that has a kind of step, and about every refused request. The
 * observer does not get the successful requests for the portal's own pages and files. Without an observer, the sandbox
 * keeps no checks and makes no steps, but its log still contains the client and the reason for a refusal.
 */
export function observeRequests(
  server: FastifyInstance,
  { listener, observer, clock }: { listener: Step['listener']; observer: Observer | undefined; clock: () => Date },
): void {
  if (!observer) return
  const emitted = new WeakSet<FastifyRequest>()
  server.decorate('observeRequest', begin)
  server.addHook('onRequest', (request, reply, done) => {
    begin(request, reply)
    done()
  })
  server.addHook('onSend', (request, reply, payload, done) => {
    const isJson = String(reply.getHeader('content-type')).startsWith('application/json')
    if (isJson && typeof payload === 'string' && payload.length <= longestAnswer) notesOf(request).answer = payload
    done()
  })
  server.addHook('onResponse', (request, reply, done) => {
    emit(request, reply)
    done()
  })

  function begin(request: FastifyRequest, reply: FastifyReply): void {
    const found = notesOf(request)
    found.checks = []
    const url = observer?.urlOf?.(stepIdOf(request))
    if (url !== undefined) found.stepUrl = url
    // If the connection ends early, there is no response, and Fastify does not call the onResponse hooks.
    reply.raw.once('close', () => emit(request, reply))
  }

  function emit(request: FastifyRequest, reply: FastifyReply): void {
    const { about, checks = [], reason, answer } = notesOf(request)
    const kind = kindOf(request)
    if (emitted.has(request) || (!kind && !reason)) return
    emitted.add(request)
    const { headersSent, statusCode, writableFinished } = reply.raw
    observer?.onStep(
      {
        id: stepIdOf(request),
        requestId: request.id,
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
      },
      request,
    )
  }
}

function notesOf(request: FastifyRequest): Notes {
  request.stepNotes ??= { about: {} }
  return request.stepNotes
}

function kindOf(request: FastifyRequest): StepKind | undefined {
  const { step } = (request.routeOptions.config ?? {}) as { step?: KindOfStep }
  return typeof step === 'function' ? step(request) : step
}

function toTexts(headers: Record<string, unknown>): Record<string, string> {
  const texts: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) texts[name] = String(value)
  return texts
}
