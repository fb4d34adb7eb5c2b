// Lists the routes of a Fastify application.
import type { FastifyInstance } from 'fastify'

export type Route = { method: string; url: string }

/**
 * Parses the tree that Fastify prints. Fastify has no other public way to list the routes of a finished application.
 */
export function listRoutes(app: FastifyInstance): Route[] {
  const parents: string[] = []
  const lines = app.printRoutes({ commonPrefix: false }).split('\n')
  return lines.flatMap(line => {
    const [, indent = '', part = '', methods] = /^([│ ]*)[└├]── (\S*)(?: \(([A-Z, ]+)\))?$/.exec(line) ?? []
    const depth = indent.length / 4
    const url = (parents[depth - 1] ?? '') + part
    parents[depth] = url
    return methods?.split(', ').map(method => ({ method, url })) ?? []
  })
}

/** Returns whether a path matches this route. `:id` matches one segment. */
export function isPathOf({ url }: Route, path: string): boolean {
  return new RegExp(`^${url.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}$`).test(path)
}
