// Renders the pages from templates, and serves the files that the pages link to.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import view from '@fastify/view'
import { Eta } from 'eta'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isWebUrl } from '../values/web-url.ts'
import { type Asset, readAsset, viewsFolder } from './assets.ts'

/** The stylesheet of every page. */
export const stylesheet = readAsset('sandbox.css')
export const localTimes = readAsset('local-times.js')

const templates = readTemplates()

interface ViewOptions {
  layout?: string
  icon: Asset
  assets: readonly Asset[]
  /** Data for every template. */
  context?: object
}

/**
 * After this call, `reply.viewAsync(name, data)` renders views/sandbox/name.eta inside the layout. `data.title` is
 * required. Templates find the address of an asset under its name in `assets`.
 */
export async function registerViews(
  scope: FastifyInstance,
  { layout = 'layout', icon, assets, context = {} }: ViewOptions,
): Promise<void> {
  for (const asset of [...assets, icon]) scope.get(asset.path, send(asset, '31536000, immutable'))
  // Browsers request this icon even if no page links to it.
  scope.get('/favicon.ico', send(icon, '86400'))
  const paths = Object.fromEntries(assets.map(({ name, path }) => [name, path]))
  await scope.register(view, {
    engine: { eta: templates },
    root: viewsFolder,
    viewExt: 'eta',
    layout,
    production: true,
    defaultContext: { assets: paths, icon: icon.path, isWebUrl, formatTime, isLong, ...context },
  })
}

/**
 * Reads all templates when the process starts. The process can then show an error page even if it can no longer open
 * files.
 */
function readTemplates(): Eta {
  const eta = new Eta()
  for (const name of readdirSync(viewsFolder, { encoding: 'utf8', recursive: true })) {
    const path = join(viewsFolder, name)
    if (name.endsWith('.eta')) eta.loadTemplate(path, readFileSync(path, 'utf8'))
  }
  return eta
}

function send({ type, content }: Asset, maxAge: string) {
  return async (_request: FastifyRequest, reply: FastifyReply) =>
    reply.header('cache-control', `public, max-age=${maxAge}`).type(type).send(content)
}

/** Writes the time in UTC, because the portal does not know the visitor's time zone. */
function formatTime(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** Whether a name is so long that a page shows it in smaller letters, or shows only its beginning. */
function isLong(name: string): boolean {
  return [...name].length > 60
}
