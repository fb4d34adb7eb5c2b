// A client that reads raw bytes. It returns three things: the answer, the number of pieces in which it arrived, and how
// the connection ended.
import type { FastifyInstance } from 'fastify'
import { openSocket } from '../../../support/raw-socket.ts'
import type { PlatformCall } from './platform-calls.ts'

export interface Raw {
  status: number
  headers: Record<string, string>
  /** The bytes of the body, as latin1 text. */
  body: string
  /** The whole answer, with its headers. */
  text: string
  pieces: number
  isReset: boolean
  ms: number
}

/**
 * Sends a call and reads the answer. Stops reading when `enough` returns true for the text so far, or when `untilThen`
 * has resolved.
 */
export async function askRaw(
  listener: FastifyInstance,
  { method, url, headers, body }: PlatformCall,
  {
    enough = () => false,
    untilThen,
  }: { enough?: (text: string, pieces: number) => boolean; untilThen?: () => Promise<unknown> } = {},
): Promise<Raw> {
  const socket = (await openSocket(listener)).setEncoding('latin1')
  const begun = performance.now()
  let text = ''
  let pieces = 0
  let isReset = false
  socket.on('error', error => {
    isReset = (error as NodeJS.ErrnoException).code === 'ECONNRESET'
  })
  socket.on('data', piece => {
    text += piece
    pieces++
    if (enough(text, pieces)) socket.destroy()
  })
  const lines = [
    `${method} ${url} HTTP/1.1`,
    'host: 127.0.0.1',
    'connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body ? [`content-length: ${Buffer.byteLength(body)}`] : []),
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`)
  const closed = new Promise(resolve => socket.once('close', resolve))
  if (untilThen) {
    await untilThen()
    socket.destroy()
  }
  await closed
  const end = text.indexOf('\r\n\r\n')
  const [first = '', ...rest] = text.slice(0, end === -1 ? 0 : end).split('\r\n')
  return {
    status: Number(first.split(' ')[1] ?? 0) || 0,
    headers: Object.fromEntries(rest.map(line => [line.split(': ')[0]!.toLowerCase(), line.split(': ')[1] ?? ''])),
    body: end === -1 ? '' : text.slice(end + 4),
    text,
    pieces,
    isReset,
    ms: performance.now() - begun,
  }
}
