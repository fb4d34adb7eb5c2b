// GET /health/live and GET /health/ready, for load balancers and orchestrators.
import type { FastifyReply, FastifyRequest } from 'fastify'

type HealthOptions = {
  cookieKeyIds: string[]
  /** Aborted when the process receives SIGTERM or SIGINT. From then on, a load balancer should send no more requests. */
  draining: AbortSignal | undefined
  /** Whether the pages of the product can serve requests. */
  isReady?: (() => boolean) | undefined
}

export const live = async () => ({ status: 'ok' })

/** Replicas must report the same key ids: otherwise each replica signs out the visitors of the other replicas. */
export function createReady({ cookieKeyIds, draining, isReady = () => true }: HealthOptions) {
  const isProductReady = () => {
    try {
      return isReady()
    } catch {
      return false
    }
  }
  return async (_request: FastifyRequest, reply: FastifyReply) => {
    const status = draining?.aborted ? 'draining' : isProductReady() ? 'ok' : 'not ready'
    if (status !== 'ok') reply.code(503)
    return { status, cookieKeyIds }
  }
}
