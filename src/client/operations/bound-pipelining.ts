// Limits how many requests a connection may have open at once (pipelining, RFC 9112 9.3.2).
import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'

/**
 * Browsers and proxies need fewer than eight, because they wait for an answer before they send the next request on the
 * same connection.
 */
const maxOpenRequests = 8

/**
 * Returns classes for the server's `http` option. Node reads 64 KiB of input at once, and starts every request in this
 * input. The input can contain thousands of requests. If the sender does not read the answers, each of these requests
 * keeps a rendered page in memory.
 *
 * Closing the socket is not enough, because Node would still parse the rest of the input and create all requests. With
 * such input, 300 connections exhaust 256 MiB of memory. Node stops parsing only after a CONNECT request that the
 * server does not handle. So this code makes the ninth open request look like a CONNECT request. The code counts
 * response objects, because Node answers some requests without the event 'request'.
 */
export function boundPipelining(log: Pick<Logger, 'warn'>) {
  const openRequests = new WeakMap<Socket, number>()
  const countOf = (socket: Socket) => openRequests.get(socket) ?? 0

  // Node calls this function with `new`, so it cannot be an arrow function.
  function createRequest(socket: Socket): IncomingMessage {
    const request = new IncomingMessage(socket)
    if (countOf(socket) < maxOpenRequests) return request
    log.warn({ event: 'pipelined_too_much' })
    // After this call, Node assigns values to both properties. The empty setters ignore these values.
    const constant = (value: unknown) => ({ get: () => value, set() {} })
    return Object.defineProperties(request, { upgrade: constant(true), method: constant('CONNECT') })
  }

  class CountedResponse<Request extends IncomingMessage> extends ServerResponse<Request> {
    constructor(...parameters: ConstructorParameters<typeof ServerResponse<Request>>) {
      super(...parameters)
      const { socket } = parameters[0]
      openRequests.set(socket, countOf(socket) + 1)
      this.once('close', () => openRequests.set(socket, countOf(socket) - 1))
    }
  }
  return { IncomingMessage: createRequest as unknown as typeof IncomingMessage, ServerResponse: CountedResponse }
}
