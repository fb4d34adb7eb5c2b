// The session of a visitor: which cookies belong to it, and how it ends.
import type { LabStep } from '../../sandbox/lab/record/recorded.ts'
import type { Browser, Exchange, Page } from '../browser/browser.ts'
import { Failed, NotApplicable, Undecided } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { describePage, setCookiesOf } from '../findings.ts'
import type { Person } from '../platform.ts'
import { beginLogin, followCallback } from './callback.ts'
import { type ReadCookie, readSetCookie } from './set-cookies.ts'

export interface SessionCookie {
  /** The line with which it was set last. */
  cookie: ReadCookie
  exchange: Exchange
}

export interface Session {
  browser: Browser
  person: Person
  page: Page
  cookies: SessionCookie[]
}

/**
 * Signs in, with what the exchange answers as `fault` says, and finds the cookies that are the session: each that opens
 * the page behind the login by itself, or without which it stays shut. Others (a language, a token for forms) are not judged.
 */
export async function openSession(context: CheckContext, fault?: [name: string, value?: unknown]): Promise<Session> {
  const { browser, callback } = await beginLogin(context)
  if (fault) await context.order(fault[0], fault.length > 1 ? { options: { value: fault[1] } } : {})
  const page = await followCallback(context, browser, callback)
  if (fault) await expectFault(context)
  if (!(await context.isSignedIn(browser)))
    throw new Undecided(
      fault
        ? 'Nobody is signed in after this answer.'
        : 'A plain login does not work, so nothing that follows can be judged.',
    )
  const cookies: SessionCookie[] = []
  for (const [name, set] of lastSet(page.trail)) if (await isSession(context, browser, name)) cookies.push(set)
  return { browser, person: await context.person(), page, cookies }
}

/** For each name the last line that set the cookie, without cookies that were deleted. */
function lastSet(trail: Exchange[]): Map<string, SessionCookie> {
  const found = new Map<string, SessionCookie>()
  for (const exchange of trail)
    for (const line of setCookiesOf(exchange)) {
      const cookie = readSetCookie(line)
      if (cookie.isDeletion || cookie.value === '') found.delete(cookie.name)
      else found.set(cookie.name, { cookie, exchange })
    }
  return found
}

async function isSession(context: CheckContext, browser: Browser, name: string): Promise<boolean> {
  const alone = browser.copy()
  for (const cookie of ownCookies(context, alone)) if (cookie !== name) alone.cookies.delete(cookie)
  if (await context.isSignedIn(alone)) return true
  const without = browser.copy()
  without.cookies.delete(name)
  return !(await context.isSignedIn(without))
}

/** Names of the cookies that the client has set. */
export function ownCookies({ settings }: CheckContext, browser: Browser): string[] {
  const host = new URL(settings.client).hostname
  return browser.cookies.list().flatMap(({ name, domain }) => (domain === host ? [name] : []))
}

/** Replaces the value of a cookie and keeps its scope. */
export function plant(context: CheckContext, browser: Browser, name: string, value: string): void {
  const kept = browser.cookies.list().find(cookie => cookie.name === name)
  const scope = `; Path=${kept?.path ?? '/'}${kept?.isSecure === false ? '' : '; Secure'}`
  browser.cookies.set(context.url('/'), `${name}=${value}${scope}${/http-/i.test(name) ? '; HttpOnly' : ''}`)
}

/** Visits the page behind the login. Returns the steps of this check that arrive at the platform meanwhile. */
export async function visitPage(context: CheckContext, browser: Browser): Promise<{ page: Page; steps: LabStep[] }> {
  const before = new Set(context.arrived())
  const page = await context.visitUntilPortal(browser, context.settings.page)
  await context.platform.settle()
  return { page, steps: context.arrived().filter(step => !before.has(step)) }
}

/** The expires_in in seconds of the shortest access token. */
const shortLife = 2
export const shortLifeValue = { options: { value: shortLife } }

/**
 * Somebody whose access token is over, by what the exchange said and by what the API says: the next visit has to renew
 * it. See renewalIn.
 */
export async function expiredSession(
  context: CheckContext,
  person?: Person,
): Promise<{ browser: Browser; person: Person; page: Page }> {
  const visitor = person ?? (await context.person())
  let [opened, tries] = [await openBriefly(context, visitor), 1]
  // A token that expired before the visitor arrived proves nothing about the visit.
  while (opened.tookMs > shortLife * 1000 && tries++ < 3) opened = await openBriefly(context, visitor)
  await endToken(context, visitor)
  return { ...opened, person: visitor }
}

/** A login whose access token lives for a moment. */
async function openBriefly(context: CheckContext, person: Person) {
  const browser = context.browser()
  const callback = await context.authorize(await context.startLogin(browser), person)
  await context.order('exchange-expires-in', shortLifeValue)
  // A client that renews some time before the end does so during the login, because this token expires soon.
  const dropEarly = await context.order('refresh-expires-in', { ...shortLifeValue, times: 'always' })
  const began = performance.now()
  const page = await followCallback(context, browser, callback)
  const tookMs = performance.now() - began
  if (page.status === 0) throw new Failed(`The callback was answered with ${describePage(page)}.`)
  await expectFault(context)
  await dropEarly()
  return { browser, page, tookMs }
}

async function expectFault(context: CheckContext): Promise<void> {
  if (!(await context.exchanges()).some(({ fault }) => fault))
    throw new Undecided('The exchange was answered as always.')
}

/** Expires the access token for clients that count the seconds, and for clients that wait for a 401. */
export async function endToken({ platform, pause }: CheckContext, person: Person): Promise<void> {
  await pause(shortLife * 1000 + 300)
  await platform.endAccessTokens(person)
}

/**
 * The renewal that a visit made after the token had ended. Without one the client renews nothing only if it was seen to
 * send the visitor to sign in: who hangs or breaks before the renewal is not excused.
 */
export function renewalIn(context: CheckContext, { page, steps }: { page: Page; steps: LabStep[] }): LabStep {
  const renewal = steps.find(({ kind }) => kind === 'refresh')
  if (renewal) return renewal
  if (page.status === 0)
    throw new Failed(`The token has ended; nothing was renewed, and the page got no answer: ${page.fault}.`)
  if (asksToSignIn(context, page))
    throw new NotApplicable('the client renews no access token: when one has ended, the visitor is sent to sign in')
  throw new Undecided(
    `The token has ended; nothing was renewed, nobody was asked to sign in, and the page has ${describePage(page)}.`,
  )
}

/** Whether the navigation ended at the portal, or with an answer that refuses the visitor or offers to sign in. */
export function asksToSignIn({ settings, platform, url }: CheckContext, { stoppedAt, ...page }: Page): boolean {
  const login = new URL(url(settings.login))
  const isLogin = (address: string) => {
    if (!URL.canParse(address)) return false
    const { origin, pathname } = new URL(address)
    return origin === platform.portalUrl || (origin === login.origin && pathname === login.pathname)
  }
  return (
    stoppedAt !== undefined ||
    [401, 403].includes(page.status) ||
    page.trail.some(({ request }) => isLogin(request.url)) ||
    page.links.some(link => isLogin(link.url)) ||
    page.forms.some(({ action }) => isLogin(action))
  )
}

/** A session that exists. Ends the check if no cookie belongs to it, because there is nothing to judge. */
export async function sessionOf(context: CheckContext): Promise<Session> {
  const session = await openSession(context)
  if (session.cookies.length === 0) throw new NotApplicable('no cookie of this client is a session')
  return session
}
