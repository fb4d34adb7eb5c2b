// The HTTP side of a browser: which requests it sends, in which order, with which cookies. This browser displays
// nothing and runs no scripts.

import type { ContentPolicy } from './content-policy.ts'
import { CookieJar, type RequestKind } from './cookie-jar.ts'
import { encodeForm } from './encode-form.ts'
import { type Cause, originHeaders } from './fetch-metadata.ts'
import type { Button, Form, Values } from './form.ts'
import { type Document, type Link, readDocument } from './page.ts'
import { readReferrerPolicy } from './referrer.ts'
import {
  acceptEncoding,
  type IncomingHeaders,
  isConnectionBroken,
  readText,
  type Send,
  sendOverNetwork,
} from './send.ts'
import { isTrustworthy, relate } from './site.ts'

/**
 * A request of a browser with its answer. In the names of checks and steps, `exchange` means the exchange of a code.
 */
export interface HttpExchange {
  request: { method: string; url: string; headers: Record<string, string>; body: string }
  response: { status: number; headers: Headers; setCookies: string[]; body: string } | NoAnswer
  startedAt: number
  durationMs: number
}

/** The reason why no complete answer arrived. */
interface NoAnswer {
  error: string
  /**
   * `broken`: the connection was refused, or it ended before the whole answer had arrived. `late`: no whole answer
   * arrived in time. Not set if the browser cannot read the answer.
   */
  loss?: 'broken' | 'late'
}

/** A request without a whole answer. */
export interface LostExchange extends HttpExchange {
  response: Required<NoAnswer>
}

export function isLost(exchange: HttpExchange): exchange is LostExchange {
  return 'error' in exchange.response && exchange.response.loss !== undefined
}

export interface Page extends Document {
  url: string
  /** 0 if no answer arrived. `error` says why. */
  status: number
  headers: Headers
  body: string
  error: string | undefined
  /** If `stopAt` stopped the navigation, this is the next address, which the browser did not open. */
  stoppedAt: string | undefined
  /** All requests of this navigation with their answers, in order, including redirects and refreshes. */
  trail: HttpExchange[]
}

export interface Options {
  /** The time limit for each request, from its start to the last byte of the answer. The default is 30 seconds. */
  timeoutMs?: number
  /**
   * If this function returns true for an address, the browser does not follow a redirect or refresh to this address.
   */
  stopAt?: (url: URL) => boolean
  clock?: () => number
  /** Sends a request. By default, requests go over the network. */
  send?: Send
  cookies?: CookieJar
  /** Called after every request, with its answer. */
  onHttpExchange?: (exchange: HttpExchange) => void
}

export type StopOptions = Pick<Options, 'stopAt'>

/** With this option, the browser does not follow redirects. */
export const noRedirects: StopOptions = { stopAt: () => true }

/** A request, with the data that the browser keeps when the request is redirected. */
interface Navigation extends Omit<Cause, 'mode' | 'dest'> {
  /** If the request sends a form, this is the Content-Security-Policy of the page that contains the form. */
  formPolicy: ContentPolicy | undefined
  body: string | undefined
  contentType: string | undefined
  /**
   * True if the request is a reload or sends a form. The browser then does not use cached answers, even after
   * redirects.
   */
  isFresh: boolean
}

/** The highest number of requests in one navigation. */
const mostRequests = 20
/** Seconds. The browser does not follow a meta refresh with a longer delay. */
const longestRefresh = 2

const everyPage = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36',
  'accept-language': 'en-GB,en;q=0.9',
  'accept-encoding': acceptEncoding,
}
const acceptPages = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8'

export type Browser = ReturnType<typeof createBrowser>

