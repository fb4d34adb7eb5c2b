// Sends the calls to the login portal and the application API. All requests that this process sends go through this
// file.
import { Agent, type Dispatcher, errors, request } from 'undici'
import { PublicError } from './errors.ts'
import { isWithinJsonLimits, maxJsonLevels, maxJsonValues } from './json-limits.ts'
import type { Texts } from './texts.ts'

/**
 * The data that a call to the portal or the API needs from a browser's request. The call sends the request's id and
 * trace context, and must end before the request's deadline.
 */
export type RequestContext = {
  requestId: string
  /** The W3C trace context of the incoming request. The calls to the portal and the API send the same value. */
  traceparent?: string | undefined
  /** The deadline of the browser's request, as a value of `performance.now()`. */
  endsAt: number
}

/** The context of a call that no visitor waits for. Only the call's own deadline limits its time. */
export const backgroundContext = (requestId: string): RequestContext => ({
  requestId,
  endsAt: Number.POSITIVE_INFINITY,
})

export type Call = {
  context: RequestContext
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  url: string
  /**
   * The call also sends the request id and the trace context of the browser's request. It sends no other headers from
   * the browser.
   */
  headers?: Record<string, string>
  body?: string
  /**
   * The deadline of the whole call, including the body. undici's own timeouts are not enough: they start again with
   * each piece of the body, so they do not limit the time of a body that arrives slowly.
   */
  deadlineMs: number
  maxBytes: number
}

export type AnswerHeaders = Record<string, string | string[] | undefined>

export type Answer = {
  status: number
  /** The parsed body, or undefined if the content type is not JSON or the text cannot be parsed. */
  json: unknown
  /** The keys are the names of the headers, in lower case. If a header appears more than once, its value is a list. */
  headers: AnswerHeaders
  retryAfterSeconds: number | undefined
}

export type Upstream = ReturnType<typeof createUpstream>

/** Counts a finished call to the portal or the API. `status` is `failed` if there was no usable answer. */
export type CountCall = (to: string, status: string, seconds: number) => void

/**
 * The maximum number of open calls. At most 64 calls have a connection (createDispatcher), and all other calls wait for
 * a connection. If 256 calls are open, the portal or the API has probably stopped responding.
 */
const maxOpenCalls = 256
/** The maximum total size, in bytes, of the responses that the client reads from one upstream at the same time. */
const maxOpenBytes = 64 * 1024 * 1024
const maxRetryAfterSeconds = 3600

/** What can go wrong with a call, and the status that the visitor then gets. The messages are in upstream-texts.ts. */
const faultStatus = {
  busy: 503,
  certificate: 502,
  failed: 502,
  overloaded: 503,
  timeout: 504,
  unexpected: 502,
  unreachable: 502,
} as const

/**
 * Creates the functions that call the portal or the API. All error codes begin with `name`. For example, the code of a
 * timeout at the portal is `portal_timeout`.
 */
