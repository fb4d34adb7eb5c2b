// Serves all files of the `assets` folders. Each address contains a hash of the file's content, so browsers may keep
// the file for a year.
import { hash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'
import type { FastifyInstance } from 'fastify'

const contentTypes: Record<string, string> = {
  '.avif': 'image/avif',
  '.css': 'text/css; charset=utf-8',
  '.gif': 'image/gif',
  '.ico': 'image/x-icon',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webp': 'image/webp',
}

/**
 * Returns a function for templates. This function takes the name of a file, such as `notes/live.js`, and returns the
 * address of the file. If two folders contain a file with the same name, the file in the earlier folder is served. With
 * `reload`, each request reads the file from disk again, for development.
 */
export function serveAssets(app: FastifyInstance, folders: string[], reload: boolean): (name: string) => string {
  const addresses = new Map<string, string>()
  for (const folder of folders)
    for (const name of listFiles(folder)) if (!addresses.has(name)) addresses.set(name, serve(folder, name))

  function serve(folder: string, name: string): string {
    const path = join(folder, name)
    const extension = extname(name)
    const type = contentTypes[extension]
    if (!type)
      throw new Error(
        `The content type of ${path} is unknown. Serve this file with a route, or add its content type to src/client/web/assets.ts.`,
      )
    const content = readFileSync(path)
    const serveAt = (address: string, cacheControl: string) =>
      app.get(address, { exposeHeadRoute: true }, async (_request, reply) =>
        reply
          .type(type)
          .header('cache-control', cacheControl)
          .send(reload ? readFileSync(path) : content),
      )
    const version = hash('sha256', content, 'hex').slice(0, 12)
    const address = `/assets/${name.slice(0, -extension.length)}.${version}${extension}`
    serveAt(address, reload ? 'no-store' : 'public, max-age=31536000, immutable')
    // Browsers request /favicon.ico if a page does not name an icon.
    if (name === 'icon.svg') serveAt('/favicon.ico', 'public, max-age=86400')
    return address
  }

  return name => {
    const address = addresses.get(name)
    if (!address) throw new Error(`There is no file ${name} in ${folders.join(' or ')}.`)
    return address
  }
}

/** Lists the files of a folder and its subfolders. The names contain `/` on every system. Hidden files are left out. */
function listFiles(folder: string): string[] {
  const files = globSync('**/*', { cwd: folder, withFileTypes: true }).filter(file => file.isFile())
  return files.map(({ parentPath, name }) => relative(folder, join(parentPath, name)).split(sep).join('/'))
}
