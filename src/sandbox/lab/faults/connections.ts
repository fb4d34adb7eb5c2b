// The connections on which a fault is happening. Every fault ends when the connection closes, when the sandbox stops,
// or after a minute.
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Connection, longestSeconds } from './kind.ts'

export function trackConnections() {
  const open = new Set<AbortController>()

  return {
    open(request: FastifyRequest, reply: FastifyReply): Connection {
      const { socket } = request.raw
      const ending = new AbortController()
      const limit = setTimeout(() => ending.abort(), longestSeconds * 1000).unref()
      let isClosed = false
      open.add(ending)
      reply.raw.once('close', () => {
        isClosed = true
        clearTimeout(limit)
        open.delete(ending)
        ending.abort()
      })
      return {
        wait(seconds) {
          // Without this line, the listener would close a silent connection before some faults end.
          socket.setTimeout(0)
          return pause(seconds * 1000, undefined, { signal: ending.signal }).catch(() => {})
        },
        isOpen: () => !ending.signal.aborted,
        isLeft: () => isClosed,
        write: bytes => new Promise(resolve => socket.write(bytes, () => resolve())),
        reset: () => void socket.resetAndDestroy(),
        resetAtEnd() {
          ending.signal.addEventListener('abort', () => {
            if (!isClosed) socket.resetAndDestroy()
          })
        },
      }
    },

    /** Ends all faults, so that the sandbox can stop without delay. */
    endAll(): void {
      for (const ending of open) ending.abort()
    },
  }
}
