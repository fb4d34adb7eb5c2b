// Serves metrics to Prometheus on METRICS_PORT. No label of a metric contains an id.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  const counter = (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name: `client_${name}`, help, labelNames, registers })
  const histogram = (name: string, help: string, ...labelNames: string[]) =>
    new Histogram({ name: `client_${name}`, help, labelNames, registers })
  const open = new Gauge({ name: 'client_requests_open', help: 'Requests that are being answered', registers })
  const requests = counter('requests_total', 'Requests that were answered', 'method', 'route', 'status')
  const durations = histogram('request_seconds', 'Seconds from the request to the end of its response', 'route')
  const upstream = histogram('upstream_seconds', 'Calls to the login portal and the application API', 'to', 'status')
  const logins = counter('logins_total', 'Logins that the portal redirected back, by outcome', 'outcome')
  const refreshes = counter('refreshes_total', 'Sessions that were due for renewal, by outcome', 'outcome')
  collectDefaultMetrics({ register: registry })

  return {
    countOutcome(what: 'login' | 'refresh', outcome: string): void {
      const outcomes = what === 'login' ? logins : refreshes
      outcomes.inc({ outcome })
    },

    observeRequests(app: FastifyInstance): void {
      app.addHook('onRequest', async (_request, reply) => {
        open.inc()
        // The event 'close' is also emitted if the browser disconnects before it gets the response.
        reply.raw.once('close', () => open.dec())
      })
      app.addHook('onResponse', async (request, reply) => {
        const route = request.routeOptions.url ?? 'none'
        requests.inc({ method: request.method, route, status: reply.statusCode })
        durations.observe({ route }, reply.elapsedTime / 1000)
      })
    },

    countCall(to: string, status: string, seconds: number): void {
      upstream.observe({ to, status }, seconds)
    },

    /** Serves GET /metrics and nothing else. Let only your own network reach this port. */
    async listen(host: string, port: number, log: Logger): Promise<Server> {
      const server = createServer(async (request, response) => {
        if (request.method !== 'GET' || request.url !== '/metrics') return void response.writeHead(404).end()
        try {
          const text = await registry.metrics()
          response.writeHead(200, { 'content-type': registry.contentType }).end(text)
        } catch (error) {
          // A metric with its own `collect` function can fail.
          const { name, message, stack } = error instanceof Error ? error : new Error(String(error))
          log.error({ event: 'metrics_failed', cause: { name, message, stack } })
          response.writeHead(500).end()
        }
      })
      await once(server.listen(port, host), 'listening')
      return server
    },
  }
}
