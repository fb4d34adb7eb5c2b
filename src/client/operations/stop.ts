// Stops without losing a request: says so first, serves what still comes for a while, then closes, and never hangs.
import type { FastifyInstance } from 'fastify'

const hardStopMs = 10_000

/**
 * On SIGTERM or SIGINT; a second one exits at once. `draining` makes /health/ready answer 503, `onStopped` closes what is
 * not the client's own. SIGHUP is ignored: there is nothing to read again, and a lost terminal is no reason to stop.
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
    await new Promise(resolve => setTimeout(resolve, prestopDelayMs))
    // Fastify waits for every request, also for one whose body never comes.
    setTimeout(() => app.server.closeAllConnections(), hardStopMs).unref()
    await app.close()
    await onStopped()
    process.exit(0)
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  process.on('SIGHUP', () => {})
}

/** An answer given while the client closes ends its connection: kept alive, it would hold the process until the hard stop. */
export function endConnectionsOnClose(app: FastifyInstance): void {
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
  })
  app.addHook('onSend', async (_request, reply) => {
    if (isClosing) reply.header('connection', 'close')
  })
}

/** A fault that nothing has caught leaves the process in a state that nobody knows: one line, and the end. */
export function exitOnCrash(log: FastifyInstance['log'], flush: () => Promise<void>): void {
  process.on('uncaughtException', async ({ name, message, stack }) => {
    log.fatal({ event: 'crashed', cause: { name, message, stack } })
    await flush()
    process.exit(1)
  })
}
