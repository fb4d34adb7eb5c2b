// The connections on which something goes wrong just now. Nothing that hangs outlives its client, the sandbox or a minute.
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { longestSeconds, type Wire } from './mishap.ts'

export function openWires() {
  const open = new Set<AbortController>()

  return {
    open(request: FastifyRequest, reply: FastifyReply): Wire {
      const { socket } = request.raw
      const over = new AbortController()
      const limit = setTimeout(() => over.abort(), longestSeconds * 1000).unref()
      let isClosed = false
      open.add(over)
      reply.raw.once('close', () => {
        isClosed = true
        clearTimeout(limit)
        open.delete(over)
        over.abort()
      })
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
        resetAtEnd() {
          over.signal.addEventListener('abort', () => {
            if (!isClosed) socket.resetAndDestroy()
          })
        },
      }
    },

    /** Whoever stops the sandbox does not wait for anything of this. */
    endAll(): void {
      for (const over of open) over.abort()
    },
  }
}
