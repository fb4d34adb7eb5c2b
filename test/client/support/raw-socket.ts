// Speaks to a client over a real socket, byte by byte, where inject would be too polite.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** Opens a connection to the client, which listens on a free port from then on. The caller ends or destroys it. */
export async function openSocket(client: FastifyInstance): Promise<Socket> {
  if (!client.server.listening) await client.listen({ host: '127.0.0.1', port: 0 })
  const address = client.server.address()
  if (typeof address !== 'object' || !address) throw new Error('The client listens on no port.')
  const socket = connect(address.port, '127.0.0.1')
  await once(socket, 'connect')
  // A test reads what comes; that the client hangs up is no fault of the test.
  return socket.on('error', () => {})
}

/** Sends the bytes as they are, and returns everything that comes back until the client closes the connection. */
export async function exchangeRaw(client: FastifyInstance, request: string | Buffer): Promise<string> {
  const socket = await openSocket(client)
  const chunks: Buffer[] = []
  socket.on('data', chunk => chunks.push(chunk))
  socket.write(request)
  await once(socket, 'close')
  return Buffer.concat(chunks).toString()
}

/** Asks so often, four at a time on one connection, and comes back with every answer. */
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

/** The bytes of a GET that asks for the connection to be closed after the answer. */
export function rawGet(path: string, headers: Record<string, string> = {}): string {
  const lines = Object.entries({ host: 'localhost:3000', connection: 'close', ...headers })
  return `GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
}
