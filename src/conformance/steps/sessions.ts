// Opens sessions of visitors, finds their cookies, and makes their access tokens expire.
import type { LabStep } from '../../sandbox/lab/record/recorded.ts'
import type { Browser, HttpExchange, Page } from '../browser/browser.ts'
import { Failed, NotApplicable, NotRun, Undecided } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { describePage, fail, setCookiesOf } from '../findings.ts'
import type { FaultOptions, Person } from '../platform.ts'
import { isRenewal } from '../platform-calls.ts'
import { formLeadsTo, isAtOrigin, leadsTo } from './addresses.ts'
import { beginLogin, followCallback } from './callback.ts'
import { type ReadCookie, readSetCookie } from './set-cookies.ts'

interface SessionCookie {
  /** The cookie as its last Set-Cookie line sets it. */
  cookie: ReadCookie
  exchange: HttpExchange
}

export interface Session {
  browser: Browser
  person: Person
  page: Page
  cookies: SessionCookie[]
}

/**
 * Signs in, and finds the session cookies. If `fault` is given, the portal answers the exchange with this fault. A
 * cookie belongs to the session if the visitor is signed in with only this cookie, or is signed out without it. Other
 * cookies, such as a cookie for the language, are left out.
 */
export async function openSession(context: CheckContext, fault?: [name: string, value?: unknown]): Promise<Session> {
  const { browser, callback } = await beginLogin(context)
  if (fault) await context.order(fault[0], fault.length > 1 ? { options: { value: fault[1] } } : {})
  const page = await followCallback(context, browser, callback)
  if (fault) await requireFaultyExchange(context)
  if (!(await context.isSignedIn(browser)))
    throw new Undecided(
      fault
        ? 'Nobody is signed in after this token response.'
        : 'A plain login does not work, so this check cannot judge the session.',
    )
  const cookies: SessionCookie[] = []
  for (const [name, set] of lastSet(page.trail)) if (await isSession(context, browser, name)) cookies.push(set)
  return { browser, person: await context.person(), page, cookies }
}

/** Returns the last Set-Cookie line for each cookie name, without deleted cookies. */
function lastSet(trail: HttpExchange[]): Map<string, SessionCookie> {
  const found = new Map<string, SessionCookie>()
  for (const exchange of trail)
    for (const line of setCookiesOf(exchange)) {
      const cookie = readSetCookie(line)
      if (cookie.isDeletion || cookie.value === '') found.delete(cookie.name)
      else found.set(cookie.name, { cookie, exchange })
    }
  return found
}

/** Whether this cookie keeps the visitor signed in without the other cookies of the client. */
export async function signsInAlone(context: CheckContext, browser: Browser, name: string): Promise<boolean> {
  const alone = browser.copy()
  for (const cookie of ownCookies(context, alone)) if (cookie !== name) alone.cookies.delete(cookie)
  return context.isSignedIn(alone)
}

/** Whether this cookie alone keeps the visitor signed in, or the visitor is signed out without it. */
export async function isSession(context: CheckContext, browser: Browser, name: string): Promise<boolean> {
  if (await signsInAlone(context, browser, name)) return true
  const without = browser.copy()
  without.cookies.delete(name)
  return !(await context.isSignedIn(without))
}

/** Returns the names of the cookies that the client has set, including cookies for a whole domain. */
export function ownCookies({ settings }: CheckContext, browser: Browser): string[] {
  const host = new URL(settings.client).hostname
  const isSentToClient = (domain: string) => domain === host || host.endsWith(`.${domain}`)
  return browser.cookies.list().flatMap(({ name, domain }) => (isSentToClient(domain) ? [name] : []))
}

/** Replaces the value of a cookie, and keeps its path, its domain and its Secure attribute. */
export function plant(context: CheckContext, browser: Browser, name: string, value: string): void {
  const kept = browser.cookies.list().find(cookie => cookie.name === name)
  const domain = kept && !kept.isHostOnly ? `; Domain=${kept.domain}` : ''
  const scope = `; Path=${kept?.path ?? '/'}${domain}${kept?.isSecure === false ? '' : '; Secure'}`
  browser.cookies.set(context.url('/'), `${name}=${value}${scope}${/http-/i.test(name) ? '; HttpOnly' : ''}`)
}

/**
 * Some servers add the name of the instance or a version number to the id of a session, such as `.node0` or `~2`.
 * Returns this addition, or an empty string if there is none. The addition is not a secret, and a client may ignore it.
 * It is the last part of the value, and it is the same in two sessions. A signature differs between two sessions.
 */
export function routeIn(value: string, other: string): string {
  const end = /[.~!][^.~!]+$/.exec(value)?.[0] ?? ''
  return other !== value && other.endsWith(end) ? end : ''
}

/** Visits the page behind the login. Returns the steps of this check that arrive at the platform during the visit. */
export async function visitPage(context: CheckContext, browser: Browser): Promise<{ page: Page; steps: LabStep[] }> {
  const { result: page, steps } = await context.during(() => context.visitUntilPortal(browser, context.settings.page))
  return { page, steps }
}

/** Opens tabs of one browser. */
export function newTabs(browser: Browser, count: number): Browser[] {
  return Array.from({ length: count }, () => browser.newTab())
}

/**
 * Visits the page behind the login in all these browsers at once. `page` is the first page without an answer, or the
 * first page if all were answered.
 */
export async function visitAtOnce(
  context: CheckContext,
  browsers: Browser[],
  settleMs?: number,
): Promise<{ pages: Page[]; page: Page; steps: LabStep[] }> {
  const visitAll = () => Promise.all(browsers.map(browser => context.visitUntilPortal(browser, context.settings.page)))
  const { result: pages, steps } = await context.during(visitAll, settleMs)
  return { pages, page: pages.find(({ status }) => status === 0) ?? pages[0]!, steps }
}

