// Every route that servers built from now on have, from the framework's own table.
import diagnostics from 'node:diagnostics_channel'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'

export interface Route {
  method: string
  url: string
}

/** Call it before anything is built. The function that comes back lists the routes of one server. */
export function recordRoutes(t: Test): (server: FastifyInstance) => Route[] {
  const routes = new Map<FastifyInstance, Route[]>()
  const listen = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance }
    const own: Route[] = []
    routes.set(fastify, own)
    fastify.addHook('onRoute', ({ method, url }) => {
      own.push(...[method].flat().map(one => ({ method: one, url })))
    })
  }
  diagnostics.subscribe('fastify.initialization', listen)
  t.teardown(() => diagnostics.unsubscribe('fastify.initialization', listen))
  return server => routes.get(server) ?? []
}
