// Limits how many requests a sender can send on one connection before it has received the answers.
import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * The maximum number of requests of one connection that wait for their answers at the same time. HTTP allows several
 * waiting requests (RFC 9112 9.3.2), but browsers and proxies wait for an answer before they send the next request.
 */
const mostUnderWay = 8

/**
 * Returns the request and response classes for an HTTP server. Without these classes, Node reads up to 64 KiB at a
 * time, and starts every request in these bytes. 64 KiB can contain thousands of requests. If the sender does not read
 * the answers, all answers stay in memory. With these classes, the connection ends at the first request beyond the
 * limit, and Node does not parse the rest. Destroying the socket is not enough: Node's parser still starts every request
 * that it has already read.
 */
export function boundPipelining() {
  const underWay = new WeakMap<Socket, number>()
  const countOf = (socket: Socket) => underWay.get(socket) ?? 0

  // This is a function instead of a class, because it makes one of two kinds of objects. It is not an arrow function,
  // because Node calls it with `new`.
  function makeRequest(socket: Socket): IncomingMessage {
    return countOf(socket) < mostUnderWay ? new IncomingMessage(socket) : makeOneTooMany(socket)
  }

  class CountedResponse<Request extends IncomingMessage> extends ServerResponse<Request> {
    constructor(...given: ConstructorParameters<typeof ServerResponse<Request>>) {
      super(...given)
      const { socket } = given[0]
      underWay.set(socket, countOf(socket) + 1)
      this.once('close', () => underWay.set(socket, countOf(socket) - 1))
    }
  }
  return { IncomingMessage: makeRequest as unknown as typeof IncomingMessage, ServerResponse: CountedResponse }
}

/**
 * Makes a request that looks like a CONNECT request. Node stops reading at a CONNECT request, and closes the connection
 * if no listener handles the 'connect' event.
 */
function makeOneTooMany(socket: Socket): IncomingMessage {
  const fixed = (value: unknown) => ({ get: () => value, set() {} })
  // Node assigns both properties after it has read the request. The empty setters ignore these assignments.
  return Object.defineProperties(new IncomingMessage(socket), { upgrade: fixed(true), method: fixed('CONNECT') })
}