/** The shortest lifetime (expires_in) that checks give an access token, in seconds. */
const shortLife = 2
/** The order of a fault that gives an access token this lifetime. */
export const shortLifeOrder: FaultOptions = { options: { value: shortLife } }

/**
 * Signs a visitor in, and waits until the access token has expired: expires_in has passed, and the API refuses the
 * token. At the next visit, the client must renew the session. See renewalIn.
 */
export async function expiredSession(
  context: CheckContext,
  person?: Person,
): Promise<{ browser: Browser; person: Person; page: Page }> {
  const visitor = person ?? (await context.person())
  let opened = await openBriefly(context, visitor)
  // If the login took longer than the token is valid, the following visit proves nothing.
  for (let tries = 1; tries < 3 && opened.tookMs > shortLife * 1000; tries++)
    opened = await openBriefly(context, visitor)
  await endToken(context, visitor)
  return { ...opened, person: visitor }
}

/** Makes a login whose access token is valid for two seconds. */
async function openBriefly(context: CheckContext, person: Person) {
  const browser = context.browser()
  const callback = await context.authorize(await context.startLogin(browser), person)
  await context.order('exchange-expires-in', shortLifeOrder)
  // Some clients renew the session before the token expires, even during this login. The renewed token must then also
  // be valid for only two seconds.
  const dropEarly = await context.order('refresh-expires-in', { ...shortLifeOrder, times: 'always' })
  const began = performance.now()
  const page = await followCallback(context, browser, callback)
  const tookMs = performance.now() - began
  if (page.status === 0) fail(`The callback was answered with ${describePage(page)}.`)
  await requireFaultyExchange(context)
  await dropEarly()
  return { browser, page, tookMs }
}

/** Ends the check if the fault that it has ordered has not affected an exchange. */
export async function requireFaultyExchange(context: CheckContext): Promise<void> {
  if (!(await context.codeExchanges()).some(({ fault }) => fault))
    throw new Undecided('The fault that this check had ordered did not affect any exchange of the client.')
}

/**
 * Makes the access token expire in two ways: for clients that compare expires_in with the clock, and for clients that
 * wait for a 401 answer.
 */
export async function endToken({ platform, pause }: CheckContext, person: Person): Promise<void> {
  await pause(shortLife * 1000 + 300)
  await platform.endAccessTokens(person)
}

/**
 * Returns the renewal during a visit after the access token has expired. If the client made no renewal but asked the
 * visitor to sign in, the check does not apply. In other cases without a renewal, the check fails or is undecided,
 * because the client may have failed before the renewal.
 */
export function renewalIn(context: CheckContext, { page, steps }: { page: Page; steps: LabStep[] }): LabStep {
  const renewal = steps.find(isRenewal)
  if (renewal) return renewal
  if (page.status === 0)
    fail(
      `After the access token had expired, the client made no renewal, and did not answer the request: ${page.error}.`,
    )
  if (asksToSignIn(context, page))
    throw new NotApplicable('the client does not renew the session, but asks the visitor to sign in')
  throw new Undecided(
    `After the access token had expired, the client made no renewal and did not ask the visitor to sign in. The page is ${describePage(page)}.`,
  )
}

/** Whether the browser came to the portal, or got an answer that refuses the visitor or offers to sign in. */
export function asksToSignIn(context: CheckContext, page: Page): boolean {
  return [401, 403].includes(page.status) || offersLogin(context, page)
}

/** Whether the browser came to the portal, or got a page with a link or a form that leads to the login. */
export function offersLogin({ settings, platform, url }: CheckContext, { stoppedAt, ...page }: Page): boolean {
  const isAtPortal = (address: string) => isAtOrigin(address, platform.portalUrl)
  const isLogin = (address: string) => isAtPortal(address) || leadsTo(address, url(settings.login))
  return (
    stoppedAt !== undefined ||
    page.trail.some(({ request }) => isLogin(request.url)) ||
    page.links.some(link => isLogin(link.url)) ||
    page.forms.some(form => isAtPortal(form.action) || formLeadsTo(form, url(settings.login)))
  )
}

/**
 * Returns a browser in which a visitor is signed in, for checks that also make sense without a session. If the client
 * has no page behind the login, or if nobody can sign in, no visitor is signed in to the client in this browser. Other
 * checks report why.
 */
export async function signedInIfPossible(context: CheckContext): Promise<Browser> {
  if (!context.settings.page) return context.browser()
  try {
    return (await context.signedIn()).browser
  } catch (error) {
    if ([Failed, NotRun, Undecided].some(one => error instanceof one)) return context.browser()
    throw error
  }
}

/** Signs in and returns the session. Ends the check if no cookie belongs to the session. */
export async function sessionOf(context: CheckContext): Promise<Session> {
  const session = await openSession(context)
  if (session.cookies.length === 0) throw new NotApplicable('the client has no session cookie')
  return session
}

/**
 * Signs a visitor in with a refresh token that contains characters with a special meaning in forms. `mark` is the part
 * of the token that a wrong encoding does not change. Ends the check if the client does not accept such a token.
 */
export async function signInWithOddRefreshToken(context: CheckContext) {
  const mark = `conformance-${Math.random().toString(36).slice(2)}`
  const token = `${mark}+a/b+c==`
  const { browser, callback } = await beginLogin(context)
  await context.order('exchange-refresh-token', { options: { value: token } })
  const landed = await followCallback(context, browser, callback)
  if (!(await context.isSignedIn(browser)))
    throw new NotApplicable('the client does not sign a visitor in with such a refresh token')
  return { browser, landed, token, mark }
}