export function createBrowser(options: Options = {}) {
  const { timeoutMs = 30_000, clock = Date.now, send = sendOverNetwork } = options
  const cookies = options.cookies ?? new CookieJar(clock)
  /** The history of this tab. For each page, it contains the request that loads the page again. */
  const history: Navigation[] = []
  let at = -1
  /** For each navigation that `stopAt` stopped, its next request. */
  const stopped = new WeakMap<Page, { next: Navigation; trail: HttpExchange[] }>()

  async function sendOnce(cause: Cause & Pick<Navigation, 'body' | 'contentType'>, extra: Record<string, string>) {
    const url = cause.chain.at(-1)!
    const kind: RequestKind = {
      isSameSite: !cause.initiator || relate(cause.initiator.origin, url) !== 'cross-site',
      isNavigation: cause.mode === 'navigate',
      method: cause.method,
    }
    const cookie = cookies.header(url, kind)
    const headers = {
      ...everyPage,
      ...extra,
      ...(cause.contentType ? { 'content-type': cause.contentType } : {}),
      ...originHeaders(cause),
      ...(cookie === undefined ? {} : { cookie }),
    }
    const startedAt = clock()
    const begun = performance.now()
    const response = await ask(cause.method, url, headers, cause.body, ({ lines, setCookies }) => {
      for (const line of setCookies) cookies.set(url.href, line, kind)
      const cleared = lines.get('clear-site-data') ?? ''
      if (/"(cookies|\*)"/.test(cleared) && isTrustworthy(url)) cookies.clearSite(url)
    })
    const request = { method: cause.method, url: url.href, headers, body: cause.body ?? '' }
    const done: HttpExchange = { request, response, startedAt, durationMs: performance.now() - begun }
    options.onHttpExchange?.(done)
    return done
  }

  async function ask(
    method: string,
    url: URL,
    headers: Record<string, string>,
    body: string | undefined,
    onHeaders: (headers: ReturnType<typeof toHeaders>) => void,
  ): Promise<HttpExchange['response']> {
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      let received!: ReturnType<typeof toHeaders>
      const answer = await send({ method, url, headers, body }, signal, headers => {
        received = toHeaders(headers)
        onHeaders(received)
      })
      const { lines, setCookies } = received
      return { status: answer.status, headers: lines, setCookies, body: await readText(answer.body, lines) }
    } catch (error) {
      if (signal.aborted) return { error: `no whole answer within ${timeoutMs} ms`, loss: 'late' }
      return { error: describe(error), ...(isConnectionBroken(error) && { loss: 'broken' }) }
    }
  }

  /** Opens an address and follows redirects and refreshes. */
  async function navigate(
    first: Navigation,
    { stopAt = options.stopAt }: StopOptions,
    replaces = false,
    before: HttpExchange[] = [],
  ) {
    const trail = [...before]
    let navigation = first
    for (;;) {
      const done = await sendOnce(
        { ...navigation, mode: 'navigate', dest: 'document' },
        {
          ...(navigation.isFresh ? { 'cache-control': 'max-age=0' } : {}),
          'upgrade-insecure-requests': '1',
          accept: acceptPages,
        },
      )
      trail.push(done)
      const page = toPage(done, trail)
      const next = redirect(navigation, done)
      if (typeof next === 'string') return { ...page, error: next }
      const isPage = !next && !page.error && page.status !== 204 && page.status !== 205 && !isDownload(page)
      if (isPage) {
        if (!replaces) history.splice(++at, history.length)
        const url = navigation.chain.at(-1)!
        history[at] = { ...navigation, chain: [url], formPolicy: undefined, isFresh: navigation.method === 'POST' }
      }
      const following = next ?? (isPage ? refresh(page) : undefined)
      if (!following) return page
      if (trail.length >= mostRequests) return { ...page, error: `more than ${mostRequests - 1} redirects` }
      if (stopAt?.(following.chain.at(-1)!)) {
        page.stoppedAt = following.chain.at(-1)!.href
        stopped.set(page, { next: following, trail })
        return page
      }
      if (!next) {
        replaces = true
        await new Promise(resolve => setTimeout(resolve, page.refresh!.delay * 1000))
      }
      navigation = following
    }
  }

  function visit(url: string | Link, { from = 'typed', ...stop }: StopOptions & { from?: 'typed' | Page } = {}) {
    const [address, policy] = typeof url === 'string' ? [url, undefined] : [url.url, url.referrerPolicy]
    return navigate(begin('GET', address, from === 'typed' ? undefined : from, policy), stop)
  }

  return {
    cookies,

    /** Opens an address as if a person typed it. With `from`, opens it as if a person clicked a link on that page. */
    visit,

    /**
     * Fills in a form as a person does, and presses the button whose text, value or name is `button`. Without `button`,
     * the browser presses the first button, as the Enter key does. The keys of `values` are names of fields. Throws an
     * Error for a field, choice or button that the form does not have.
     */
    async submit(
      page: Page,
      form: Form,
      values: Values = {},
      { button, ...stop }: StopOptions & { button?: string | Button | undefined } = {},
    ) {
      const pressed = typeof button === 'string' ? findButton(form, button) : (button ?? form.buttons[0])
      const { method, url, body, contentType } = encodeForm(form, values, pressed)
      const next = { ...begin(method, url, page), body, contentType, formPolicy: page.contentPolicy }
      return next.formPolicy.maySendForm(next.chain[0]!, false) ? navigate(next, stop) : forbidden(page, url)
    },

    /** Sends the request of the open page again. */
    reload(stop: StopOptions = {}) {
      if (at < 0) throw new Error('No page is open yet.')
      return navigate({ ...history[at]!, isByUser: true, isFresh: true }, stop, true)
    },

    /** Goes back to the previous page and requests it again, because this browser caches nothing. */
    back(stop: StopOptions = {}) {
      if (at < 1) throw new Error('The history of this tab has no earlier page.')
      const before = history[--at]!
      return navigate({ ...before, isByUser: before.initiator === undefined }, stop, true)
    },

    /** Continues a navigation that `stopAt` stopped. `url` replaces the address at which the navigation stopped. */
    goOn(page: Page, url?: string, stop: StopOptions = {}) {
      const rest = stopped.get(page)
      if (!rest) throw new Error('This navigation was not stopped.')
      const chain = url === undefined ? rest.next.chain : [...rest.next.chain.slice(0, -1), new URL(url)]
      return navigate({ ...rest.next, chain }, stop, false, rest.trail)
    },

    /**
     * Sends a request that a page or its script makes, for example for an image. Returns this request
     * and its redirects, with their answers.
     */
    async fetch(
      url: string,
      { from, method = 'GET', mode = 'no-cors', dest = 'empty', body, contentType }: FetchOptions,
    ): Promise<HttpExchange[]> {
      let next: Navigation = { ...begin(method, url, from), body, contentType, isByUser: false }
      const trail: HttpExchange[] = []
      while (trail.length < mostRequests) {
        const done = await sendOnce({ ...next, mode, dest }, { accept: '*/*' })
        trail.push(done)
        const following = redirect(next, done)
        if (!following || typeof following === 'string') break
        next = following
      }
      return trail
    },

    /** Opens a page as if the server of `url` had sent it, for example a page of an attacker. */
    show(url: string, body: string, headers: Record<string, string> = {}): Page {
      const all = new Headers({ 'content-type': 'text/html; charset=utf-8', ...headers })
      return makePage({ url, status: 200, headers: all, body, error: undefined, trail: [] })
    },

    /** Opens another tab, with the same cookies but its own history. */
    newTab: () => createBrowser({ ...options, cookies }),

    /** Opens another browser with a copy of the cookies, for example the browser of a thief. */
    copy: () => createBrowser({ ...options, cookies: cookies.copy() }),
  }
}

