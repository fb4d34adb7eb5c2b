// Serves views/client/assets. The name of each file contains a hash of its content, so browsers may keep it for a year.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'

const folder = new URL('../../../views/client/assets/', import.meta.url)

const contentTypes = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', svg: 'image/svg+xml' }

/** The addresses of the assets, for the templates. */
type Assets = { style: string; script: string; icon: string }

/** With `reload`, each request reads the file again, for development. */
export function serveAssets(app: FastifyInstance, reload: boolean): Assets {
  const serve = (name: string, type: keyof typeof contentTypes): string => {
    const read = () => readFileSync(fileURLToPath(new URL(`${name}.${type}`, folder)))
    const content = read()
    const hash = createHash('sha256').update(content).digest('hex').slice(0, 12)
    const path = `/assets/${name}.${hash}.${type}`
    app.get(path, { exposeHeadRoute: true }, async (_request, reply) =>
      reply
        .type(contentTypes[type])
        .header('cache-control', reload ? 'no-store' : 'public, max-age=31536000, immutable')
        .send(reload ? read() : content),
    )
    // Browsers ask for this address when a page names no icon.
    if (name === 'icon')
      app.get('/favicon.ico', { exposeHeadRoute: true }, async (_request, reply) =>
        reply.type(contentTypes[type]).header('cache-control', 'public, max-age=86400').send(content),
      )
    return path
  }
  return { style: serve('style', 'css'), script: serve('script', 'js'), icon: serve('icon', 'svg') }
}
