// Renders the pages: a template of views/client, what every page shows, and the files that it links to.
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Eta } from 'eta'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { NextStep } from '../errors.ts'

const folder = fileURLToPath(new URL('../../../views/client', import.meta.url))

/** What the bar of every page shows of the product. */
export type Brand = { name: string; home: string; links: NextStep[] }

/** What the bar of every page shows of who is signed in. `name`: empty where the portal tells none. `expiresAt`: when the visitor has to sign in again. */
export type ShownVisitor = { userId: string | undefined; visitorId: string; name: string; expiresAt: Date }

export type VisitorOf = (request: FastifyRequest) => ShownVisitor

type Told = {
  product: Brand
  /** Undefined where nobody is signed in. */
  visitorIfAny: (request: FastifyRequest) => ShownVisitor | undefined
}

type Views = { eta: Eta; render: (request: FastifyRequest, page: string, data: object) => string }

export function useViews(app: FastifyInstance, { visitorIfAny, ...told }: Told): void {
  const eta = loadAll()
  const common = { ...told, assets: serveAssets(app), formatTime }
  const render: Views['render'] = (request, page, data) =>
    eta.render(`/${page}.eta`, { ...common, visitor: visitorIfAny(request), requestId: request.id, ...data })
  app.decorate('views', { eta, render } satisfies Views)
}

/** All at the start: where no file can be opened any more, there must be a page to say so. */
function loadAll(): Eta {
  const eta = new Eta({ views: folder, cache: true })
  for (const name of globSync('**/*.eta', { cwd: folder })) {
    const path = join(folder, name)
    // Indentation is for who reads the template, and not for who waits for the page.
    eta.loadTemplate(path, readFileSync(path, 'utf8').replace(/^[ \t]+/gm, ''))
  }
  return eta
}

export function hasTemplate(app: FastifyInstance, page: string): boolean {
  return app.getDecorator<Views>('views').eta.templatesSync.get(join(folder, `${page}.eta`)) !== undefined
}

/** The page's HTML, for a handler to return. `page` is the template's name without `.eta`; `title` says where the visitor is. */
export async function showPage(reply: FastifyReply, page: string, data: { title: string } & Record<string, unknown>) {
  const html = reply.server.getDecorator<Views>('views').render(reply.request, page, data)
  reply.type('text/html; charset=utf-8')
  return html
}

export type Message = {
  title: string
  message: string
  nextStep: NextStep
  /** Offered beside signing out, to whoever is signed in. */
  signInAnew?: NextStep | undefined
  /** Says that the login portal may still know the visitor. */
  hasSignedOut?: boolean
  /** Where visitors sign out of the login portal itself; undefined if it has no page for that. */
  portalSignOut?: string | undefined
  /** A fault shows the request id, by which the operator finds it in the log. */
  isFault?: boolean
}

export function showMessage(reply: FastifyReply, message: Message) {
  return showPage(reply, 'message', message)
}

/**
 * A page that goes on to `path` by itself. A redirect would not do: after one that began on another site the browser
 * still keeps the Strict cookies back (RFC 6265bis 5.2), also those that this very answer has set.
 */
export function showGoOn(reply: FastifyReply, path: string) {
  // The address of this page may hold a code, which no Referer may carry on.
  reply.headers({
    // The page loads its icon only. Without a link to one, some browsers ask for /favicon.ico.
    'content-security-policy':
      "default-src 'none'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    'referrer-policy': 'no-referrer',
  })
  return showPage(reply.code(200), 'go-on', { title: 'One moment', path })
}

const types = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', svg: 'image/svg+xml' }

/** Adds a route for each file, under a name that changes with its content, and returns their addresses. */
function serveAssets(app: FastifyInstance): Record<'style' | 'script' | 'icon', string> {
  const serve = (name: string, type: keyof typeof types, alias?: string): string => {
    const content = readFileSync(join(folder, 'assets', `${name}.${type}`))
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

/** UTC, because the server does not know where the visitor is. */
function formatTime(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
