// Speaks to a listener of the sandbox over a real socket, byte by byte, where inject would be too polite.
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** Connects to the listener, which takes a free port unless it has one. After an early refusal the connection may be cut. */
export async function openSocket(listener: FastifyInstance): Promise<Socket> {
  if (!listener.server.listening) await listener.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((listener.server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  return socket.setEncoding('latin1').on('error', () => undefined)
}

/** Sends header lines, an empty line and the body; resolves to all that comes back until the connection is closed. */
export async function exchangeRaw(listener: FastifyInstance, lines: string[], body = ''): Promise<string> {
  const socket = await openSocket(listener)
  let answer = ''
  socket.on('data', piece => {
    answer += piece
  })
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`)
  // Not `once` of node:events, which rejects at the error that a cut connection is.
  await new Promise(resolve => socket.once('close', resolve))
  return answer
}
