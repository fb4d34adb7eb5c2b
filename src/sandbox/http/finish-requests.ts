// Lets a server that closes answer what is open, and no longer than it may.
import type { FastifyInstance, FastifyRequest } from 'fastify'

// What is still open after this is cut, so that the stop ends before a supervisor kills the process (usually 10 s or more).
const deadlineMs = 8000

/**
 * `close()` waits until every connection has ended. A request whose connection was cut learns that a moment later:
 * `close()` also waits for this, so that the database is closed after it.
 */
export function finishRequests(server: FastifyInstance): void {
  const open = new Set<FastifyRequest>()
  let onNone = () => {}

  server.addHook('onRequest', async (request, reply) => {
    open.add(request)
    // Also where nobody waits for the answer any more.
    reply.raw.once('close', () => {
      open.delete(request)
      if (open.size === 0) onNone()
    })
  })

  server.addHook('preClose', async () => {
    setTimeout(() => server.server.closeAllConnections(), deadlineMs).unref()
  })

  server.addHook('onClose', async () => {
    if (open.size > 0) await new Promise<void>(resolve => (onNone = resolve))
  })
}
