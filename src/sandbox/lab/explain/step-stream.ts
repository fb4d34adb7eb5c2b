// GET /lab/v1/events: sends each step as a server-sent event when the step is recorded.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientIdInQuery, queryOf, refusalAnswers } from '../call-schemas.ts'
import { createOpenStreams } from '../open-streams.ts'
import { describeStep, describeSummary, type LoginReader } from './describe-login.ts'

/** The laboratory closes a stream that has more unread bytes than this. */
const mostWaitingBytes = 1024 * 1024

export function stepStream(reader: LoginReader) {
  const { logins, addresses } = reader
  /** If a stream shows only the steps of one client, its state is the id of this client. */
  const streams = createOpenStreams<string | undefined>()

  // The laboratory makes the JSON of a step only once for all open streams.
  logins.listen((login, step, number) => {
    const listeners = [...streams.open].filter(([, clientId]) => clientId === undefined || clientId === login.clientId)
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
          ...refusalAnswers(),
        },
      },
      async handler(request: FastifyRequest, reply: FastifyReply) {
        const { clientId } = request.query as { clientId?: string }
        const events = streams.start(clientId)
        // Send this line at once, so that the page knows that it is connected.
        events.write('retry: 2000\n\n')
        return reply.type('text/event-stream').send(events)
      },
    },

    endAll: streams.endAll,
  }
}
