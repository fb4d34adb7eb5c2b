// GET /lab/v1/events: every step as it comes in, as server-sent events.
import { PassThrough } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Addresses } from '../addresses.ts'
import { LabError } from '../lab-error.ts'
import type { Logins } from '../record/logins.ts'
import { tellStep, tellSummary } from './tell.ts'

/** A limit, because pages stay open in forgotten tabs. */
const mostListeners = 50
const heartbeatMs = 15_000
/** A stream with more unread bytes than this is closed. */
const mostWaitingBytes = 1024 * 1024

type Parts = { logins: Logins; addresses: Addresses }

export function eventRoutes({ logins, addresses }: Parts) {
  /** The open streams. The value is the client that the stream is limited to, if any. */
  const open = new Map<PassThrough, string | undefined>()

  // The JSON of a step is made once, however many pages are open.
  logins.listen((login, step, number) => {
    const listeners = [...open].filter(([, clientId]) => clientId === undefined || clientId === login.clientId)
    if (listeners.length === 0) return
    const data = JSON.stringify({ login: tellSummary(login, addresses), step: tellStep(step, addresses) })
    for (const [events] of listeners) {
      if (!events.writable) continue
      events.write(`id: ${number}\nevent: step\ndata: ${data}\n\n`)
      if (events.readableLength + events.writableLength > mostWaitingBytes) events.destroy()
    }
  })

  return {
    /** Each event is named `step` and holds `{"login": …, "step": …}`. Its id is a number that the list takes as `after`. */
    async stream(request: FastifyRequest, reply: FastifyReply) {
      const { clientId } = request.query as { clientId?: string }
      if (open.size >= mostListeners) throw new LabError(503, 'Too many listen already. Close some of the pages.')
      const events = new PassThrough()
      open.set(events, clientId)
      const heartbeat = setInterval(() => events.write(': still here\n\n'), heartbeatMs).unref()
      events.once('close', () => {
        clearInterval(heartbeat)
        open.delete(events)
      })
      // Sent at once, so that the page knows that it is connected.
      events.write('retry: 2000\n\n')
      return reply.type('text/event-stream').send(events)
    },

    /** Ends all streams. Call this when the laboratory stops: a stream does not end by itself. */
    endAll(): void {
      for (const events of open.keys()) events.end()
    },
  }
}
