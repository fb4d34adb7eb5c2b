// Errors of the laboratory: browsers get a page, and all other callers get the dialect of the application API.
import type { ErrorObject } from 'ajv'
import type { FastifyError, FastifyInstance } from 'fastify'
import { faultOf, retryAfterFaultSeconds } from '../http/http-refusal.ts'
import { errorTitle } from '../web/error-title.ts'
import { type FieldMessages, messagesOf } from './check-request.ts'
import { pageHeaders } from './pages/page-headers.ts'

export class LabError extends Error {
  readonly statusCode: number
  readonly told: string | FieldMessages

  /** `told` is what the caller reads: a sentence or, for 422, the problems of each field. */
  constructor(statusCode: number, told: string | FieldMessages) {
    super(typeof told === 'string' ? told : sentenceOf(told))
    this.statusCode = statusCode
    this.told = told
  }
}

/** The message of the error, for callers in the same process. */
function sentenceOf(messages: FieldMessages): string {
  return Object.entries(messages)
    .map(([field, problems]) => `${field}: ${problems.join(' ')}`)
    .join('\n')
}

export function answerInLabDialect(scope: FastifyInstance): void {
  scope.setErrorHandler((error, request, reply) => {
    const { statusCode, told } = toLabError(error)
    if (statusCode === 503) reply.header('retry-after', retryAfterFaultSeconds)
    if (statusCode >= 500) request.log.error({ code: 'lab-failed', cause: (error as Error).message }, 'the laboratory')
    // One header for each scheme. Chromium reads only the first scheme of a header, and would not ask for the password.
    if (statusCode === 401) reply.header('www-authenticate', ['Bearer realm="lab"', 'Basic realm="lab"'])
    reply.status(statusCode)
    // Only browsers ask for text/html without being told to. A described call answers as described, even to a browser.
    const isCall = request.routeOptions.schema !== undefined
    if (isCall || typeof told !== 'string' || !request.headers.accept?.includes('text/html'))
      return reply.send({ error: { status: statusCode, message: told } })
    const title = errorTitle(statusCode)
    if (statusCode === 401 || statusCode === 403)
      return reply.type('text/html; charset=utf-8').send(refusalPage(title, told))
    return reply.headers(pageHeaders).viewAsync('lab/message', { title, message: told })
  })
  scope.setNotFoundHandler(() => {
    throw new LabError(404, 'There is nothing at this address.')
  })
}

/** A page without a stylesheet, because that request would be refused, too. Nothing is escaped: pass only words of our own. */
function refusalPage(title: string, message: string): string {
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title} · Laboratory</title>`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark"></head>',
    `<body><main><h1>${title}</h1><p>${message}</p></main></body></html>`,
  ].join('\n')
}

function toLabError(error: unknown): LabError {
  if (error instanceof LabError) return error
  const { validation, validationContext } = error as Partial<FastifyError>
  if (validation) return new LabError(422, messagesOf(validation as ErrorObject[], validationContext))
  const { statusCode } = faultOf(error)
  if (statusCode === 503) return new LabError(503, 'Service Unavailable')
  return statusCode < 500
    ? new LabError(statusCode, 'The request cannot be read.')
    : new LabError(500, 'Internal Server Error')
}