export function createUpstream(name: 'portal' | 'api', dispatcher: Dispatcher, countCall: CountCall = () => {}) {
  let openCalls = 0
  let openBytes = 0

  /**
   * Sends one request and returns the response. Refuses redirects, because following a redirect would send the client
   * secret or the access token to another host. Refuses compressed answers, because a small compressed body can become
   * a huge body. Any status other than a redirect is accepted.
   *
   * Throws PublicError. The status is 502 if the upstream is unreachable or the answer is not usable. It is 503 if too
   * many calls are open, and 504 if the deadline has passed.
   */
  async function send(call: Call): Promise<Answer> {
    if (openCalls >= maxOpenCalls) throw fault('overloaded')
    const startedAt = performance.now()
    const deadlineMs = Math.min(call.deadlineMs, call.context.endsAt - startedAt)
    if (deadlineMs <= 0) throw fault('timeout', 'the request had no time left')
    openCalls++
    let status = 'failed'
    try {
      const answer = await beforeDeadline(deadlineMs, async signal =>
        readAnswer(await sendRequest(call, signal), call.maxBytes),
      )
      status = String(answer.status)
      return answer
    } catch (error) {
      if (error instanceof PublicError) throw error
      if (isTimeout(error)) throw fault('timeout', error)
      throw fault(isCertificateError(error) ? 'certificate' : 'unreachable', error)
    } finally {
      openCalls--
      countCall(name, status, (performance.now() - startedAt) / 1000)
    }
  }

  async function sendRequest(call: Call, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { url, method, context, body = null } = call
    const headers = {
      accept: 'application/json',
      'accept-encoding': 'identity',
      'x-request-id': context.requestId,
      ...(context.traceparent && { traceparent: context.traceparent }),
      ...call.headers,
    }
    try {
      return await request(url, { dispatcher, method, headers, body, signal })
    } catch (error) {
      // The portal or the API may close an idle connection just when the client uses it again. In that case, the client
      // sends a GET request once more. The client does not repeat requests with other methods.
      if (method !== 'GET' || !isConnectionLost(error)) throw error
      return await request(url, { dispatcher, method, headers, body, signal })
    }
  }

  async function readAnswer(response: Dispatcher.ResponseData, maxBytes: number): Promise<Answer> {
    const { statusCode: status, headers, body } = response
    // If the client does not read a body, it must destroy the body. Otherwise the connection stays open forever.
    const refuse = (refusal: PublicError) => {
      body.on('error', () => {}).destroy()
      return refusal
    }
    if (status >= 300 && status < 400) throw refuse(unexpected(`redirect ${status}`))
    if (!/^identity$/i.test(String(headers['content-encoding'] ?? 'identity')))
      throw refuse(unexpected('content-encoding'))

    const chunks: Buffer[] = []
    let size = 0
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        size += chunk.length
        openBytes += chunk.length
        if (size > maxBytes) throw refuse(unexpected(`more than ${maxBytes} bytes`))
        if (openBytes > maxOpenBytes) throw refuse(fault('overloaded'))
        chunks.push(chunk)
      }
    } finally {
      openBytes -= size
    }

    const bytes = Buffer.concat(chunks)
    const hasJson = isJsonType(headers['content-type'])
    if (hasJson && !isWithinJsonLimits(bytes))
      throw unexpected(`more than ${maxJsonValues} values or ${maxJsonLevels} levels`)
    return {
      status,
      json: hasJson ? parseJson(bytes.toString('utf8')) : undefined,
      headers,
      retryAfterSeconds: readRetryAfter(headers['retry-after']),
    }
  }

  /**
   * Returns the error for an answer that cannot be used. `detail` is written to the log, so it must not quote the
   * answer.
   */
  const unexpected = (detail: string) => fault('unexpected', detail)

  /** Returns the error for an answer with a status that the caller does not handle. */
  function unexpectedStatus({ status, retryAfterSeconds }: Answer): PublicError {
    const cause = `status ${status}`
    if (status === 429 || status === 503) return fault('busy', cause, retryAfterSeconds)
    return fault(status >= 500 ? 'failed' : 'unexpected', cause)
  }

  function fault(kind: keyof typeof faultStatus, cause?: unknown, retryAfterSeconds?: number): PublicError {
    const sentence = ({ upstream }: Texts) =>
      kind === 'busy' ? upstream[name].busy(retryAfterSeconds) : upstream[name][kind]
    return new PublicError(`${name}_${kind}`, faultStatus[kind], sentence, { cause, retryAfterSeconds })
  }

  return { send, unexpected, unexpectedStatus }
}

/**
 * Makes the connections to the portal and the API. Certificates are always checked. To trust another certificate
 * authority, set NODE_EXTRA_CA_CERTS.
 */
export function createDispatcher(): Dispatcher {
  return new Agent({
    connect: { timeout: 2_500 },
    connections: 64,
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: 16 * 1024,
    headersTimeout: 10_000,
    bodyTimeout: 10_000,
  })
}

/** Whether a parsed value is a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Runs `work`, and throws an error if `work` does not end before the deadline. An AbortSignal is not enough: undici
 * checks the signal only after the call has got a connection, and the wait for a connection can be long.
 */
async function beforeDeadline<T>(deadlineMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  const deadline = Promise.withResolvers<never>()
  const giveUp = () => {
    const error = new DOMException(`No answer in ${deadlineMs} ms`, 'TimeoutError')
    controller.abort(error)
    deadline.reject(error)
  }
  // Node runs timers before it reads sockets. If the process was paused, an answer may have arrived in the meantime.
  // setImmediate lets Node read this answer first.
  let immediate: NodeJS.Immediate | undefined
  const timer = setTimeout(() => {
    immediate = setImmediate(giveUp)
  }, deadlineMs)
  return Promise.race([work(controller.signal), deadline.promise]).finally(() => {
    clearTimeout(timer)
    // Cancel the immediate too. Until the immediate runs, it keeps the answer in memory, and a busy process may read
    // many other answers in that time.
    clearImmediate(immediate)
  })
}

function isJsonType(contentType: string | string[] | undefined): boolean {
  return typeof contentType === 'string' && /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(contentType)
}

/**
 * Returns undefined if the text is not JSON. The error of JSON.parse must not be thrown: it quotes the text, so tokens
 * could get into the log.
 */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** RFC 9110 10.2.3: Retry-After contains a number of seconds or a date. */
function readRetryAfter(header: string | string[] | undefined): number | undefined {
  if (typeof header !== 'string') return undefined
  const seconds = /^\d{1,12}$/.test(header) ? Number(header) : Math.ceil((Date.parse(header) - Date.now()) / 1000)
  return seconds > 0 ? Math.min(seconds, maxRetryAfterSeconds) : undefined
}

function isConnectionLost(error: unknown): boolean {
  return error instanceof errors.SocketError || /^(ECONNRESET|EPIPE)$/.test(codeOf(error))
}

function isTimeout(error: unknown): boolean {
  const isDeadline = error instanceof Error && error.name === 'TimeoutError'
  return isDeadline || /^(UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT|ETIMEDOUT)$/.test(codeOf(error))
}

/** Recognises the error codes that OpenSSL and Node use for a certificate that is not trusted. */
function isCertificateError(error: unknown): boolean {
  return /CERT|^UNABLE_TO_VERIFY|^INVALID_CA$|^HOSTNAME_MISMATCH$/.test(codeOf(error))
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
