// Liveness and readiness, the same on both listeners.
import type { FastifyInstance } from 'fastify'
import type { Store } from './store/store.ts'
import { storeFaultOf } from './store/store-fault.ts'

const probeLifetimeMs = 1000

/**
 * The store's probe, at most once a second for all who ask on both listeners: anybody may ask, and each probe is a
 * transaction that writes. What it found, good or bad, counts for that second.
 */
export function createProbe(store: Store, clock: () => Date): () => Promise<void> {
  let startedAtMs = Number.NEGATIVE_INFINITY
  let latest = Promise.resolve()
  return () => {
    const nowMs = clock().getTime()
    // Also where the clock was set back.
    if (Math.abs(nowMs - startedAtMs) >= probeLifetimeMs) {
      startedAtMs = nowMs
      latest = store.probe()
    }
    return latest
  }
}

/** `isStopping` makes readiness fail first, so that no new requests are sent here while the last ones are answered. */
export async function healthRoutes(
  scope: FastifyInstance,
  { probe, isStopping }: { probe: () => Promise<void>; isStopping: () => boolean },
): Promise<void> {
  scope.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
  })

  // Asked every few seconds: at info there would be nothing else to see in the log.
  const options = { exposeHeadRoute: true, logLevel: 'warn' } as const

  scope.get('/health/live', options, async () => ({ status: 'live' }))

  scope.get('/health/ready', options, async (request, reply) => {
    if (isStopping()) return reply.status(503).send({ status: 'stopping' })
    try {
      await probe()
      return { status: 'ready' }
    } catch (error) {
      const fault = storeFaultOf(error)
      request.log.warn({ code: 'not-ready', fault, cause: (error as Error).message }, 'the store cannot be written to')
      return reply.status(503).send({ status: 'not ready', store: fault ?? 'failing' })
    }
  })
}
