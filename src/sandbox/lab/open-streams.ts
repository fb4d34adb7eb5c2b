// Streams of server-sent events: their number is limited, and they end when the reader or the laboratory closes them.
import { PassThrough } from 'node:stream'
import { LabError } from './lab-error.ts'

/** The number of streams is limited, because people forget tabs with open pages. */
const mostStreams = 50
const heartbeatMs = 15_000

/** `State` is the data that a caller stores about each stream. */
export function createOpenStreams<State>() {
  const open = new Map<PassThrough, State>()
  return {
    /** The open streams. */
    open,

    /** Throws LabError 503 if too many streams are open. */
    start(state: State): PassThrough {
      if (open.size >= mostStreams)
        throw new LabError(
          503,
          'Too many pages or event streams of the laboratory are open already. Close some of them.',
        )
      const events = new PassThrough()
      open.set(events, state)
      const heartbeat = setInterval(() => events.write(': still here\n\n'), heartbeatMs).unref()
      events.once('close', () => {
        clearInterval(heartbeat)
        open.delete(events)
      })
      return events
    },

    /** Ends all streams. Call this when the laboratory stops: a stream does not end by itself. */
    endAll(): void {
      for (const events of open.keys()) events.end()
    },
  }
}
