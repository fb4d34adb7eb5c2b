// GET /lab/v1/events: sends each step as a server-sent event when the step is recorded.
import { PassThrough } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientIdInQuery, queryOf, refuse } from '../call-schemas.ts'
import { LabError } from '../lab-error.ts'
import { describeStep, describeSummary, type LoginReader } from './describe-login.ts'

/** The number of streams is limited, because people forget tabs with open pages. */
const mostListeners = 50
const heartbeatMs = 15_000
/** A stream with more unread bytes than this is closed. */
const mostWaitingBytes = 1024 * 1024

export function eventStream(reader: LoginReader) {
  const { logins, addresses } = reader
  /** The open streams. If a stream shows only the steps of one client, the value is the id of this client. */
  const open = new Map<PassThrough, string | undefined>()

  // The laboratory makes the JSON of a step only once for all open streams.
  logins.listen((login, step, number) => {
    const listeners = [...open].filter(([, clientId]) => clientId === undefined || clientId === login.clientId)
    if (listeners.length === 0) return
    const data = JSON.stringify({ login: describeSummary(login, reader), step: describeStep(step, addresses) })
    for (const [events] of listeners) {
      if (!events.writable) continue
      events.write(`id: ${number}\nevent: step\ndata: ${data}\n\n`)
      if (events.readableLength + events.writableLength > mostWaitingBytes) events.destroy()
    }
  })

  return {
    stream: {
      schema: {
        tags: ['What happened'],
        operationId: 'streamEvents',
        summary: 'Stream each step when it is recorded',
        querystring: queryOf(clientIdInQuery),
        response: {
          200: {
            description:
              'Events named `step`. The data of an event is `{"login": LoginSummary, "step": Step}`. The id of an event is a ' +
              'number. The call that lists logins accepts this number as `after`.',
            content: { 'text/event-stream': { schema: { type: 'string' } } },
          },
          ...refuse(),
        },
      },
      async handler(request: FastifyRequest, reply: FastifyReply) {
        const { clientId } = request.query as { clientId?: string }
        if (open.size >= mostListeners)
          throw new LabError(503, 'Too many event streams are open already. Close some of the pages.')
        const events = new PassThrough()
        open.set(events, clientId)
        const heartbeat = setInterval(() => events.write(': still here\n\n'), heartbeatMs).unref()
        events.once('close', () => {
          clearInterval(heartbeat)
          open.delete(events)
        })
        // Send this line at once, so that the page knows that it is connected.
        events.write('retry: 2000\n\n')
        return reply.type('text/event-stream').send(events)
      },
    },

    /** Ends all streams. Call this when the laboratory stops: a stream does not end by itself. */
    endAll(): void {
      for (const events of open.keys()) events.end()
    },
  }
}
