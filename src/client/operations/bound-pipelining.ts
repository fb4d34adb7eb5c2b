// Bounds what one connection may ask for before it has its answers.
import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'

/** Neither browsers nor proxies ask again before they have their answer, though they may (RFC 9112 9.3.2). */
const mostUnderWay = 8

/**
 * Classes for a server. Node begins all the requests that it finds in 64 KiB, thousands of them, and each would hold its
 * page for a sender who reads nothing; with these the connection ends at the first one too many, and the rest is not
 * even parsed. It counts where Node makes an answer, because Node gives some by itself and tells nobody of them.
 */
export function boundPipelining(log: Pick<Logger, 'warn'>) {
  const underWay = new WeakMap<Socket, number>()
  const countOf = (socket: Socket) => underWay.get(socket) ?? 0

  // A function, because its answer is one of two; not an arrow, which nobody can call with `new`, as Node does.
  function makeRequest(socket: Socket): IncomingMessage {
    const request = new IncomingMessage(socket)
    if (countOf(socket) < mostUnderWay) return request
    log.warn({ event: 'pipelined_too_much' })
    // Node stops reading at a request to CONNECT, and closes the connection where nobody offers that.
    const fixed = (value: unknown) => ({ get: () => value, set() {} })
    return Object.defineProperties(request, { upgrade: fixed(true), method: fixed('CONNECT') })
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
