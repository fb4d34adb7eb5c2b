// The connections on which something goes wrong just now. Nothing that hangs outlives its client, or the sandbox.
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Wire } from './mishap.ts'

export function openWires() {
  const open = new Set<AbortController>()
  let isStopping = false

  return {
    open(request: FastifyRequest, reply: FastifyReply): Wire {
      const { socket } = request.raw
      const over = new AbortController()
      open.add(over)
      let isClosed = false
      reply.raw.once('close', () => {
        isClosed = true
        open.delete(over)
        over.abort()
      })
      if (isStopping) over.abort()
      return {
        wait(seconds) {
          // The listener's own deadline for silence is shorter than some of what is silent here.
          socket.setTimeout(0)
          return pause(seconds * 1000, undefined, { signal: over.signal }).catch(() => {})
        },
        isOpen: () => !over.signal.aborted,
        isLeft: () => isClosed,
        write: bytes => new Promise(resolve => socket.write(bytes, () => resolve())),
        reset: () => void socket.resetAndDestroy(),
      }
    },

    /** Whoever stops the sandbox does not wait for anything of this. */
    endAll(): void {
      isStopping = true
      for (const over of open) over.abort()
    },
  }
}
