// Turns every fault into a page that says what happened and what to do, and into one line of the log.
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type NextStep, PublicError } from '../errors.ts'
import { logEvent } from '../operations/request-log.ts'
import { answerPlainly, asPublicError } from './bare-answers.ts'
import { localPath } from './security.ts'
import { showMessage } from './views.ts'

/** Thrown where a request gets another answer than its handler's, and that is no fault. */
export class OtherAnswer extends Error {
  readonly send: (request: FastifyRequest, reply: FastifyReply) => unknown

  constructor(send: OtherAnswer['send']) {
    super('another answer')
    this.send = send
  }
}

type Told = {
  productName: string
  /** What a fault offers to whoever is signed in, because the sign-in itself may be what is wrong. */
  signInAnew: (request: FastifyRequest, returnTo?: string) => NextStep | undefined
}

const startPage = { href: '/', text: 'Go to the start page' }

export function useErrorPages(app: FastifyInstance, { productName, signInAnew }: Told): void {
  const methodsOf = rememberMethods(app)

  app.setErrorHandler<FastifyError>(async (error, request, reply) => {
    try {
      if (error instanceof OtherAnswer) return await error.send(request, reply)
      return await showFault(error, request, reply)
    } catch (fault) {
      // Fastify would answer by itself, with a path of this machine.
      const internal = asPublicError(fault as Error)
      logFault(request, internal)
      return answerPlainly(reply, internal, productName)
    }
  })
  app.setNotFoundHandler((request, reply) => {
    const methods = methodsOf(request.url)
    if (methods.length === 0)
      throw new PublicError('not_found', 404, 'There is no page at this address. Please check it for typing mistakes.')
    reply.header('allow', methods.join(', '))
    throw new PublicError('method_not_allowed', 405, 'This page does not take that kind of request.')
  })

  function showFault(error: Error & { statusCode?: number }, request: FastifyRequest, reply: FastifyReply) {
    const fault = error instanceof PublicError ? error : asPublicError(error)
    logFault(request, fault)
    const { statusCode, message, retryAfterSeconds } = fault
    const retry = statusCode >= 500 && request.method === 'GET' ? localPath(request.url) : undefined
    const nextStep = fault.nextStep ?? (retry ? { href: retry, text: 'Try again' } : startPage)
    if (retryAfterSeconds) reply.header('retry-after', retryAfterSeconds)
    const title = titles[statusCode] ?? 'That did not work'
    const anew = signInAnew(request, retry)
    return showMessage(reply.code(statusCode), { title, message, nextStep, signInAnew: anew, isFault: true })
  }
}

const titles: Record<number, string> = {
  403: 'Not allowed',
  404: 'Page not found',
  500: 'Something went wrong',
  502: 'The platform is not working properly',
  503: 'Too busy right now',
  504: 'The platform took too long to answer',
}

/** Errors are reduced to what can hold no secret: no headers, no bodies, nothing that a library has attached. */
export function logFault(request: FastifyRequest, { code, statusCode, cause }: PublicError): void {
  const level = statusCode >= 500 ? 'error' : 'warn'
  logEvent(request, code, { status: statusCode, cause: describe(cause, code === 'internal'), level })
}

function describe(cause: unknown, withStack = false): unknown {
  if (!(cause instanceof Error)) return cause
  const { name, message, stack } = cause
  const code = 'code' in cause ? String(cause.code) : undefined
  // Node collects the attempts for each address of a name in an AggregateError with an empty message.
  return withStack ? { name, code, stack } : { name, code, message: message || undefined }
}

/** A path that exists for another method is a 405, not a 404: these are its methods. */
function rememberMethods(app: FastifyInstance): (url: string) => string[] {
  const routes: { parts: string[]; method: string }[] = []
  app.addHook('onRoute', ({ url, method }) => {
    for (const one of [method].flat()) routes.push({ parts: url.split('/'), method: one })
  })
  return url => {
    const parts = url.split('?', 1)[0]!.split('/')
    const isHere = (route: string[]) =>
      route.length === parts.length &&
      route.every((part, at) => (part.startsWith(':') ? parts[at] : part === parts[at]))
    return [...new Set(routes.filter(route => isHere(route.parts)).map(route => route.method))]
  }
}
