// Lets a server that closes answer what is open, on each of its addresses, and no longer than it may.
import type { FastifyInstance, FastifyRequest } from 'fastify'

// What is still open after this is cut, so that the stop ends before a supervisor kills the process (usually 10 s or more).
const deadlineMs = 8000

/**
 * Fastify listens on every address of the name localhost with a server of its own, and when it closes waits for the
 * first alone. `close()` then also waits for the requests of the others, as far as they have arrived whole or in part.
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
    setTimeout(() => {
      server.server.closeAllConnections()
      for (const { raw } of open) raw.socket.destroy()
    }, deadlineMs).unref()
  })

  server.addHook('onClose', async () => {
    if (open.size > 0) await new Promise<void>(resolve => (onNone = resolve))
  })
}
