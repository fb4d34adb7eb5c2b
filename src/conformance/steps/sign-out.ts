// Signs out as a visitor does, even after the access token has expired. Finds out whether the client keeps sessions on
// its server, and makes the form with which another site tries to sign a visitor out.
import type { Browser, HttpExchange, Page } from '../browser/browser.ts'
import type { Form } from '../browser/form.ts'
import type { Link } from '../browser/page.ts'
import { NotApplicable, ReportedElsewhere, Undecided } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { setCookiesOf, statusOf } from '../findings.ts'
import { formLeadsTo, leadsTo } from './addresses.ts'
import { beginLogin, followCallback } from './callback.ts'
import { endToken, shortLifeOrder } from './sessions.ts'
import { readSetCookie } from './set-cookies.ts'

/** The suite looks for the sign-out form or link on at most this many pages. */
const mostPages = 12

/** Signs out as a visitor does, with a form or a link on a page of the client. */
export async function signOut(context: CheckContext, browser: Browser, landed?: Page): Promise<Page> {
  const send = await openSignOut(context, browser, landed)
  return send()
}

/** Finds the form or link with which a visitor signs out. The returned function sends the form or opens the link. */
export async function openSignOut(
  context: CheckContext,
  browser: Browser,
  landed?: Page,
): Promise<() => Promise<Page>> {
  const { method, path } = context.settings.logout!
  const found = await findSignOut(context, browser, landed)
  if (found) {
    const { page, form, link } = found
    if (form) return () => browser.submit(page, form, {}, context.beforePortal)
    return () => browser.visit(link!, { from: page, ...context.beforePortal })
  }
  return async () => {
    const own = browser.show(context.url('/'), formHtml(context.url(path), method))
    const page = await browser.submit(own, own.forms[0]!, {}, context.beforePortal)
    if ([400, 403, 419, 422].includes(page.status))
      throw new Undecided(
        `No page has a form for ${path}. The suite sent a form without hidden fields, and the client refused it with status ${page.status}.`,
      )
    return page
  }
}

/** Looks for the form or link with which a visitor signs out. Returns undefined if no page has one. */
export async function findSignOut(
  context: CheckContext,
  browser: Browser,
  landed?: Page,
): Promise<{ page: Page; form: Form | undefined; link: Link | undefined } | undefined> {
  const { method, path } = context.settings.logout!
  const address = context.url(path)
  const { page: behind, create, login } = context.settings
  const waiting = [behind, '/', landed?.url, create].flatMap(one => (one ? [context.url(one)] : []))
  const seen = new Set([address, context.url(login)])
  for (let url = waiting.shift(); url && seen.size < mostPages; url = waiting.shift()) {
    if (seen.has(url.split(/[?#]/)[0]!)) continue
    seen.add(url.split(/[?#]/)[0]!)
    const page = await browser.visit(url, context.beforePortal)
    const form = signOutFormOf(context, page)
    const link = page.links.find(({ url }) => method === 'GET' && leadsTo(url, address))
    if (form || link) return { page, form, link }
    waiting.push(...page.links.map(({ url }) => url).filter(url => url.startsWith(context.url('/'))))
  }
  return undefined
}

/** Finds the sign-out form on the page. */
export function signOutFormOf({ settings, url }: CheckContext, { forms }: Page): Form | undefined {
  const { method, path } = settings.logout!
  return forms.find(form => form.method === method && formLeadsTo(form, url(path)))
}

/** Whether the page has the sign-out form, or a link to its address. False if the client has no sign-out. */
export function offersSignOut(context: CheckContext, page: Page): boolean {
  const { logout } = context.settings
  if (!logout) return false
  const address = context.url(logout.path)
  return signOutFormOf(context, page) !== undefined || page.links.some(({ url }) => leadsTo(url, address))
}

/** Returns the path of the POST request that signs out. Ends the check if the client signs out with another method. */
export function signOutPathByPost({ settings }: CheckContext): string {
  const { method, path } = settings.logout!
  if (method !== 'POST') throw new NotApplicable('the client does not sign out with a POST')
  return path
}

/**
 * Signs out as usual, and ends the check if the visitor is still signed in. If even a normal sign-out does not work,
 * earlier attempts that failed prove nothing. `landed`: the page from which the visitor signs out.
 */
export async function expectWorkingSignOut(context: CheckContext, browser: Browser, landed?: Page): Promise<void> {
  await signOut(context, browser, landed)
  if (await context.isSignedIn(browser)) throw new ReportedElsewhere('signing out does not work')
}

/**
 * Whether the client accepted the sign-out. The next page may answer with status 401 or 403, because nobody is signed in
 * any more.
 */
export function hasSignedOut({ status, trail }: Page): boolean {
  const isShown = (status > 0 && status < 400) || [401, 403].includes(status)
  return isShown && statusOf(trail[0]!) < 400
}

/** Whether the client accepted the request, and deletes cookies in its answer. */
export function deletesCookies(answer: HttpExchange): boolean {
  return statusOf(answer) < 400 && setCookiesOf(answer).some(line => readSetCookie(line).isDeletion)
}

export function formHtml(action: string, method: string): string {
  return `<form method="${method}" action="${action}"><button>Sign out</button></form>`
}

/** A browser in which a visitor is signed in, and a function that sends the sign-out form of a page opened earlier. */
export interface OpenSignOut {
  browser: Browser
  send: () => Promise<Page>
}

/** Signs in, opens the sign-out form, and waits until the access token has expired. */
export async function openExpired(context: CheckContext): Promise<OpenSignOut> {
  const { browser, callback } = await beginLogin(context)
  await context.order('exchange-expires-in', shortLifeOrder)
  await context.order('refresh-expires-in', { ...shortLifeOrder, times: 'always' })
  const landed = await followCallback(context, browser, callback)
  const send = await openSignOut(context, browser, landed)
  await endToken(context, await context.person())
  await context.dropFaults()
  return { browser, send }
}

/**
 * How often a check uses a copy of the cookies. If several processes of a client do not share their sessions, one of
 * them may accept the copy that another one refuses.
 */
const visitsWithCopy = 4

/**
 * Signs out while the portal refuses revocations. Ends the check if a copy of the cookies still works afterwards,
 * because the whole session is then in cookies, and the client alone cannot end it.
 */
export async function requireSessionAtServer(context: CheckContext, { browser, send }: OpenSignOut): Promise<void> {
  const copy = browser.copy()
  await context.order('revoke-503', { times: 'always' })
  await send()
  await context.dropFaults()
  if (await context.isSignedIn(browser)) throw new ReportedElsewhere('signing out does not work')
  for (let visit = 0; visit < visitsWithCopy; visit++)
    if (await context.isSignedIn(copy.copy()))
      throw new NotApplicable('if the portal refuses the revocation, a copy of the cookies works after a sign-out')
}
