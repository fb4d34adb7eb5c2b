// Sends bytes on a separate connection. Checks use this for requests that Node's HTTP client refuses to send, and for
// bodies that never end.
import { connect as connectPlain, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import type { HttpExchange } from './browser/browser.ts'
import { findHost } from './browser/find-host.ts'
import { statusOf } from './findings.ts'
import { addressOf } from './http-address.ts'

export interface RawBytes {
  /** The first bytes, which the evidence shows. Without `more`, they are the whole request. */
  head: string
  /** Called after the head has been sent. Returns the chunks to send next. */
  more?: () => AsyncIterable<string>
  timeoutMs?: number
  /** When this signal aborts, the connection closes. */
  signal?: AbortSignal
}

/** `isClosed`: true if the server closed the connection without an answer. */
export interface RawAnswer {
  exchange: HttpExchange
  isClosed: boolean
  /** The number of bytes that were written to the connection. */
  sent: number
}

/** Sends the bytes to an origin and reads the first answer. The promise does not reject, whatever the server does. */
export async function sendBytes(origin: string, bytes: RawBytes): Promise<RawAnswer> {
  const { head, more, signal, timeoutMs = 8000 } = bytes
  const startedAt = Date.now()
  const started = performance.now()
  const socket = connectTo(origin)
  let received = ''
  let error = ''
  let isOver = false
  let sent = 0
  const over = new Promise<void>(resolve => {
    const end = (why: string) => {
      error ||= why
      isOver = true
      resolve()
    }
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      received = (received + text).slice(0, 100_000)
      if (isWhole(received)) end('')
    })
    socket.on('end', () => end('the connection was closed'))
    socket.on('close', () => end('the connection was closed'))
    socket.on('error', error => end(error.message))
    signal?.addEventListener('abort', () => end('the connection was given up'))
  })
  const write = async (text: string) => {
    if (isOver) return
    sent += Buffer.byteLength(text, 'latin1')
    if (!socket.write(text, 'latin1')) await Promise.race([over, new Promise(resolve => socket.once('drain', resolve))])
  }
  const timer = new AbortController()
  const sending = (async () => {
    await write(head)
    for await (const text of more?.() ?? []) {
      if (isOver) break
      await write(text)
    }
  })()
  const late = wait(timeoutMs, undefined, { signal: timer.signal }).catch(() => undefined)
  await Promise.race([over, late])
  timer.abort()
  const hasEnded = isOver
  isOver = true
  socket.destroy()
  await sending.catch(() => undefined)
  const exchange = toHttpExchange(origin, head, received, hasEnded ? error : `no answer in ${timeoutMs / 1000} s`, {
    startedAt,
    durationMs: performance.now() - started,
  })
  return { exchange, isClosed: hasEnded && statusOf(exchange) === 0, sent }
}

const isHttps = (origin: string) => origin.startsWith('https:')

function connectTo(origin: string): Socket {
  const at = { ...addressOf(origin), lookup: findHost }
  return isHttps(origin) ? connectTls({ ...at, servername: at.host }) : connectPlain(at)
}

/** Whether the headers and the body of the answer show that the whole answer has arrived. */
function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return false
  const head = text.slice(0, end)
  const length = /^content-length:\s*(\d+)/im.exec(head)?.[1]
  if (length !== undefined) return text.length >= end + 4 + Number(length)
  return /^transfer-encoding:.*chunked/im.test(head)
    ? text.endsWith('0\r\n\r\n')
    : /^HTTP\/1\.[01] (204|304)/.test(text)
}

function toHttpExchange(
  origin: string,
  head: string,
  received: string,
  error: string,
  times: Pick<HttpExchange, 'startedAt' | 'durationMs'>,
): HttpExchange {
  const [line = '', ...lines] = head.split('\r\n\r\n')[0]!.split('\r\n')
  const [, method = '', target = ''] = /^(\S+) (.*?)(?: HTTP\/.*)?$/s.exec(line) ?? []
  const headers = Object.fromEntries(lines.map(one => /^([^:]+):\s*(.*)$/s.exec(one)?.slice(1, 3) ?? [one, '']))
  const short = target.length > 200 ? `${target.slice(0, 200)}…` : target
  const request = { method, url: `${origin} ${short}`, headers, body: '' }
  const [answerHead = '', ...body] = received.split('\r\n\r\n')
  const [statusLine = '', ...answerLines] = answerHead.split('\r\n')
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1] ?? 0)
  if (status === 0) return { request, response: { error: error || 'no HTTP answer' }, ...times }
  const answerHeaders = new Headers()
  const setCookies: string[] = []
  for (const one of answerLines) {
    const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*$/s.exec(one) ?? []
    if (name.toLowerCase() === 'set-cookie') setCookies.push(value)
    else if (name) answerHeaders.append(name, value)
  }
  return { request, response: { status, headers: answerHeaders, setCookies, body: body.join('\r\n\r\n') }, ...times }
}

/** Opens a connection, writes `text`, and resets the connection after `afterMs`. */
export async function sendAndReset(origin: string, text: string, afterMs: number): Promise<void> {
  const socket = connectTo(origin)
  socket.on('error', () => {})
  socket.write(text, 'latin1')
  await wait(afterMs)
  if (isHttps(origin)) socket.destroy()
  else socket.resetAndDestroy()
}
