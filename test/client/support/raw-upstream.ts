// Simulates the login portal or the application API byte by byte, to make mistakes that no HTTP server makes.
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

/** Answers with any bytes. `request` is the received data, and `count` is the number of requests so far. */
export type RawScript = (socket: Socket, request: string, count: number) => unknown

export type RawUpstream = Awaited<ReturnType<typeof startRawUpstream>>

/**
 * Starts a server that calls `script` for each complete request. Requests for the portal's metadata get a 404 answer
 * and are not counted, because the platform does not publish metadata.
 */
export async function startRawUpstream(t: Test, script: RawScript) {
  const sockets = new Set<Socket>()
  const requests: string[] = []
  const raw = { script, requests, connections: 0 }

  const server = createServer(socket => {
    raw.connections++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    let bytes = Buffer.alloc(0)
    socket.on('data', chunk => {
      bytes = Buffer.concat([bytes, chunk])
      for (let length = requestLength(bytes); length; length = requestLength(bytes)) {
        const request = bytes.subarray(0, length).toString('latin1')
        bytes = bytes.subarray(length)
        if (request.startsWith('GET /.well-known/')) {
          socket.write(rawAnswer('{}', { status: '404 Not Found' }))
          continue
        }
        requests.push(request)
        raw.script(socket, request, requests.length)
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return Object.assign(raw, { url, openConnections: () => sockets.size })
}

/** Returns a whole answer. Headers with the value undefined are left out, even `content-length`. */
export function rawAnswer(
  body: string | Buffer,
  { status = '200 OK', headers = {} }: { status?: string; headers?: Record<string, string | undefined> } = {},
): Buffer {
  const lines = Object.entries({
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  })
  const head = lines.filter(([, value]) => value !== undefined).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status}\r\n${head.join('')}\r\n`), Buffer.from(body)])
}

/** Returns the length of the first request in `bytes`, or 0 if that request is not complete. */
function requestLength(bytes: Buffer): number {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return 0
  const head = bytes.subarray(0, end).toString('latin1')
  const length = end + 4 + Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
  return bytes.length >= length ? length : 0
}
