// Bounds what one connection may ask for at once.
import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** Neither browsers nor proxies ask again before they have their answer, though they may (RFC 9112 9.3.2). */
const mostUnderWay = 8

/**
 * Node begins every request of the 64 KiB that it reads at once: thousands, with a page each that waits for its reader.
 * A connection that asks for more than it may is cut. Node still reads the rest, which cannot be stopped: with `http`
 * among the server's options that costs nothing, as all of it is one request of nobody.
 */
export function boundPipelining() {
  const underWay = new WeakMap<Socket, number>()
  const still = { on: () => still, assignSocket() {}, destroy: () => still, push: () => false }
  const nobody = Object.assign(new IncomingMessage(new Socket()), still)
  const nowhere = Object.assign(new ServerResponse(nobody), still)

  // Node calls both with new, as the classes that they stand for.
  function makeRequest(socket: Socket) {
    return socket.destroyed ? nobody : new IncomingMessage(socket)
  }
  function makeResponse(request: IncomingMessage, options: object) {
    return request === nobody ? nowhere : new (ServerResponse as new (...given: unknown[]) => object)(request, options)
  }

  function guard(app: FastifyInstance): void {
    const answer: RequestListener = (request, response) => {
      if (request === nobody) return
      const { socket } = request
      const count = underWay.get(socket) ?? 0
      if (count === mostUnderWay) {
        app.log.warn({ event: 'pipelined_too_much' })
        return void socket.destroy()
      }
      underWay.set(socket, count + 1)
      response.once('close', () => underWay.set(socket, underWay.get(socket)! - 1))
      app.routing(request, response)
    }
    app.server.removeAllListeners('request').on('request', answer)
  }

  const http = { IncomingMessage: makeRequest, ServerResponse: makeResponse } as unknown as {
    IncomingMessage: typeof IncomingMessage
    ServerResponse: typeof ServerResponse
  }
  return { http, guard }
}
