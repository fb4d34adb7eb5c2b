// A client that sees nothing but bytes: what came, in how many pieces, and how the connection ended.
import type { FastifyInstance } from 'fastify'
import { openSocket } from '../../support/raw-socket.ts'
import type { PlatformCall } from './platform-calls.ts'

export interface Raw {
  status: number
  headers: Record<string, string>
  /** As latin1. */
  body: string
  /** Everything, headers included. */
  text: string
  pieces: number
  isReset: boolean
  ms: number
}

/** `enough` is asked at each piece, and ends it. With `patienceMs` it also ends when nothing came for so long. */
export async function askRaw(
  listener: FastifyInstance,
  { method, url, headers, body }: PlatformCall,
  {
    enough = () => false,
    patienceMs,
  }: { enough?: (text: string, pieces: number) => boolean; patienceMs?: number } = {},
): Promise<Raw> {
  const socket = await openSocket(listener)
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
  if (patienceMs !== undefined) socket.setTimeout(patienceMs, () => socket.destroy())
  const lines = [
    `${method} ${url} HTTP/1.1`,
    'host: 127.0.0.1',
    'connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body ? [`content-length: ${Buffer.byteLength(body)}`] : []),
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`)
  await new Promise(resolve => socket.once('close', resolve))
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
