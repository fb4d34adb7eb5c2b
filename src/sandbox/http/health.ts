// The health routes (live and ready), which are the same on both listeners.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Services } from '../services.ts'
import type { Store } from '../store/store.ts'
import { storeFailureOf } from '../store/store-failure.ts'

const probeLifetimeMs = 1000

/**
 * Probes the store at most once a second, for both listeners together: anybody can request /health/ready, and each
 * probe is a transaction that writes. The result of a probe, good or bad, is valid for one second.
 */
export function createProbe(store: Store, clock: () => Date): () => Promise<void> {
  let startedAtMs = Number.NEGATIVE_INFINITY
  let latest = Promise.resolve()
  return () => {
    const nowMs = clock().getTime()
    // If the clock was set back, the difference is negative. Because of Math.abs, the code also probes the store in
    // this case.
    if (Math.abs(nowMs - startedAtMs) >= probeLifetimeMs) {
      startedAtMs = nowMs
      latest = store.probe()
    }
    return latest
  }
}

/** Health checks come every few seconds. At the level `info`, their lines would fill the log. */
export const probeRouteOptions = { exposeHeadRoute: true, logLevel: 'warn' } as const

/**
 * When the sandbox begins to stop, /health/ready answers 503 at once. The load balancer then stops sending new requests
 * to this instance, while the instance answers its last requests.
 */
export function healthRoutes({ probe, isStopping }: Pick<Services, 'probe' | 'isStopping'>) {
  async function live(_request: FastifyRequest, reply: FastifyReply) {
    reply.header('cache-control', 'no-store')
    return { status: 'live' }
  }

  async function ready(request: FastifyRequest, reply: FastifyReply) {
    reply.header('cache-control', 'no-store')
    if (isStopping()) return reply.status(503).send({ status: 'stopping' })
    try {
      await probe()
      return { status: 'ready' }
    } catch (error) {
      const failure = storeFailureOf(error)
      request.log.warn(
        { code: 'not-ready', fault: failure, cause: (error as Error).message },
        'the store cannot be written to',
      )
      return reply.status(503).send({ status: 'not ready', store: failure ?? 'failing' })
    }
  }

  return { live, ready }
}
