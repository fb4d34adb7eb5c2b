// Answers 405 with an Allow header if a path exists, but not for the method of the request. Without this code, Fastify
// would answer 404. The import of @fastify/swagger declares the option `hide`, which keeps these answers out of the API
// description.
import type {} from '@fastify/swagger'
import type { FastifyInstance, HTTPMethods } from 'fastify'
import { Refusal } from '../observe/refusal.ts'

/**
 * Notes the routes that are added to this scope after this call. The returned function adds the 405 answers: call it
 * after the last route has been added. The scope's error handler turns the refusal into the 405 answer.
 */
export function trackMethods(scope: FastifyInstance): () => void {
  const known = new Map<string, { allowed: Set<string>; config: object }>()
  let isTracking = true
  scope.addHook('onRoute', route => {
    if (!isTracking) return
    const before = known.get(route.url) ?? { allowed: new Set(), config: route.config ?? {} }
    for (const method of [route.method].flat()) before.allowed.add(method)
    known.set(route.url, before)
  })
  return () => {
    isTracking = false
    for (const [url, { allowed, config }] of known) {
      const others = (scope.supportedMethods as HTTPMethods[]).filter(method => !allowed.has(method))
      scope.route({
        url: url.slice(scope.prefix.length) || '/',
        method: others,
        schema: { hide: true },
        // The route that answers 405 gets the config of the path's first route. The laboratory then records a request
        // with a wrong method as a step of the same kind.
        config,
        // Refuse the request before its body is read. The body does not change the answer.
        onRequest: async (_request, reply) => {
          reply.header('allow', [...allowed].join(', '))
          throw new Refusal('method-not-allowed')
        },
        handler: async () => undefined,
      })
    }
  }
}
