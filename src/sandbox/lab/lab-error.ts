// Errors of the laboratory: browsers get a page, and other callers get the error format of the application API.
import type { ErrorObject } from 'ajv'
import type { FastifyError, FastifyInstance } from 'fastify'
import { classifyError, retryAfterUnavailableSeconds } from '../http/report-refusal.ts'
import type { FieldProblems } from '../observe/refusal.ts'
import { errorTitle } from '../web/error-title.ts'
import { messagesOf } from './field-messages.ts'
import { labPageHeaders } from './security-headers.ts'

export class LabError extends Error {
  readonly statusCode: number
  /** The text for the caller: a sentence, or the problems of each field (only for 422). */
  readonly explanation: string | FieldProblems

  constructor(statusCode: number, explanation: string | FieldProblems) {
    super(typeof explanation === 'string' ? explanation : sentenceOf(explanation))
    this.statusCode = statusCode
    this.explanation = explanation
  }
}

/** The message of the error, for callers in the same process. */
function sentenceOf(messages: FieldProblems): string {
  return Object.entries(messages)
    .map(([field, problems]) => `${field}: ${problems.join(' ')}`)
    .join('\n')
}

export function answerInLabDialect(scope: FastifyInstance): void {
  scope.setErrorHandler((error, request, reply) => {
    const { statusCode, explanation } = toLabError(error)
    if (statusCode === 503) reply.header('retry-after', retryAfterUnavailableSeconds)
    if (statusCode >= 500)
      request.log.error({ code: 'lab-failed', cause: (error as Error).message }, 'a request to the laboratory failed')
    // Send a separate header for each scheme. Chromium reads only the first scheme of a header. With one header for
    // both schemes, Chromium would not ask for the password.
    if (statusCode === 401) reply.header('www-authenticate', ['Bearer realm="lab"', 'Basic realm="lab"'])
    reply.status(statusCode)
    // Only browsers ask for text/html by default. A call under /lab/v1 always answers in JSON, as its description says,
    // even if a browser sent it.
    const isCall = request.routeOptions.schema !== undefined
    if (isCall || typeof explanation !== 'string' || !request.headers.accept?.includes('text/html'))
      return reply.send({ error: { status: statusCode, message: explanation } })
    const title = errorTitle(statusCode)
    if (statusCode === 401 || statusCode === 403)
      return reply.type('text/html; charset=utf-8').send(refusalPage(title, explanation))
    return reply.headers(labPageHeaders).viewAsync('lab/message', { title, message: explanation })
  })
  scope.setNotFoundHandler(() => {
    throw new LabError(404, 'There is nothing at this address.')
  })
}

/**
 * The page has no style sheet, because the laboratory would also refuse the request for the style sheet. The function
 * does not escape anything, so pass only fixed text.
 */
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
  const { statusCode } = classifyError(error)
  if (statusCode === 503) return new LabError(503, 'Service Unavailable')
  return statusCode < 500
    ? new LabError(statusCode, unreadable(error as FastifyError, statusCode))
    : new LabError(500, 'Internal Server Error')
}

/** Says why Fastify could not read the request. */
function unreadable(error: FastifyError, statusCode: number): string {
  const { code } = error
  if (code === 'FST_ERR_CTP_EMPTY_JSON_BODY')
    return 'The body is empty. Send a body, or leave out the header Content-Type.'
  if (statusCode === 413) return 'The body is too large.'
  if (statusCode === 415) return 'Send application/json.'
  const isJsonError = code === 'FST_ERR_CTP_INVALID_JSON_BODY' || error instanceof SyntaxError
  return isJsonError ? 'The body cannot be read as JSON.' : 'The request cannot be read.'
}
