// Limits how many requests one connection may send before it has their answers.
import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Browsers and proxies wait for an answer before they send the next request, although HTTP allows more (RFC 9112 9.3.2). */
const mostUnderWay = 8

/**
 * Classes for an HTTP server. Node reads up to 64 KiB at a time and starts every request that it finds there, which can
 * be thousands. If the sender reads nothing, each answer stays in memory. With the classes below, the connection ends
 * at the first request beyond the limit, and Node does not parse the rest.
 */
export function boundPipelining() {
  const underWay = new WeakMap<Socket, number>()
  const countOf = (socket: Socket) => underWay.get(socket) ?? 0

  // A function instead of a class, because it returns an object of one of two classes. An arrow function cannot be called
  // with `new`.
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

/** Node stops reading at a request to CONNECT, and closes the connection if there is no listener for it. */
function makeOneTooMany(socket: Socket): IncomingMessage {
  const fixed = (value: unknown) => ({ get: () => value, set() {} })
  // Node assigns both properties after it has read the request. Their setters ignore that.
  return Object.defineProperties(new IncomingMessage(socket), { upgrade: fixed(true), method: fixed('CONNECT') })
}
