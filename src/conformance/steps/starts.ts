// Begins logins in all ways that a client offers, for example with a return address. Many clients have separate code
// for some of these ways.
import type { Browser, HttpExchange } from '../browser/browser.ts'
import { passUndecided } from '../check.ts'
import { type CheckContext, type Start, startIn } from '../context.ts'
import { withQuery } from './addresses.ts'
import { errorCallback, followCallback } from './callback.ts'
import { signOut } from './sign-out.ts'

interface BegunLogin {
  /** How the login began. Completes the sentence that starts with `The login that began …`. */
  way: string
  start: Start
}

/** A login that can be finished. Later logins do not change the cookies of this browser. */
export interface OpenLogin extends BegunLogin {
  browser: Browser
}

/** Begins a login in each way that needs no session. Leaves out ways that do not lead to the portal. */
export async function startsOfStrangers(context: CheckContext): Promise<OpenLogin[]> {
  const { login, returnTo, page } = context.settings
  const first = context.browser()
  const start = await context.startLogin(first)
  const second = first.copy()
  const begun = [
    { way: 'in a new browser', start, browser: first },
    { way: 'for the second time in the same browser', start: await context.startLogin(second), browser: second },
  ]
  const add = async (way: string, path: string) => {
    const browser = context.browser()
    const started = startIn(await context.visitUntilPortal(browser, path))
    if (started) begun.push({ way, start: started, browser })
  }
  if (returnTo) {
    const path = withQuery(login, { [returnTo]: page || '/' })
    await add('with a return address', path)
    await add('with the same return address in another browser', path)
  }
  if (page) await add('from the page behind the login', page)
  return begun
}

/** Begins a login in each way, for example after a failed login, in a browser with a session, and after a sign-out. */
export async function startsOf(context: CheckContext): Promise<BegunLogin[]> {
  const begun: BegunLogin[] = await startsOfStrangers(context)
  const again = async (way: string, browser = context.browser()) => {
    const start = startIn(await context.visitUntilPortal(browser, context.settings.login))
    if (start) begun.push({ way, start })
  }
  const browser = context.browser()
  const first = await context.startLogin(browser)
  const callback = await context.authorize(first)
  await followCallback(
    context,
    browser,
    errorCallback(callback, { error: 'access_denied', state: first.state ?? '' }),
    context.beforePortal,
  )
  begun.push({ way: 'in a new browser and then failed', start: first })
  await again('after a failed login', browser)
  const second = await context.startLogin(browser)
  await followCallback(context, browser, await context.authorize(second), context.beforePortal)
  begun.push({ way: 'after a failed login and was then finished', start: second })
  await again('after a finished login', browser)
  // Some clients do not let the suite sign out. Other checks report this.
  const left = context.settings.logout && (await signOut(context, browser).catch(passUndecided))
  if (left) await again('after the visitor had signed out', browser)
  return begun
}

/** Returns the answer that redirects the browser to the portal. */
export function lastAnswer({ start }: BegunLogin): HttpExchange {
  return start.page.trail.at(-1)!
}
