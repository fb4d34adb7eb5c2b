// Functions for the steps of a login from the portal to the client's callback. Checks can change each step.
import type { Browser, Page, StopOptions } from '../browser/browser.ts'
import { Undecided } from '../check.ts'
import type { CheckContext, Start } from '../context.ts'
import { expect } from '../findings.ts'

/** Opens a callback as a browser does after a redirect from the portal. */
export async function followCallback(
  context: CheckContext,
  browser: Browser,
  callback: URL | string,
  stop: StopOptions = {},
): Promise<Page> {
  const from = browser.show(`${context.platform.portalUrl}/sign-in`, '')
  return browser.visit(`${callback}`, { from, ...stop })
}

/**
 * Makes a login. Returns its browser and its callback, and a second browser with the cookies from before the callback.
 * Ends the check as undecided if nobody is signed in.
 */
export async function loginWithCopy(
  context: CheckContext,
): Promise<{ browser: Browser; callback: URL; before: Browser }> {
  const { browser, callback } = await beginLogin(context)
  const before = browser.copy()
  await followCallback(context, browser, callback)
  await requireSignedIn(context, browser)
  return { browser, callback, before }
}

/** Ends the check as undecided if nobody is signed in after a login without changes. */
export async function requireSignedIn(context: CheckContext, browser: Browser): Promise<void> {
  if (!(await context.isSignedIn(browser))) throw new Undecided('A plain login does not work.')
}

/** Fails if the page sends the browser to the portal by itself, at once or with a meta refresh after some seconds. */
export async function expectNoNewLogin(
  context: CheckContext,
  browser: Browser,
  page: Page,
  message: string,
): Promise<void> {
  expect(page.stoppedAt === undefined || !context.isPortal(new URL(page.stoppedAt)), message, page)
  // The browser has already followed a refresh with a short delay.
  const { refresh } = page
  if (!refresh) return
  const next = await browser.newTab().visit(refresh.url, { from: page, stopAt: context.isPortal })
  expect(next.stoppedAt === undefined, `${message} The page does this after ${refresh.delay} seconds.`, page, next)
}

/** Begins a login, and returns the callback address without opening it. */
export async function beginLogin(
  context: CheckContext,
  path?: string,
): Promise<{ browser: Browser; start: Start; callback: URL }> {
  const browser = context.browser()
  const start = await context.startLogin(browser, path)
  return { browser, start, callback: await context.authorize(start) }
}

/**
 * Makes a login without a change. Ends the check if the client makes no exchange for the callback of this login. `what`
 * describes the callback in a message. Returns the number of exchanges in this check so far.
 */
export async function requireExchange(context: CheckContext, what = 'a plain callback'): Promise<number> {
  const before = (await context.codeExchanges()).length
  const { browser, callback } = await beginLogin(context)
  await followCallback(context, browser, callback)
  const after = (await context.codeExchanges()).length
  if (after === before) throw new Undecided(`The client made no exchange for ${what}.`)
  return after
}

/** Opens a callback that the client must refuse. Fails if the client exchanges a code or signs somebody in. */
export async function expectRefused(
  context: CheckContext,
  browser: Browser,
  callback: URL | string,
  before = 0,
): Promise<Page> {
  const page = await followCallback(context, browser, callback)
  const exchanges = await context.codeExchanges()
  expect(exchanges.length === before, 'The client exchanged the code of this callback.', page, ...exchanges.slice(-1))
  if (context.settings.page)
    expect(!(await context.isSignedIn(browser)), 'The client signed somebody in after this callback.', page)
  return page
}

/**
 * Returns the callback address with only these parameters and the portal's `iss`. A client may require `iss` in every
 * callback (RFC 9207, 2.4). Such a client would refuse a callback without `iss` before it reads the other parameters.
 */
export function errorCallback(callback: URL, query: Record<string, string>): URL {
  const url = new URL(callback)
  const iss = callback.searchParams.get('iss')
  url.search = `${new URLSearchParams({ ...query, ...(iss !== null && { iss }) })}`
  return url
}

export const navigationHeaders = {
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
  'sec-fetch-site': 'cross-site',
  'sec-fetch-user': '?1',
  accept: 'text/html',
}

/** The headers for an address that a person types. */
export const typedAddress = {
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
  'sec-fetch-site': 'none',
  'sec-fetch-user': '?1',
  accept: 'text/html',
}

/**
 * Requests that do not load a whole page. Each value contains the headers that differ from the headers of a page load.
 */
export const noNavigations: Record<string, Record<string, string>> = {
  'A prefetch': { 'sec-purpose': 'prefetch' },
  'A prerendering': { 'sec-purpose': 'prefetch;prerender' },
  'A frame on a page of another site': { 'sec-fetch-dest': 'iframe', 'sec-fetch-site': 'cross-site' },
  'An embedded object on a page of another site': { 'sec-fetch-dest': 'object', 'sec-fetch-site': 'cross-site' },
  'An image on a page of another site': {
    'sec-fetch-dest': 'image',
    'sec-fetch-mode': 'no-cors',
    'sec-fetch-site': 'cross-site',
  },
  'A script element on a page of another site': {
    'sec-fetch-dest': 'script',
    'sec-fetch-mode': 'no-cors',
    'sec-fetch-site': 'cross-site',
  },
  'A style sheet on a page of another site': {
    'sec-fetch-dest': 'style',
    'sec-fetch-mode': 'no-cors',
    'sec-fetch-site': 'cross-site',
  },
  'A frame in a frameset on a page of another site': { 'sec-fetch-dest': 'frame', 'sec-fetch-site': 'cross-site' },
  'A video on a page of another site': {
    'sec-fetch-dest': 'video',
    'sec-fetch-mode': 'no-cors',
    'sec-fetch-site': 'cross-site',
  },
  'An embed element on a page of another site': { 'sec-fetch-dest': 'embed', 'sec-fetch-site': 'cross-site' },
  'A frame on a page of the client': { 'sec-fetch-dest': 'iframe', 'sec-fetch-site': 'same-origin' },
  'A request from a script on a page of another site': {
    'sec-fetch-dest': 'empty',
    'sec-fetch-mode': 'cors',
    'sec-fetch-site': 'cross-site',
  },
}

/**
 * Returns the Cookie header that this browser would send to the address. Checks use this header in requests that no
 * browser sends.
 */
export function cookieHeader(context: CheckContext, browser: Browser, address: string): string {
  return browser.cookies
    .list(context.url(address))
    .map(({ name, value }) => `${name}=${value}`)
    .join('; ')
}
