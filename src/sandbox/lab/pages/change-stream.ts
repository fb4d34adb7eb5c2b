// GET /live: sends an event to each open page when logins have changed (server-sent events). The page then reloads
// itself.
import type { PassThrough } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createOpenStreams } from '../open-streams.ts'
import type { Cursor, Logins } from '../record/logins.ts'

/** All steps within this time become one event, so that a client with many requests does not cause many page loads. */
const gatherMs = 200

export function changeStream(logins: Logins) {
  /** The state of a stream is the last change that the page of this stream knows. */
  const streams = createOpenStreams<Cursor>()
  let timer: NodeJS.Timeout | undefined

  // This function runs while the portal or the API answers a request, so it only starts a timer.
  logins.listen(() => {
    if (streams.open.size > 0) timer ??= setTimeout(tellAll, gatherMs).unref()
  })

  function tellAll(): void {
    timer = undefined
    for (const [events, cursor] of streams.open) tell(events, cursor)
  }

  function tell(events: PassThrough, cursor: Cursor): void {
    // If the page does not read its stream, it gets all changes later, in one event.
    if (!events.writable || events.writableNeedDrain) return
    const changes = logins.changesSince(cursor)
    streams.open.set(events, changes.cursor)
    events.write(`event: changes\ndata: ${JSON.stringify({ ...changes, cursor: cursorText(changes.cursor) })}\n\n`)
  }

  return {
    async stream(request: FastifyRequest, reply: FastifyReply) {
      const { after } = request.query as { after?: unknown }
      const known = readCursor(after) ?? logins.cursor()
      const events = streams.start(known)
      events.on('drain', () => tell(events, streams.open.get(events) ?? logins.cursor()))
      // Send an event at once, even without changes, so that the page knows that it is connected.
      tell(events, known)
      return reply.type('text/event-stream').send(events)
    },

    endAll(): void {
      clearTimeout(timer)
      streams.endAll()
    },
  }
}

/** Turns a cursor into the text that a page stores. */
export function cursorText({ steps, logins }: Cursor): string {
  return `${steps}.${logins}`
}

function readCursor(text: unknown): Cursor | undefined {
  const [, steps, logins] = /^(\d{1,15})\.(\d{1,15})$/.exec(String(text)) ?? []
  return steps === undefined ? undefined : { steps: Number(steps), logins: Number(logins) }
}
