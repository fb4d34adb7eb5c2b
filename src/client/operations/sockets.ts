// Limits the number of open connections. Closes a connection in both directions if Node cannot parse a request, or if a
// request arrives too slowly.
import type { Server, Socket } from 'node:net'
import type { Logger } from 'pino'

/**
 * Sends a last answer and closes the connection within one second. `end()` is not enough: it closes only the direction
 * in which this server sends, and the other side could keep the connection open. Node does not close the connection
 * itself, because the server has a 'clientError' listener.
 */
export function closeWith(socket: Socket, answer: string): void {
  // Detaches the HTTP parser from the socket. So if a body arrives after a 408 answer, no handler starts. The new
  // listener reads the bytes and drops them: closing a socket with unread bytes would send a reset, which could destroy
  // the answer.
  socket.removeAllListeners('data').on('data', () => {})
  socket.end(answer)
  setTimeout(() => socket.destroy(), 1_000).unref()
}

/**
 * Returns a function that applies the limit to a server. If you call the returned function for several servers, their
 * connections are counted together. While `max` connections are open, new connections are closed immediately. Node's
 * own `maxConnections` counts each listening address separately.
 */
export function limitConnections(max: number, log: Pick<Logger, 'warn'>) {
  let open = 0
  let warnedAt = Number.NEGATIVE_INFINITY

  return (server: Server): void => {
    // This listener must run before Node's own listener, which starts to read from the connection.
    server.prependListener('connection', (socket: Socket) => {
      if (open < max) {
        open++
        socket.once('close', () => open--)
        return
      }
      socket.destroy()
      // Logs at most one line per minute, so that a flood of connections does not fill the log.
      if (performance.now() - warnedAt < 60_000) return
      warnedAt = performance.now()
      log.warn({ event: 'connections_full', max })
    })
  }
}
