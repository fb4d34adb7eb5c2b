// Sends raw bytes to a server over a real socket, for requests that `inject` cannot send.
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/**
 * Connects to the server. If the server does not listen yet, it begins to listen on a free port. The caller must end or
 * destroy the socket.
 */
export async function openSocket(app: FastifyInstance): Promise<Socket> {
  if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  // Tests look only at the bytes that arrive, so a reset of the connection is not an error.
  return socket.on('error', () => {})
}

/** Sends the bytes as they are, and returns everything that comes back until the server closes the connection. */
export async function exchangeRaw(app: FastifyInstance, request: string | Buffer): Promise<string> {
  const socket = await openSocket(app)
  const chunks: Buffer[] = []
  socket.on('data', chunk => chunks.push(chunk))
  socket.write(request)
  // `once` of node:events would reject if the connection is reset.
  await new Promise(resolve => socket.once('close', resolve))
  return Buffer.concat(chunks).toString()
}

/** Sends this many requests, four at a time on one connection, and returns all answers. */
export async function askOften(url: string, path: string, times: number): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  const requests = `GET ${path} HTTP/1.1\r\nhost: localhost:3000\r\n\r\n`.repeat(4)
  let all = ''
  for (let count = 0; count < times; count += 4) {
    socket.write(requests)
    let answers = ''
    while ((answers.match(/HTTP\/1\.1 /g)?.length ?? 0) < 4) answers += (await once(socket, 'data'))[0]
    all += answers
  }
  socket.destroy()
  return all
}

/** Returns the text of a request. `lines` are the request line and the headers. */
export const rawRequest = (lines: string[], body = ''): string => `${lines.join('\r\n')}\r\n\r\n${body}`

/** Returns the text of a GET request that asks the server to close the connection after the answer. */
export const rawGet = (path: string, headers: Record<string, string> = {}): string => rawCall('GET', path, headers)

/** Returns the text of a HEAD request that asks the server to close the connection after the answer. */
export const rawHead = (path: string): string => rawCall('HEAD', path, {})

/** Returns the text of a request that sends a form, and asks the server to close the connection after the answer. */
export function rawPost(path: string, headers: Record<string, string>, form: Record<string, string>): string {
  const body = new URLSearchParams(form).toString()
  const own = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': String(body.length) }
  return rawCall('POST', path, { ...headers, ...own }, body)
}

function rawCall(method: string, path: string, headers: Record<string, string>, body = ''): string {
  const all = Object.entries({ host: 'localhost:3000', connection: 'close', ...headers })
  return rawRequest([`${method} ${path} HTTP/1.1`, ...all.map(([name, value]) => `${name}: ${value}`)], body)
}
