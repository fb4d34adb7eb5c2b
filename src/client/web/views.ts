// Renders the pages: a template of views/client, and what every page shows.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import view from '@fastify/view'
import { Eta } from 'eta'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { isWebUrl } from '../application-form.ts'
import type { NextStep } from '../errors.ts'
import type { Assets } from './assets.ts'
import { sessionOf } from './require-session.ts'

const folder = fileURLToPath(new URL('../../../views/client', import.meta.url))

/** `portalUrl` is where visitors find what only the platform can show them. */
export async function useViews(app: FastifyInstance, assets: Assets, portalUrl: string): Promise<void> {
  await app.register(view, {
    engine: { eta: loadTemplates() },
    root: folder,
    production: true,
    defaultContext: { assets, portalUrl, formatTime, isWebUrl },
  })
}

/** All at the start: where no file can be opened any more, there must be a page to say so. */
function loadTemplates(): Eta {
  const eta = new Eta()
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    if (name.endsWith('.eta')) eta.loadTemplate(path, readFileSync(path, 'utf8'))
  }
  return eta
}

/** The page's HTML, for a handler to return. `page` is the template's name without `.eta`; `title` says where the visitor is. */
export async function showPage(reply: FastifyReply, page: string, data: { title: string } & Record<string, unknown>) {
  const { request } = reply
  return reply.viewAsync(`${page}.eta`, { session: sessionOf(request), requestId: request.id, ...data })
}

export type Message = {
  title: string
  message: string
  nextStep: NextStep
  /** Offered beside signing out, to whoever is signed in. */
  signInAnew?: NextStep | undefined
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
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    'referrer-policy': 'no-referrer',
  })
  return reply.code(200).viewAsync('go-on.eta', { path })
}

/** UTC, because the server does not know where the visitor is. */
export function formatTime(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
