// The one way out: every request to the login portal and to the application API goes through here.
import { Agent, type Dispatcher, errors, request } from 'undici'
import { PublicError } from './errors.ts'

/** The request that calls are made for: its id and its trace go along, and no call outlives it. */
export type RequestContext = {
  requestId: string
  /** The caller's W3C trace context, as it came. */
  traceparent?: string | undefined
  /** By `performance.now()`. */
  endsAt: number
}

/** For calls that no visitor waits for: only each call's own deadline counts. */
export const outsideRequests = (requestId: string): RequestContext => ({ requestId, endsAt: Number.POSITIVE_INFINITY })

export type Call = {
  context: RequestContext
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  url: string
  /** Only what the call needs; nothing of the browser's request is passed on but its id. */
  headers?: Record<string, string>
  body?: string
  /** For the whole call, body included: undici's own timeouts never fire on a body that drips. */
  deadlineMs: number
  maxBytes: number
}

export type Answer = {
  status: number
  /** The body, parsed; undefined where its content type is not JSON, or its text is not. */
  json: unknown
  retryAfterSeconds: number | undefined
  /** The entity tag of what the body shows (RFC 9110 8.8.3). */
  etag: string | undefined
}

export type Upstream = ReturnType<typeof createUpstream>

/** A connection serves one call at a time; more calls than this at once mean that the other side hangs. */
const mostOpenCalls = 256
/** Of all answers of one side that are being read at the same time. */
const mostOpenBytes = 64 * 1024 * 1024
/** Parsed, a value takes many times the bytes that it is sent in, and a level of nesting some stack. */
const mostValues = 250_000
const mostLevels = 32
const longestRetryAfterSeconds = 3600

/** What goes wrong with the other side: the status that the visitor gets, and what follows its name. */
const faults = {
  busy: [503, 'is busy. Please try again soon.'],
  certificate: [
    502,
    'could not be reached over a secure connection. If this keeps happening, tell the operator of this site.',
  ],
  failed: [502, 'is not working right now. Please try again soon.'],
  overloaded: [503, 'is answering too slowly at the moment. Please try again soon.'],
  timeout: [504, 'took too long to answer. Please try again.'],
  unexpected: [502, 'gave an answer that this site does not understand. Please try again.'],
  unreachable: [502, 'could not be reached. Please try again soon.'],
} as const

/** Told of each call when it has ended; `status` is `failed` where it got no answer that could be read. */
export type CountCall = (to: string, status: string, seconds: number) => void

/** `name` is what visitors call the other side; `code` begins the codes of its faults: portal → portal_timeout. */
export function createUpstream(name: string, code: string, dispatcher: Dispatcher, countCall: CountCall = () => {}) {
  let openCalls = 0
  let openBytes = 0

  /**
   * Sends one request. Any status but a redirect is an answer, for the caller to judge. Follows no redirect, since that
   * would hand the client secret to another host; decodes nothing, since a small body could then become a huge one.
   * Throws PublicError: 502 unreachable or unintelligible, 503 too many calls open, 504 too slow.
   */
  async function send(call: Call): Promise<Answer> {
    if (openCalls >= mostOpenCalls) throw fault('overloaded')
    const startedAt = performance.now()
    const deadlineMs = Math.min(call.deadlineMs, call.context.endsAt - startedAt)
    if (deadlineMs <= 0) throw fault('timeout', 'the request had no time left')
    openCalls++
    let status = 'failed'
    try {
      const answer = await beforeDeadline(deadlineMs, async signal => read(await open(call, signal), call.maxBytes))
      status = String(answer.status)
      return answer
    } catch (error) {
      if (error instanceof PublicError) throw error
      if (isTimeout(error)) throw fault('timeout', error)
      throw fault(isBadCertificate(error) ? 'certificate' : 'unreachable', error)
    } finally {
      openCalls--
      countCall(code, status, (performance.now() - startedAt) / 1000)
    }
  }

  async function open(call: Call, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { url, method, context, body = null } = call
    const headers = {
      accept: 'application/json',
      'accept-encoding': 'identity',
      'x-request-id': context.requestId,
      ...(context.traceparent && { traceparent: context.traceparent }),
      ...call.headers,
    }
    const once = () => request(url, { dispatcher, method, headers, body, signal })
    try {
      return await once()
    } catch (error) {
      // A kept-alive connection may be closed by the other side just as it is used. Only reading may be repeated.
      if (method === 'GET' && isLostConnection(error)) return await once()
      throw error
    }
  }

  async function read(response: Dispatcher.ResponseData, maxBytes: number): Promise<Answer> {
    const { statusCode: status, headers, body } = response
    // A body that is neither read nor destroyed would hold its connection for ever.
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
        if (openBytes > mostOpenBytes) throw refuse(fault('overloaded'))
        chunks.push(chunk)
      }
    } finally {
      openBytes -= size
    }
    const bytes = Buffer.concat(chunks)
    const isRead = isJson(headers['content-type'])
    if (isRead && !isBounded(bytes)) throw unexpected(`more than ${mostValues} values or ${mostLevels} levels`)
    const json = isRead ? parseJson(bytes.toString('utf8')) : undefined
    const etag = typeof headers.etag === 'string' ? headers.etag : undefined
    return { status, json, retryAfterSeconds: readRetryAfter(headers), etag }
  }

  /** An answer that the caller cannot use. `detail` is for the log; it must not quote the answer. */
  const unexpected = (detail: string) => fault('unexpected', detail)

  /** An answer whose status the caller cannot use: the other side asks for patience, is broken, or says what makes no sense. */
  function unusable({ status, retryAfterSeconds }: Answer): PublicError {
    const cause = `status ${status}`
    if (status === 429 || status === 503) return fault('busy', cause, retryAfterSeconds)
    return fault(status >= 500 ? 'failed' : 'unexpected', cause)
  }

  function fault(kind: keyof typeof faults, cause?: unknown, retryAfterSeconds?: number): PublicError {
    const [status, sentence] = faults[kind]
    const when = retryAfterSeconds ? sentence.replace('soon', `in ${retryAfterSeconds} seconds`) : sentence
    return new PublicError(`${code}_${kind}`, status, `The ${name} ${when}`, { cause, retryAfterSeconds })
  }

  return { send, unexpected, unusable }
}

