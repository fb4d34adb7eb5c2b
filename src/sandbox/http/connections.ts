// Closes the connections of senders that are too slow or do not send valid HTTP, and limits how many connections are
// open at the same time.
import type { Server, Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'

/**
 * Sends a last answer, and closes the connection at most one second later. `socket.end()` is not enough, because it
 * closes only the direction to the sender. A sender that never closes the other direction would keep the connection
 * open. After a 'clientError' event, Node does not close the connection: the listener of this event must do so.
 */
export function closeWith(socket: Socket, answer: string): void {
  // Stop the HTTP parser. Otherwise a body that arrives after a 408 answer would still start the handler of its
  // request. Keep reading the bytes: closing with unread bytes would send a reset, and the answer could get lost.
  socket.removeAllListeners('data').on('data', () => undefined)
  socket.end(answer)
  setTimeout(() => socket.destroy(), 1000).unref()
}

/**
 * Returns a function that applies the limit to an HTTP server. All servers that are passed to this function share one
 * limit. While `most` connections are open, new connections are closed immediately. Node's own `maxConnections` is not
 * enough, because it counts each listening address separately.
 */
export function limitConnections(most: number, logger: FastifyBaseLogger) {
  let open = 0
  let warnedAt = Number.NEGATIVE_INFINITY

  return (server: Server): void => {
    // This listener must run before Node's own listener, which begins to read from the connection.
    server.prependListener('connection', (socket: Socket) => {
      if (open < most) {
        open += 1
        socket.once('close', () => {
          open -= 1
        })
        return
      }
      socket.destroy()
      // Write this warning at most once a minute: a flood of connections must not fill the log.
      if (performance.now() - warnedAt < 60_000) return
      warnedAt = performance.now()
      logger.warn(
        { code: 'connections-full', most },
        'MAX_CONNECTIONS connections are open: new connections are closed immediately',
      )
    })
  }
}