interface FetchOptions {
  from: Page
  method?: string
  mode?: Cause['mode']
  dest?: string
  body?: string
  contentType?: string
}

function begin(method: string, address: string, from: Page | undefined, policy = from?.referrerPolicy): Navigation {
  return {
    initiator: from && { origin: from.origin, policy: policy! },
    referrer: from?.url,
    chain: [new URL(address)],
    method,
    isByUser: true,
    isFresh: method === 'POST',
    formPolicy: undefined,
    body: undefined,
    contentType: undefined,
  }
}

/**
 * Returns the next request if the answer is a redirect. If browsers refuse the redirect, the function returns the
 * reason as a string.
 */
function redirect(navigation: Navigation, { request, response }: HttpExchange): Navigation | string | undefined {
  if (!('status' in response) || ![301, 302, 303, 307, 308].includes(response.status)) return undefined
  const location = response.headers.get('location')
  if (!location) return undefined
  const from = navigation.chain.at(-1)!
  // Browsers read the bytes of this header as UTF-8.
  const address = Buffer.from(location, 'latin1').toString()
  if (!URL.canParse(address, from.href)) return `the answer redirects to an invalid address: ${address}`
  const url = new URL(address, from)
  if (!/^https?:$/.test(url.protocol)) return `the answer redirects to ${url.protocol}`
  if (url.hash === '') url.hash = from.hash
  if (navigation.formPolicy?.maySendForm(url, true) === false)
    return `the Content-Security-Policy of the page with the form forbids a redirect to ${url.origin}${url.pathname}, because form-action does not allow this address`
  const isKept = response.status >= 307 || navigation.method === 'GET' || navigation.method === 'HEAD'
  const becomesGet = !isKept && (response.status === 303 || navigation.method === 'POST')
  const policy = readReferrerPolicy(response.headers.get('referrer-policy'))
  return {
    ...navigation,
    ...(becomesGet ? { method: 'GET', body: undefined, contentType: undefined } : {}),
    initiator: navigation.initiator && policy ? { ...navigation.initiator, policy } : navigation.initiator,
    referrer: request.headers.referer,
    chain: [...navigation.chain, url],
  }
}

