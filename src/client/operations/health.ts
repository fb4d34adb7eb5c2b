// For whoever watches this process: whether it runs, and whether it wants requests.
import type { FastifyReply, FastifyRequest } from 'fastify'

type Told = {
  cookieKeyIds: string[]
  /** Told to stop, so that a load balancer should send nothing more. */
  isDraining?: (() => boolean) | undefined
  /** Whether the product can serve. */
  isReady?: (() => boolean) | undefined
}

export function healthRoutes({ cookieKeyIds, isDraining = () => false, isReady = () => true }: Told) {
  function readStatus() {
    if (isDraining()) return 'draining'
    try {
      return isReady() ? 'ok' : 'not ready'
    } catch {
      return 'not ready'
    }
  }

  return {
    async live() {
      return { status: 'ok' }
    },
    /** Replicas must show the same key ids, or visitors are signed in and out by turns. */
    async ready(_request: FastifyRequest, reply: FastifyReply) {
      const status = readStatus()
      if (status !== 'ok') reply.code(503)
      return { status, cookieKeyIds }
    },
  }
}
