// One window of a real Chromium. The window has its own cookies, and records all its requests.
import { setTimeout as wait } from 'node:timers/promises'
import type * as Playwright from 'playwright-core'
import type { HttpExchange, LostExchange } from './browser.ts'

export type Window = Awaited<ReturnType<typeof openWindow>>

/** One request that the window made. */
interface WindowRequest {
  url: string
  method: string
  /** True if the request loads a whole page. */
  isPage: boolean
  headers: Record<string, string>
}

interface WindowOptions {
  /** The time limit for a page to load and to finish its redirects. */
  patienceMs: number
  onHttpExchange: (exchange: HttpExchange) => void
}

const lookMs = 50
/** A page counts as loaded when it has sent no request for this many milliseconds. */
const quietMs = 400
/** If more than this many pages load one after the other without a click, they count as an endless loop. */
const mostPages = 30

const brokenConnection = /ERR_(EMPTY_RESPONSE|CONNECTION_\w+|INCOMPLETE_CHUNKED_ENCODING|CONTENT_LENGTH_MISMATCH)/

export async function openWindow(chromium: Playwright.Browser, { patienceMs, onHttpExchange }: WindowOptions) {
  // Chromium ignores NODE_EXTRA_CA_CERTS, so it would refuse a certificate that is trusted only because of this
  // variable. The suite's own requests check the certificate.
  const context = await chromium.newContext({ ignoreHTTPSErrors: true })
  context.setDefaultTimeout(patienceMs)
  const asked: WindowRequest[] = []
  const errors: string[] = []
  const underWay = new Set<Playwright.Request>()
  let lastMove = performance.now()
  let isClosed = false

  context.on('request', request => {
    lastMove = performance.now()
    underWay.add(request)
    asked.push({ url: request.url(), method: request.method(), isPage: isPage(request), headers: request.headers() })
  })
  const end = (request: Playwright.Request) => {
    if (underWay.delete(request)) lastMove = performance.now()
  }
  // A request from a script counts as finished when the first bytes of its answer arrive, because some answers end only
  // when the page is closed.
  context.on('response', response => !isPage(response.request()) && end(response.request()))
  context.on('requestfinished', async request => {
    const exchange = isTelling(request) ? await readHttpExchange(request).catch(() => undefined) : undefined
    if (exchange && !isClosed) onHttpExchange(exchange)
    end(request)
  })
  context.on('requestfailed', request => {
    const error = request.failure()?.errorText ?? 'it failed'
    if (!isClosed && brokenConnection.test(error)) onHttpExchange(lostExchange(request, { error, loss: 'broken' }))
    end(request)
  })
  context.on('console', message => {
    if (message.type() === 'error' && !isAboutAnAnswer(message)) errors.push(message.text())
  })
  context.on('weberror', error => errors.push(String(error.error())))
  // Confirms every dialog, including the question whether to leave a form with unsaved changes.
  context.on('dialog', dialog => void dialog.accept().catch(() => undefined))
  const page = await context.newPage()

  /** Resolves with true when the page sends no more requests, and with false if the page loops or gets no answer. */
  async function untilQuiet(): Promise<boolean> {
    const begun = performance.now()
    const pagesBefore = asked.filter(({ isPage }) => isPage).length
    for (;;) {
      const now = performance.now()
      if (underWay.size === 0 && now - lastMove > quietMs) return true
      if (asked.filter(({ isPage }) => isPage).length - pagesBefore > mostPages) return false
      if (now - begun > patienceMs) break
      await wait(lookMs)
    }
    const late = { error: `no whole answer within ${patienceMs} ms`, loss: 'late' } as const
    for (const request of underWay) if (isPage(request)) onHttpExchange(lostExchange(request, late))
    return false
  }

  return {
    page,
    asked,
    /** Errors of scripts, and resources that the Content-Security-Policy of the page blocked. */
    errors,
    untilQuiet,

    /** Opens an address as if a person typed it. See untilQuiet. */
    async goTo(url: string): Promise<boolean> {
      lastMove = performance.now()
      // Does not throw for an endless redirect or for a page that redirects itself at once, because the final address
      // shows the result.
      await page.goto(url, { waitUntil: 'commit' }).catch(() => undefined)
      return untilQuiet()
    },

    /** Calls `what`, which acts on the page as a person does, and waits for the effects. See untilQuiet. */
    async act(what: () => Promise<unknown>): Promise<boolean> {
      lastMove = performance.now()
      await what()
      // Restarts the quiet time, because a script may send requests a moment later.
      lastMove = performance.now()
      return untilQuiet()
    },

    cookies: (url: string) => context.cookies(url),

    /** Replaces all cookies of the window with these cookies. */
    async keepCookies(cookies: Playwright.Cookie[]): Promise<void> {
      await context.clearCookies()
      await context.addCookies(cookies)
    },

    async close(): Promise<void> {
      isClosed = true
      await context.close()
    },
  }
}

function isPage(request: Playwright.Request): boolean {
  return request.isNavigationRequest() && request.resourceType() === 'document'
}

/** Whether the request can show that a login works. Requests for styles and images cannot. */
function isTelling(request: Playwright.Request): boolean {
  return isPage(request) || ['fetch', 'xhr'].includes(request.resourceType())
}

/**
 * True if Chromium logged an error only because an answer has a status of 400 or more. Checks judge such an answer by
 * its content.
 */
function isAboutAnAnswer(message: Playwright.ConsoleMessage): boolean {
  return message.text().startsWith('Failed to load resource: the server responded with')
}

async function readHttpExchange(request: Playwright.Request): Promise<HttpExchange | undefined> {
  const response = await request.response()
  if (!response) return undefined
  const lines = await response.headersArray()
  const { startTime, responseEnd } = request.timing()
  return {
    request: {
      method: request.method(),
      url: request.url(),
      headers: await request.allHeaders(),
      body: request.postData() ?? '',
    },
    response: {
      status: response.status(),
      headers: new Headers(
        lines
          .filter(({ name }) => name.toLowerCase() !== 'set-cookie')
          .map(({ name, value }): [string, string] => [name, value]),
      ),
      setCookies: lines.filter(({ name }) => name.toLowerCase() === 'set-cookie').map(({ value }) => value),
      body: '',
    },
    startedAt: startTime,
    durationMs: Math.max(0, responseEnd),
  }
}

function lostExchange(request: Playwright.Request, response: LostExchange['response']): LostExchange {
  return {
    request: {
      method: request.method(),
      url: request.url(),
      headers: request.headers(),
      body: request.postData() ?? '',
    },
    response,
    startedAt: request.timing().startTime,
    durationMs: 0,
  }
}
