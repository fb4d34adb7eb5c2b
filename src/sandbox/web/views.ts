// Templates, stylesheet and script, served by ourselves under names that change with their content.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import view from '@fastify/view'
import { Eta } from 'eta'
import type { FastifyInstance } from 'fastify'
import { isWebUrl } from './web-url.ts'

const root = fileURLToPath(new URL('../../../views/sandbox', import.meta.url))

/**
 * From here on `reply.viewAsync(name, data)` renders views/sandbox/name.eta inside the layout; `data.title` is needed.
 * Templates find the address of an asset under its name in `assets`.
 */
export async function registerViews(
  scope: FastifyInstance,
  { layout = 'layout', assets: names = ['sandbox.css', 'copy-buttons.js'] } = {},
): Promise<void> {
  const assets: Record<string, string> = {}
  for (const name of names) assets[name] = await serveAsset(scope, name)
  await scope.register(view, {
    engine: { eta: loadTemplates() },
    root,
    viewExt: 'eta',
    layout,
    production: true,
    defaultContext: { assets, isWebUrl, formatTime },
  })
}

/** All at the start: where no file can be opened any more, there must be a page to say so. */
function loadTemplates(): Eta {
  const eta = new Eta()
  for (const name of readdirSync(root, { encoding: 'utf8', recursive: true })) {
    const path = join(root, name)
    if (name.endsWith('.eta')) eta.loadTemplate(path, readFileSync(path, 'utf8'))
  }
  return eta
}

/** Resolves to the path of the asset. */
async function serveAsset(scope: FastifyInstance, file: string): Promise<string> {
  const type = file.endsWith('.css') ? 'text/css' : 'text/javascript'
  const content = await readFile(`${root}/${file}`)
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 12)
  const path = `/assets/${file.replace('.', `-${hash}.`)}`
  scope.get(path, async (_request, reply) => {
    reply.header('cache-control', 'public, max-age=31536000, immutable')
    return reply.type(`${type}; charset=utf-8`).send(content)
  })
  return path
}

/** UTC, because the portal does not know where the visitor is. */
function formatTime(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