/** A signal alone would not do: undici looks at it only once a call has a connection, and that may be long in coming. */
async function beforeDeadline<T>(deadlineMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  const late = Promise.withResolvers<never>()
  const giveUp = () => {
    const error = new DOMException(`No answer in ${deadlineMs} ms`, 'TimeoutError')
    controller.abort(error)
    late.reject(error)
  }
  // Timers come before what has arrived: after a pause of the process an answer may be there, waiting to be read.
  const timer = setTimeout(() => setImmediate(giveUp), deadlineMs)
  return Promise.race([work(controller.signal), late.promise]).finally(() => clearTimeout(timer))
}

/** Certificates are always checked; a CA of your own goes into NODE_EXTRA_CA_CERTS. */
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

/** Whether a value that came from outside is an object with names, so that it can be looked into. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isJson(contentType: string | string[] | undefined): boolean {
  return typeof contentType === 'string' && /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(contentType)
}

/** Counts before anything is parsed; whether it is JSON at all is for JSON.parse to say. */
function isBounded(bytes: Buffer): boolean {
  let values = 1
  let levels = 0
  let isEmpty = false
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index]!
    // White space. Whatever else comes first in a list or an object is its first value.
    if (byte <= 0x20) continue
    const isEnd = byte === 0x5d || byte === 0x7d
    if (isEmpty && !isEnd) values++
    isEmpty = byte === 0x5b || byte === 0x7b
    if (byte === 0x22) index = endOfText(bytes, index)
    else if (byte === 0x2c) values++
    else if (isEmpty) levels++
    else if (isEnd) levels--
    if (values > mostValues || levels > mostLevels) return false
  }
  return true
}

/** A loop of its own, because most bytes stand in texts, and here there is less to ask about each: it takes half the time. */
function endOfText(bytes: Buffer, start: number): number {
  let index = start + 1
  while (index < bytes.length && bytes[index] !== 0x22) index += bytes[index] === 0x5c ? 2 : 1
  return index
}

/** JSON.parse quotes the text in its error, which would carry tokens into the log. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** RFC 9110 10.2.3 allows seconds or a date; a date is read by the sender's own clock, which its Date header tells. */
function readRetryAfter({ 'retry-after': header, date }: Dispatcher.ResponseData['headers']): number | undefined {
  if (typeof header !== 'string') return undefined
  const untilDate = / GMT$/.test(header) ? Math.ceil((Date.parse(header) - Date.parse(String(date))) / 1000) : undefined
  const seconds = /^\d{1,12}$/.test(header) ? Number(header) : untilDate
  return seconds && seconds > 0 ? Math.min(seconds, longestRetryAfterSeconds) : undefined
}

function isLostConnection(error: unknown): boolean {
  return error instanceof errors.SocketError || /^(ECONNRESET|EPIPE)$/.test(codeOf(error))
}

function isTimeout(error: unknown): boolean {
  const isDeadline = error instanceof Error && error.name === 'TimeoutError'
  return isDeadline || /^(UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT|ETIMEDOUT)$/.test(codeOf(error))
}

/** What OpenSSL and Node say of a certificate that is not to be trusted. */
function isBadCertificate(error: unknown): boolean {
  return /CERT|^UNABLE_TO_VERIFY|^INVALID_CA$|^HOSTNAME_MISMATCH$/.test(codeOf(error))
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
