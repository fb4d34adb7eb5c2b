// Stops the process. Open requests have ten seconds to finish.
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

declare module 'fastify' {
  interface FastifyInstance {
    /** Ends all calls to the portal and the API. */
    endCalls: () => void
  }
}

const hardStopMs = 10_000

/**
 * Stops the client on SIGTERM or SIGINT. First, `draining` makes /health/ready answer 503. After `prestopDelayMs`, the
 * server closes. Then `onStopped` closes everything else. If a second signal arrives, the process exits immediately.
 * SIGHUP is ignored, because the client must survive the end of a terminal session.
 */
export function stopOnSignal(
  app: FastifyInstance,
  prestopDelayMs: number,
  draining: AbortController,
  onStopped: () => Promise<void>,
): void {
  const stop = async (signal: string) => {
    if (draining.signal.aborted) process.exit(1)
    draining.abort()
    app.log.info({ event: 'stopping', signal })
    await wait(prestopDelayMs)
    // Fastify waits for every open request, even for a request whose body never arrives. A request that the client has
    // already dropped can still have an open call to the portal or the API.
    const endEverything = () => {
      app.server.closeAllConnections()
      app.endCalls()
    }
    setTimeout(endEverything, hardStopMs).unref()
    await app.close()
    await onStopped()
    process.exit(0)
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  process.on('SIGHUP', () => {})
}

/**
 * While the server is closing, each answer also closes its connection, because an open connection would delay the end
 * of the process.
 */
export function endConnectionsOnClose(app: FastifyInstance): void {
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
  })
  app.addHook('onSend', async (_request, reply) => {
    if (isClosing) reply.header('connection', 'close')
  })
}

/** After an uncaught error the state of the process is unknown, so the process logs one line and exits. */
export function exitOnCrash(log: FastifyInstance['log'], flush: () => Promise<void>): void {
  process.on('uncaughtException', async ({ name, message, stack }) => {
    log.fatal({ event: 'crashed', cause: { name, message, stack } })
    await flush()
    process.exit(1)
  })
}
