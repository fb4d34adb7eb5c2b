// A Fastify plugin that renders pages: `reply.page(template, data)` and `reply.message({ title, message, nextStep })`.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Eta } from 'eta'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { NextStep } from '../errors.ts'
import type { VisitorInfo } from '../sign-in/visitor.ts'
import { around, type Texts, type TextsOf } from '../texts.ts'
import { serveAssets } from './assets.ts'

const folder = fileURLToPath(new URL('../../../views/client', import.meta.url))

export type PagesOptions = {
  /** The name of this site, in the header and in every title. */
  name: string
  /** The path of the first page for signed-in visitors. */
  home: string
  /** The path of a page where visitors create something. The start page has a link to it. */
  newPage?: string
  /**
   * Returns the links in the header. They can depend on the visitor. On a public page, the visitor's `data` may be
   * empty.
   */
  links: (visitor: VisitorInfo, texts: Texts) => NextStep[]
  texts: TextsOf<FastifyRequest>
  clock: () => Date
  /**
   * A folder with a product's own templates. Its subfolder `assets` contains the product's own files for browsers. A
   * file in this folder replaces the file with the same name in views/client.
   */
  views?: string
  /** If true, a template is read again each time it is rendered, for development. */
  reloadTemplates?: boolean
}

export type Message = {
  title: string
  /** Sentences that say what happened and what to do. */
  message: string
  nextStep: NextStep
  /** A second link, less prominent. */
  otherStep?: NextStep | undefined
  /** A link for signing in again, shown next to a sign-out button. */
  signInAgain?: NextStep | undefined
  /** If true, the page adds that the visitor may still be signed in at the login portal. */
  hasSignedOut?: boolean
  /** The address of the portal's own sign-out page. Undefined if the portal has no such page. */
  portalSignOut?: string | undefined
  /** If true, the page shows the request id, so that the operator can find the error in the log. */
  isError?: boolean
}

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Renders a message for a reply without decorators, such as Fastify's reply to an address that cannot be decoded.
     */
    renderMessage(request: FastifyRequest, message: Message): string
    /** Adds a product's English texts to `request.texts`. */
    addTexts(part: Partial<Texts>): void
  }
  interface FastifyRequest {
    /** The texts in the language of this request. Templates read them as `it.texts`. */
    readonly texts: Texts
  }
  interface FastifyReply {
    /** Renders views/client/`template`.eta. Return the result from the handler. */
    page(template: string, data: { title: string } & Record<string, unknown>): Promise<string>
    /** Renders a page with a message and one link. Return the result from the handler. */
    message(message: Message): Promise<string>
  }
}

export const pages = fastifyPlugin<PagesOptions>(
  async (app, { name, home, newPage, links, texts: allTexts, clock, views, reloadTemplates = false }) => {
    const folders = views === undefined ? [folder] : [views, folder]
    const eta = new Eta({ views: folder, cache: !reloadTemplates })
    eta.readFile = path => {
      const name = relative(folder, path)
      const found = folders.map(one => join(one, name)).find(existsSync)
      if (!found) throw new Error(`There is no template ${name} in ${folders.join(' or ')}.`)
      return readFileSync(found, 'utf8')
    }
    // All templates are read when the server starts. So the error page can be rendered even if the process cannot open
    // any more files.
    for (const path of folders.flatMap(cwd => globSync('**/*.eta', { cwd })))
      eta.loadTemplate(join(folder, path), eta.readFile(join(folder, path)))
    const asset = serveAssets(
      app,
      folders.map(one => join(one, 'assets')),
      reloadTemplates,
    )
    const common = { site: { name, home, newPage }, asset, around }

    function render(request: FastifyRequest, template: string, data: object): string {
      const { visitorIfAny: visitor, id: requestId } = request
      // Do not use request.texts here: if an address cannot be decoded, Fastify's request has no decorators.
      const texts = allTexts.of(request)
      const visitorLinks = visitor ? links(visitor, texts) : []
      const { exact, relative } = timeFormats(texts.lang)
      return eta.render(`/${template}.eta`, {
        ...common,
        texts,
        formatTime: (time: Date) => exact.format(time),
        formatAge: (time: Date) => formatAge(relative, time, clock()) ?? texts.web.justNow,
        path: requestPath(request),
        visitor,
        requestId,
        links: visitorLinks,
        ...data,
      })
    }

    app.decorate('addTexts', part => allTexts.add(part))
    app.decorateRequest('texts', {
      getter(this: FastifyRequest) {
        return allTexts.of(this)
      },
    })
    app.decorate('renderMessage', (request, message) => render(request, 'message', message))
    app.decorateReply('page', async function (this: FastifyReply, template, data) {
      const html = render(this.request, template, data)
      this.type('text/html; charset=utf-8')
      return html
    })
    app.decorateReply('message', function (this: FastifyReply, message) {
      return this.page('message', message)
    })
  },
  { name: 'pages' },
)

type TimeFormats = { exact: Intl.DateTimeFormat; relative: Intl.RelativeTimeFormat }

const knownTimeFormats = new Map<string, TimeFormats>()

/** Makes the time formats only once for each language, because making them takes longer than rendering a page. */
function timeFormats(lang: string): TimeFormats {
  const known = knownTimeFormats.get(lang)
  if (known) return known
  const formats = {
    // The server does not know the visitor's time zone, so it uses UTC. In the browser, a script shows the visitor's
    // own time.
    exact: new Intl.DateTimeFormat(lang, {
      year: 'numeric',
      month: 'short',
      day: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      timeZone: 'UTC',
      timeZoneName: 'short',
    }),
    relative: new Intl.RelativeTimeFormat(lang, { numeric: 'always' }),
  }
  knownTimeFormats.set(lang, formats)
  return formats
}

/** The units of time with their lengths in seconds. The longest unit comes first. */
const timeUnits = [
  ['year', 365 * 24 * 60 * 60],
  ['month', 30 * 24 * 60 * 60],
  ['day', 24 * 60 * 60],
  ['hour', 60 * 60],
  ['minute', 60],
] as const

/**
 * Returns how long ago a time was, such as "3 days ago". Returns undefined if less than a minute has passed. If the
 * clock of the API is ahead, a time can be in the future. The function then also returns undefined.
 */
function formatAge(format: Intl.RelativeTimeFormat, time: Date, now: Date): string | undefined {
  const seconds = (now.getTime() - time.getTime()) / 1000
  const unit = timeUnits.find(([, length]) => seconds >= length)
  return unit && format.format(-Math.trunc(seconds / unit[1]), unit[0])
}

/** Returns the path of the request, without the query. */
export function requestPath({ url }: FastifyRequest): string {
  return url.replace(/\?.*$/s, '')
}

/**
 * Renders a page that opens `nextPath` by itself (meta refresh).
 *
 * A redirect does not work here: after a redirect that began on another site, browsers do not send Strict cookies. This
 * is also true for the Strict cookies that the redirect itself sets (RFC 6265bis 5.2).
 */
export function renderContinuePage(reply: FastifyReply, nextPath: string): Promise<string> {
  reply.code(200).headers({
    // The page loads only its icon and its style sheet.
    'content-security-policy':
      "default-src 'none'; img-src 'self'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    // The address of this page may contain a code.
    'referrer-policy': 'no-referrer',
  })
  return reply.page('continue', { title: reply.request.texts.web.continue.title, nextPath })
}
