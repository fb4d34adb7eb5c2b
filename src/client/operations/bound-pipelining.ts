// Limits how many requests a connection may have open at once (pipelining, RFC 9112 9.3.2).
import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'

/** Browsers and proxies wait for an answer before they send the next request on the same connection. */
const maxOpenRequests = 8

/**
 * Classes for the server's `http` option. Node starts every request that it finds in 64 KiB of input, which can be
 * thousands. If the sender does not read the answers, each of these requests keeps a rendered page in memory.
 *
 * Closing the socket is not enough, because Node would parse the rest of the input and create all requests. 300 such
 * connections exhaust 256 MiB. Node has one way to stop parsing at a request: a CONNECT request that nobody handles. So
 * the ninth open request is made to look like a CONNECT request. The code counts response objects, because Node answers
 * some requests without the event 'request'.
 */
export function boundPipelining(log: Pick<Logger, 'warn'>) {
  const openRequests = new WeakMap<Socket, number>()
  const countOf = (socket: Socket) => openRequests.get(socket) ?? 0

  // Node calls this with `new`, so it cannot be an arrow function.
  function createRequest(socket: Socket): IncomingMessage {
    const request = new IncomingMessage(socket)
    if (countOf(socket) < maxOpenRequests) return request
    log.warn({ event: 'pipelined_too_much' })
    // Node sets both properties after this call. Node assigns both properties later. The empty setters ignore this, so
    // the values stay.
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
