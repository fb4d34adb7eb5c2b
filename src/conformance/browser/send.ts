// Sends one request over the network, with limits on time and size. Does not follow redirects.
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib'
import { Agent, type Dispatcher, request } from 'undici'
import { findHost } from './find-host.ts'

interface Outgoing {
  method: string
  url: URL
  headers: Record<string, string>
  body: string | undefined
}

interface Incoming {
  status: number
  body: Buffer
}

/** A header value has one character for each byte, as Node reads it. */
export type IncomingHeaders = Record<string, string | string[] | undefined>

/**
 * Sends a request. Rejects with the cause if no complete answer arrives. The signal aborts a request that reaches its
 * time limit. Passes the headers to `onHeaders` as soon as they have arrived, because the body can take longer.
 */
export type Send = (
  outgoing: Outgoing,
  signal: AbortSignal,
  onHeaders: (headers: IncomingHeaders) => void,
) => Promise<Incoming>

/** In bytes. The suite treats a larger answer as an error, because no page for people is so large. */
export const largestBody = 8 * 1024 * 1024

// Opens a new connection for each request. The client could close an old connection just when the next request uses it.
const agent = new Agent({ pipelining: 0, connect: { lookup: findHost } })

export const sendOverNetwork = sendWith(agent)

/**
 * Returns a function that sends all its requests over one connection, so that one process of the client answers them.
 * If the client has closed the connection, the next request opens a new connection.
 */
export function sendOverOneConnection(): Send {
  const oneConnection = new Agent({
    connections: 1,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    connect: { lookup: findHost },
  })
  const send = sendWith(oneConnection)
  let isFirst = true
  return async (outgoing, signal, onHeaders) => {
    const isOnOldConnection = !isFirst
    isFirst = false
    let isAnswered = false
    try {
      return await send(outgoing, signal, headers => {
        isAnswered = true
        onHeaders(headers)
      })
    } catch (error) {
      // The client may have closed the idle connection just when this request was sent. Browsers then send the request
      // again on a new connection.
      if (isOnOldConnection && !isAnswered && isConnectionBroken(error))
        return sendOverNetwork(outgoing, signal, onHeaders)
      throw error
    }
  }
}

/** How long an idle connection stays open. Many servers close an idle connection after five seconds. */
const keepAliveMs = 5000

function sendWith(dispatcher: Dispatcher): Send {
  return async ({ method, url, headers, body }, signal, onHeaders) => {
    const answer = await request(url, {
      method: method as Dispatcher.HttpMethod,
      headers,
      body: body ?? null,
      signal,
      dispatcher,
      // The signal already limits both times.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    onHeaders(answer.headers)
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > largestBody) throw new Error(`the answer is larger than ${largestBody} bytes`)
      chunks.push(chunk)
    }
    return { status: answer.statusCode, body: Buffer.concat(chunks) }
  }
}

const connectionErrors = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
  // The answer ended early.
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
]

/** True if the connection was refused, or if it ended before the whole answer had arrived. */
export function isConnectionBroken(error: unknown): boolean {
  // If Node tried several addresses, an AggregateError contains one error for each address.
  const errors: NodeJS.ErrnoException[] = error instanceof AggregateError ? [error, ...error.errors] : [error]
  return errors.some(
    // If an answer without Content-Length ends early, undici's error has no code, only this text.
    ({ code, message }) => connectionErrors.includes(code ?? '') || message.includes('Invalid EOF state'),
  )
}

const decoders: Record<string, (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>> = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
}
export const acceptEncoding = Object.keys(decoders).join(', ')

/**
 * Unpacks the body of an answer, and decodes it with the charset from its header, its first bytes or its meta element.
 */
export async function readText(body: Buffer, headers: Headers): Promise<string> {
  let bytes = body
  const codings = (headers.get('content-encoding') ?? '').toLowerCase().split(',')
  for (const coding of codings.map(one => one.trim()).reverse()) {
    // Servers also send Content-Encoding with answers that have no body, such as redirects. Chromium accepts this.
    if (coding in decoders && bytes.length > 0) bytes = await decoders[coding]!(bytes, { maxOutputLength: largestBody })
  }
  const isUnicode = bytes.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf]))
  const named =
    /charset\s*=\s*["']?([\w-]+)/i.exec(headers.get('content-type') ?? '') ??
    /<meta[^>]+charset\s*=\s*["']?([\w-]+)/i.exec(bytes.subarray(0, 1024).toString('latin1'))
  return decode(bytes, isUnicode ? 'utf-8' : named?.[1])
}

function decode(bytes: Buffer, charset = 'utf-8'): string {
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}
