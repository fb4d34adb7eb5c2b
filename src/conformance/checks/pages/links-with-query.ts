// Checks whether a link from another site keeps the query of its address.
import type { Browser, Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import { type CheckContext, startIn } from '../../context.ts'
import { expect } from '../../findings.ts'
import { withQuery } from '../../steps/addresses.ts'
import { followCallback } from '../../steps/callback.ts'
import { otherPagesOf } from '../../steps/list-pages.ts'
import { endIfScripted } from '../../steps/page-content.ts'
import { openSearches } from '../../steps/searches.ts'

const fix =
  'If a navigation comes from another site and has no session, answer it once with a meta refresh to the same path and query.'

const noQuery = 'a login that begins at a page does not keep the query of this page'

export const linksWithQuery: CheckDefinition[] = [
  {
    id: 'link-query-kept',
    title:
      'If a signed-in visitor follows a link from another site, and the link has a query, the opened page has the same query',
    rule: 'link-query',
    why: 'A query can contain, for example, a search text or a page number. Without the query, the visitor gets another page.',
    fix,
    needs: ['page'],
    async run(context) {
      const from = await openOtherSite(context)
      let judged = 0
      const { page, create } = context.settings
      for (const path of [page, create].filter(one => one !== '')) {
        const address = addressWithQuery(context, path)
        // A client whose logins do not keep the query has no use for it.
        const typed = await signInFrom(context, address)
        if (typed?.page.url !== address || typed.page.status !== 200) continue
        const seen = await typed.browser.newTab().visit(address, { from, ...context.beforePortal })
        // If the link does not open the page, another check reports this.
        if (seen.stoppedAt !== undefined || seen.status !== 200) continue
        judged++
        expect(
          seen.url === address,
          `A login that begins at ${shortOf(address)} leads back to this address. A link to this address from another site opened ${shortOf(seen.url)}.`,
          seen,
        )
      }
      if (judged > 0) return
      const { browser, page: list, searches } = await openSearches(context)
      const found: { how: string; page: Page }[] = []
      for (const { form, field } of searches) {
        const page = await browser.submit(list, form, { [field]: 'conformance' })
        found.push({ how: 'A search opens', page })
      }
      for (const url of otherPagesOf(list).slice(0, 1))
        found.push({ how: 'The list links to', page: await browser.visit(url, { from: list }) })
      for (const {
        how,
        page: { url, status },
      } of found) {
        const seen = await browser.newTab().visit(url, { from, ...context.beforePortal })
        if (status !== 200 || seen.stoppedAt !== undefined || seen.status !== 200) continue
        judged++
        const what = `${how} ${shortOf(url)}. A link to this address from another site opened ${shortOf(seen.url)}.`
        expect(seen.url === url, what, seen)
      }
      if (judged === 0)
        throw new NotApplicable(`${noQuery}, and the page behind the login has no search and no second page`)
    },
  },
  {
    id: 'link-query-kept-by-login',
    title:
      'If a visitor without a session follows a link from another site, and the link has a query, the login leads to the page with the same query',
    rule: 'return-to',
    why: 'Such links are in e-mails and on other websites. After the login, the visitor expects the page of the link.',
    fix,
    needs: ['page'],
    async run(context) {
      const address = addressWithQuery(context, context.settings.page)
      const typed = await signInFrom(context, address)
      if (typed?.page.url !== address) throw new NotApplicable(noQuery)
      const linked = await signInFrom(context, address, await openOtherSite(context))
      if (!linked) throw new NotApplicable('a link from another site begins no login')
      expect(
        linked.page.url === address,
        `After a login that begins with the typed address, the visitor gets ${shortOf(address)}. With a link from another site, the visitor gets ${shortOf(linked.page.url)}.`,
        linked.page,
      )
    },
  },
]

function addressWithQuery(context: CheckContext, path: string): string {
  return context.url(withQuery(path, 'conformance=1&second=2'))
}

/** Opens a page of another site, in a browser without cookies. */
function openOtherSite(context: CheckContext): Promise<Page> {
  const { otherSite } = context.platform
  return context.browser().visit(otherSite.url(otherSite.page('<a href="/">Go</a>')))
}

/**
 * Opens the address in a new browser, and finishes the login that begins there. Returns the browser and the page after
 * the login, or undefined if no login begins. `from` is the page with the link. If it is missing, the visitor types
 * the address.
 */
async function signInFrom(
  context: CheckContext,
  address: string,
  from?: Page,
): Promise<{ browser: Browser; page: Page } | undefined> {
  const browser = context.browser()
  const begun = await browser.visit(address, { ...(from && { from }), ...context.beforePortal })
  const start = startIn(begun)
  if (!start) return undefined
  const page = await followCallback(context, browser, await context.authorize(start))
  if (page.url !== address) endIfScripted(page, context.settings)
  return { browser, page }
}

/** The address without its origin. */
function shortOf(address: string): string {
  const { pathname, search } = new URL(address)
  return pathname + search
}