/**
 * Returns the request for the meta refresh of the page. Returns undefined if there is no refresh or its delay is too
 * long.
 */
function refresh(page: Page): Navigation | undefined {
  // Most answers contain no refresh. The browser then does not have to parse them.
  if (!page.headers.has('refresh') && !/http-equiv/i.test(page.body)) return undefined
  if (!page.refresh || page.refresh.delay > longestRefresh) return undefined
  return { ...begin('GET', page.refresh.url, page), isByUser: false }
}

function toPage({ request, response }: HttpExchange, trail: HttpExchange[]): Page {
  const answer = 'error' in response ? { status: 0, headers: new Headers(), body: '' } : response
  const { status, headers, body } = answer
  const error = 'error' in response ? response.error : undefined
  return makePage({ url: request.url, status, headers, body, error, trail })
}

/**
 * Parses the answer only when somebody asks for a property of the document. Most answers are redirects, or pages of
 * which no check reads the content.
 */
function makePage(answer: Omit<Page, keyof Document | 'stoppedAt'>): Page {
  let known: Document | undefined
  const read = () => {
    known ??= readDocument(answer.url, answer.headers, answer.body)
    return known
  }
  return {
    ...answer,
    stoppedAt: undefined,
    get title() {
      return read().title
    },
    get links() {
      return read().links
    },
    get forms() {
      return read().forms
    },
    get refresh() {
      return read().refresh
    },
    get referrerPolicy() {
      return read().referrerPolicy
    },
    get contentPolicy() {
      return read().contentPolicy
    },
    get origin() {
      return read().origin
    },
  }
}

/**
 * Returns the result for a form that the browser does not send, because the Content-Security-Policy of the page forbids
 * it.
 */
function forbidden(page: Page, url: string): Page {
  const error = `the Content-Security-Policy of the page forbids a form to ${url}`
  return { ...page, url, status: 0, headers: new Headers(), body: '', forms: [], links: [], trail: [], error }
}

function isDownload({ headers }: Page): boolean {
  return /^\s*attachment/i.test(headers.get('content-disposition') ?? '')
}

function findButton(form: Form, wanted: string): Button {
  const found = form.buttons.find(({ text, value, name }) => [text, value, name].includes(wanted))
  if (found) return found
  const known = form.buttons.map(({ text, name }) => text || name).join(', ')
  throw new Error(`The form has no button ${wanted}; it has ${known || 'none'}.`)
}

function toHeaders(headers: IncomingHeaders): { lines: Headers; setCookies: string[] } {
  const lines = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    const all = [value ?? []].flat()
    if (name === 'location' && new Set(all).size > 1) throw new Error('the answer has several Location headers')
    for (const one of name === 'location' ? all.slice(0, 1) : all) lines.append(name, one)
  }
  return { lines, setCookies: [headers['set-cookie'] ?? []].flat() }
}

function describe(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code && !message.includes(code) ? `${code}: ${message}` : message || String(code)
}
