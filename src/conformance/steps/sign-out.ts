// Signing out as a visitor does, and the form with which another site tries it.
import type { Browser, Page } from '../browser/browser.ts'
import { Undecided } from '../check.ts'
import type { CheckContext } from '../context.ts'

/** Pages of the client on which to look for a way to sign out. */
const mostPages = 12

/** Signs out as a visitor does, with the form or link of a page, such as the page after the login. */
export async function signOut(context: CheckContext, browser: Browser, landed?: Page): Promise<Page> {
  const send = await openSignOut(context, browser, landed)
  return send()
}

/** Finds the form or link with which a visitor signs out. The returned function sends it. */
export async function openSignOut(
  context: CheckContext,
  browser: Browser,
  landed?: Page,
): Promise<() => Promise<Page>> {
  const { method, path } = context.settings.logout!
  const address = context.url(path)
  const stop = { stopAt: (url: URL) => url.origin === context.platform.portalUrl }
  const { page: behind, create, login } = context.settings
  const waiting = [behind, '/', landed?.url, create].flatMap(one => (one ? [context.url(one)] : []))
  const seen = new Set([address, context.url(login)])
  for (let url = waiting.shift(); url && seen.size < mostPages; url = waiting.shift()) {
    if (seen.has(url.split(/[?#]/)[0]!)) continue
    seen.add(url.split(/[?#]/)[0]!)
    const page = await browser.visit(url, stop)
    const form = page.forms.find(one => isSame(one.action, address) && one.method === method)
    if (form) return () => browser.submit(page, form, {}, undefined, stop)
    const link = page.links.find(({ url }) => method === 'GET' && isSame(url, address))
    if (link) return () => browser.visit(link, { from: page, ...stop })
    waiting.push(...page.links.map(({ url }) => url).filter(url => url.startsWith(context.url('/'))))
  }
  return async () => {
    const own = browser.show(context.url('/'), formHtml(address, method))
    const page = await browser.submit(own, own.forms[0]!, {}, undefined, stop)
    if ([400, 403, 419, 422].includes(page.status))
      throw new Undecided(
        `No page has a form for ${path}, and the client refused a form without hidden fields with status ${page.status}.`,
      )
    return page
  }
}

export function isSame(one: string, other: string): boolean {
  return one.split(/[?#]/)[0] === other.split(/[?#]/)[0]
}

export function formHtml(action: string, method: string): string {
  return `<form method="${method}" action="${action}"><button>Sign out</button></form>`
}
