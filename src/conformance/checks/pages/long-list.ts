// Checks a list of applications that is so long that the client may divide it into pages.
import type { Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import { fail } from '../../findings.ts'
import { makeApplication } from '../../steps/applications.ts'
import { shownText } from '../../steps/page-content.ts'

/** The number of applications of the visitor. Most clients show fewer of them on one page. */
const many = 60
/** The suite opens at most this number of pages of the list. */
const mostPages = 20
/** Names of a parameter that selects a page of a list. */
const pageParameter = /^(page|p|offset|cursor|after)$/i

export const longList: CheckDefinition[] = [
  {
    id: 'list-every-page',
    title: 'If the client divides the list of applications into pages, each application is on one of the pages',
    rule: 'whole-list',
    why: 'The visitor cannot manage an application that is on no page of the list.',
    fix: 'Compute the first and the last entry of each page from the number of the page, and test the last page.',
    needs: ['page'],
    async run(context) {
      const person = await context.person()
      const names = Array.from({ length: many }, (_, i) => `Listed-${String(i).padStart(3, '0')}`)
      for (const name of names) await makeApplication(context, person, { name })
      const { browser } = await context.signedIn()
      const addresses = [context.url(context.settings.page)]
      const pages: Page[] = []
      for (let i = 0; i < addresses.length && i < mostPages; i++) {
        const page = await browser.visit(addresses[i]!, i > 0 ? { from: pages[0]! } : {})
        pages.push(page)
        for (const url of otherPagesOf(page)) if (!addresses.includes(url)) addresses.push(url)
      }
      const texts = pages.map(shownText)
      const missing = names.filter(name => !texts.some(text => text.includes(name)))
      if (missing.length === 0) return
      if (missing.length === many) throw new NotApplicable('the page behind the login shows no applications')
      if (pages.length === 1) throw new NotApplicable('the suite finds no link to another page of the list')
      if (addresses.length > pages.length)
        throw new NotApplicable(`the list has more than ${mostPages} pages, and the suite does not open all of them`)
      fail(
        `The visitor has ${many} applications. ${missing.length} of them are on no page of the list, for example ${missing[0]}. The suite opened the list at ${pages.length} addresses.`,
        pages.at(-1)!,
      )
    },
  },
]

/** Returns the links on the page that select another page of the same list, in the same order of its entries. */
function otherPagesOf({ url, links }: Page): string[] {
  const here = withoutPage(url)
  return links
    .map(link => link.url.split('#')[0]!)
    .filter(one => URL.canParse(one) && one !== url && withoutPage(one) === here)
}

function withoutPage(address: string): string {
  const url = new URL(address)
  for (const name of [...url.searchParams.keys()]) if (pageParameter.test(name)) url.searchParams.delete(name)
  url.searchParams.sort()
  return `${url}`
}
