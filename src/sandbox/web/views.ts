// Templates, stylesheets, scripts and icon, served by ourselves under names that change with their content.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, extname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import view from '@fastify/view'
import { Eta } from 'eta'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isWebUrl } from './web-url.ts'

const root = fileURLToPath(new URL('../../../views/sandbox', import.meta.url))

/** What every page of the portal may need. */
export const portalAssets = ['sandbox.css', 'copy-buttons.js', 'local-times.js', 'show-passwords.js']
const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/**
 * From here on `reply.viewAsync(name, data)` renders views/sandbox/name.eta inside the layout; `data.title` is needed.
 * Templates find the address of an asset under its
 * name in `assets`: a file of views/sandbox, or one of a package by its absolute path.
 */
export async function registerViews(
  scope: FastifyInstance,
  { layout = 'layout', icon = 'icon.svg', assets: names = portalAssets } = {},
): Promise<void> {
  const assets: Record<string, string> = {}
  for (const name of names) assets[isAbsolute(name) ? basename(name) : name] = await serveAsset(scope, name)
  const iconPath = await serveAsset(scope, icon, '/favicon.ico')
  await scope.register(view, {
    engine: { eta: loadTemplates() },
    root,
    viewExt: 'eta',
    layout,
    production: true,
    defaultContext: { assets, icon: iconPath, isWebUrl, formatTime },
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

/** Resolves to the path of the asset. `alias`: what browsers ask for by themselves. */
export async function serveAsset(scope: FastifyInstance, file: string, alias?: string): Promise<string> {
  const content = await readFile(resolve(root, file))
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 12)
  const extension = extname(file)
  const path = `/assets/${basename(file, extension)}-${hash}${extension}`
  const send = (maxAge: string) => async (_request: FastifyRequest, reply: FastifyReply) =>
    reply.header('cache-control', `public, max-age=${maxAge}`).type(types[extension]!).send(content)
  scope.get(path, send('31536000, immutable'))
  if (alias) scope.get(alias, send('86400'))
  return path
}

/** UTC, because the portal does not know where the visitor is. */
function formatTime(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
