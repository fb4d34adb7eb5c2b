// GET /health/live and GET /health/ready, for load balancers and orchestrators.
import type { FastifyReply, FastifyRequest } from 'fastify'

type HealthOptions = {
  cookieKeyIds: string[]
  /**
   * This signal is aborted when the process receives SIGTERM or SIGINT. From then on, a load balancer should send no
   * more requests.
   */
  draining: AbortSignal | undefined
  /** Returns whether the pages of the product can serve requests. */
  isReady?: (() => boolean) | undefined
}

export const live = async () => ({ status: 'ok' })

/**
 * All replicas must have the same keys. If the keys differ, each replica signs out visitors who signed in at another
 * replica. The answer contains the ids of the keys, so that an operator can compare the replicas.
 */
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
