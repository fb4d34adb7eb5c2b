// GET /live: sends an event to each open page when logins have changed (server-sent events). The page then reloads
// itself.
import { PassThrough } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { LabError } from '../lab-error.ts'
import type { Cursor, Logins } from '../record/logins.ts'

/** The number of streams is limited, because people forget tabs with open pages. */
const mostPages = 50
const heartbeatMs = 15_000
/** All steps within this time become one event, so that a client with many requests does not cause many page loads. */
const gatherMs = 200

export function liveStream(logins: Logins) {
  /** The open pages, each with the last change that it knows. */
  const open = new Map<PassThrough, Cursor>()
  let timer: NodeJS.Timeout | undefined

  // This function runs while the portal or the API answers a request, so it only starts a timer.
  logins.listen(() => {
    if (open.size > 0) timer ??= setTimeout(tellAll, gatherMs).unref()
  })

  function tellAll(): void {
    timer = undefined
    for (const [events, cursor] of open) tell(events, cursor)
  }

  function tell(events: PassThrough, cursor: Cursor): void {
    // If a page does not read its stream, it gets all changes later in one event.
    if (!events.writable || events.writableNeedDrain) return
    const changes = logins.changesSince(cursor)
    open.set(events, changes.cursor)
    events.write(`event: changes\ndata: ${JSON.stringify({ ...changes, cursor: textOf(changes.cursor) })}\n\n`)
  }

  return {
    async stream(request: FastifyRequest, reply: FastifyReply) {
      if (open.size >= mostPages)
        throw new LabError(503, 'Too many pages of the laboratory are open already. Close some of them.')
      const { after } = request.query as { after?: unknown }
      const events = new PassThrough()
      const heartbeat = setInterval(() => events.write(': still here\n\n'), heartbeatMs).unref()
      events.once('close', () => {
        clearInterval(heartbeat)
        open.delete(events)
      })
      events.on('drain', () => tell(events, open.get(events) ?? logins.cursor()))
      // Send an event at once, even without changes, so that the page knows that it is connected.
      tell(events, readCursor(after) ?? logins.cursor())
      return reply.type('text/event-stream').send(events)
    },

    /** Ends all streams. Call this when the laboratory stops: a stream does not end by itself. */
    endAll(): void {
      clearTimeout(timer)
      for (const events of open.keys()) events.end()
    },
  }
}

/** Turns a cursor into the text that a page stores. */
export function textOf({ steps, logins }: Cursor): string {
  return `${steps}.${logins}`
}

function readCursor(text: unknown): Cursor | undefined {
  const [, steps, logins] = /^(\d{1,15})\.(\d{1,15})$/.exec(String(text)) ?? []
  return steps === undefined ? undefined : { steps: Number(steps), logins: Number(logins) }
}
