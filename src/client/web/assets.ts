// Serves the stylesheet and the script of the pages, under names that change with their content.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

const folder = new URL('../../../views/client/assets/', import.meta.url)
const types = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', svg: 'image/svg+xml' }

export type Assets = { style: string; script: string; icon: string }

/** Adds a route for each file, and returns their addresses. */
export function serveAssets(app: FastifyInstance): Assets {
  const serve = (name: string, type: keyof typeof types, alias?: string): string => {
    const content = readFileSync(new URL(`${name}.${type}`, folder))
    const hash = createHash('sha256').update(content).digest('hex').slice(0, 12)
    const path = `/assets/${name}.${hash}.${type}`
    const send = (cacheControl: string) => async (_request: FastifyRequest, reply: FastifyReply) =>
      reply.headers({ 'content-type': types[type], 'cache-control': cacheControl }).send(content)
    app.get(path, { exposeHeadRoute: true }, send('public, max-age=31536000, immutable'))
    if (alias) app.get(alias, { exposeHeadRoute: true }, send('public, max-age=86400'))
    return path
  }
  // Browsers ask for the alias on pages that name no icon.
  return { style: serve('style', 'css'), script: serve('script', 'js'), icon: serve('icon', 'svg', '/favicon.ico') }
}
