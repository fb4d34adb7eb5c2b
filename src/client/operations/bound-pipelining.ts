// Bounds what one connection may ask for at once.
import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'

/** Neither browsers nor proxies ask again before they have their answer, though they may (RFC 9112 9.3.2). */
const mostUnderWay = 8

/**
 * Node begins every request of the 64 KiB that it reads at once: thousands, with a page each that waits for its reader.
 * A connection that asks for more than it may is cut. Node still reads the rest, which cannot be stopped: with `http`
 * among the server's options that costs nothing, as all of it is one request of nobody. Counted where Node makes a
 * request: some it answers by itself, and nobody else is told of them.
 */
export function boundPipelining(log: Pick<Logger, 'warn'>) {
  const underWay = new WeakMap<Socket, number>()
  const still = { on: () => still, assignSocket() {}, destroy: () => still, push: () => false }
  const nobody = Object.assign(new IncomingMessage(new Socket()), still)
  const nowhere = Object.assign(new ServerResponse(nobody), still)
  // Whatever was sent, it has a host and expects nothing: else Node would answer it, and twice is once too often.
  Object.defineProperty(nobody, 'headers', { value: { host: 'nowhere' } })

  // Node calls both with new, as the classes that they stand for.
  function makeRequest(socket: Socket) {
    if (socket.destroyed) return nobody
    if ((underWay.get(socket) ?? 0) < mostUnderWay) return new IncomingMessage(socket)
    log.warn({ event: 'pipelined_too_much' })
    socket.destroy()
    return nobody
  }
  function makeResponse(request: IncomingMessage, options: object) {
    if (request === nobody) return nowhere
    const { socket } = request
    const response = new (ServerResponse as unknown as NewResponse)(request, options)
    underWay.set(socket, (underWay.get(socket) ?? 0) + 1)
    return response.once('close', () => underWay.set(socket, underWay.get(socket)! - 1))
  }

  function guard(app: FastifyInstance): void {
    const answer: RequestListener = (request, response) => {
      if (request !== nobody) app.routing(request, response)
    }
    app.server.removeAllListeners('request').on('request', answer)
  }

  const http = { IncomingMessage: makeRequest, ServerResponse: makeResponse } as unknown as {
    IncomingMessage: typeof IncomingMessage
    ServerResponse: typeof ServerResponse
  }
  return { http, guard }
}

/** Its second parameter is not among the types. */
type NewResponse = new (request: IncomingMessage, options: object) => ServerResponse
