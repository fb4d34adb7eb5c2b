// Checks whether a link from another site keeps the query of its address.
import type { Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import { type CheckContext, readStart } from '../../context.ts'
import { expect } from '../../findings.ts'
import { followCallback } from '../../steps/callback.ts'
import { endIfScripted } from '../../steps/page-content.ts'

const fix =
  'If a navigation comes from another site and has no session, answer it once with a meta refresh to the same path and query.'

export const linksWithQuery: CheckDefinition[] = [
  {
    id: 'link-query-kept',
    title: 'If a signed-in visitor follows a link with a query from another site, the opened page has the same query',
    rule: 'link-query',
    why: 'A query can contain, for example, a search text or the number of a page of a list. Without the query, the visitor gets another page.',
    fix,
    needs: ['page'],
    async run(context) {
      const { browser } = await context.signedIn()
      const from = await openOtherSite(context)
      let judged = 0
      const { page, create } = context.settings
      for (const path of [page, create].filter(one => one !== '')) {
        const address = addressWithQuery(context, path)
        const usual = await browser.newTab().visit(address)
        if (usual.status !== 200 || usual.url !== address) continue
        const seen = await browser.newTab().visit(address, { from, ...context.beforePortal })
        // If the link does not open the page, another check reports this.
        if (seen.stoppedAt !== undefined || seen.status !== 200) continue
        judged++
        expect(
          seen.url === address,
          `A typed address opens ${shortOf(usual.url)}. A link from another site to this address opened ${shortOf(seen.url)}.`,
          seen,
        )
      }
      if (judged === 0)
        throw new NotApplicable('no page of the client opens after a link from another site and keeps a query')
    },
  },
  {
    id: 'link-query-kept-by-login',
    title:
      'If a visitor without a session follows a link with a query from another site, the login leads to the page with the same query',
    rule: 'return-to',
    why: 'Such links are in e-mails and on other websites. After the login, the visitor expects the page of the link.',
    fix,
    needs: ['page'],
    async run(context) {
      const address = addressWithQuery(context, context.settings.page)
      const typed = await signInFrom(context, address)
      if (typed?.url !== address)
        throw new NotApplicable('a login that begins at the page behind the login does not keep the query of this page')
      const page = await signInFrom(context, address, await openOtherSite(context))
      if (!page) throw new NotApplicable('a link from another site begins no login')
      expect(
        page.url === address,
        `After a login that begins with the typed address, the visitor gets ${shortOf(address)}. With a link from another site, the visitor gets ${shortOf(page.url)}.`,
        page,
      )
    },
  },
]

function addressWithQuery(context: CheckContext, path: string): string {
  return context.url(`${path}${path.includes('?') ? '&' : '?'}conformance=1&second=2`)
}

/** Opens a page of another site, in a browser without cookies. */
function openOtherSite(context: CheckContext): Promise<Page> {
  const { otherSite } = context.platform
  return context.browser().visit(otherSite.url(otherSite.page('<a href="/">Go</a>')))
}

/**
 * Opens the address in a new browser, and finishes the login that begins there. Returns the page after the login, or
 * undefined if no login begins. `from`: the page with the link. Without it, the visitor types the address.
 */
async function signInFrom(context: CheckContext, address: string, from?: Page): Promise<Page | undefined> {
  const browser = context.browser()
  const page = await browser.visit(address, { ...(from && { from }), ...context.beforePortal })
  if (!URL.parse(page.stoppedAt ?? '')?.searchParams.has('response_type')) return undefined
  const landed = await followCallback(context, browser, await context.authorize(readStart(page)))
  if (landed.url !== address) endIfScripted(landed, context.settings)
  return landed
}

/** The address without its origin. */
function shortOf(address: string): string {
  const { pathname, search } = new URL(address)
  return pathname + search
}
