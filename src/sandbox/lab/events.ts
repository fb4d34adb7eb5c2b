// GET /lab/v1/events: every step as it comes in, as server-sent events.
import { PassThrough } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Addresses } from './addresses.ts'
import { LabError } from './lab-error.ts'
import type { Logins } from './logins.ts'
import { tellStep, tellSummary } from './tell.ts'

/** Pages stay open in forgotten tabs. */
const mostListeners = 50
const heartbeatMs = 15_000
/** Of a reader who does not read. */
const mostWaitingBytes = 1024 * 1024

type Parts = { logins: Logins; addresses: Addresses }

export function eventRoutes({ logins, addresses }: Parts) {
  /** With the client that each asks for. */
  const open = new Map<PassThrough, string | undefined>()

  // Each step is put into words once, however many pages are open.
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
    /** Each event is named `step`: `{"login": …, "step": …}`, numbered as `after` of the list wants it. */
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
      // Something at once, so that a page knows that it is connected.
      events.write('retry: 2000\n\n')
      return reply.type('text/event-stream').send(events)
    },

    /** A stream has no end of its own, so that whoever stops the laboratory ends it. */
    endAll(): void {
      for (const events of open.keys()) events.end()
    },
  }
}
