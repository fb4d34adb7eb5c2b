// For whoever watches this process: whether it runs, and whether it wants requests.
import type { FastifyReply, FastifyRequest } from 'fastify'

type Told = {
  cookieKeyIds: string[]
  /** Aborted when the process was told to stop, so that a load balancer should send nothing more. */
  draining: AbortSignal | undefined
  /** Whether the product can serve. */
  isReady?: (() => boolean) | undefined
}

export const live = async () => ({ status: 'ok' })

/** Replicas must show the same key ids, or visitors are signed in and out by turns. */
export function createReady({ cookieKeyIds, draining, isReady = () => true }: Told) {
  const askProduct = async () => isReady()
  return async (_request: FastifyRequest, reply: FastifyReply) => {
    const isServing = await askProduct().catch(() => false)
    const status = draining?.aborted ? 'draining' : isServing ? 'ok' : 'not ready'
    if (status !== 'ok') reply.code(503)
    return { status, cookieKeyIds }
  }
}
