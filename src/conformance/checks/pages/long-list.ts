// Checks a list of applications that is so long that the client may divide it into pages.
import type { Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import { expect } from '../../findings.ts'
import { makeApplication } from '../../steps/applications.ts'
import { shownText } from '../../steps/page-content.ts'

/** The number of applications of the visitor. Most clients show fewer of them on one page. */
const many = 60
/** The suite opens at most this number of pages of the list. */
const mostPages = 12
/** Names of a parameter that selects a page of a list. */
const pageParameter = /^(page|p|offset|start|skip|from|cursor|after)$/i

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
      const pages: Page[] = [await browser.visit(context.url(context.settings.page))]
      const seen = new Set(pages.map(({ url }) => url))
      for (let i = 0; i < pages.length && pages.length < mostPages; i++)
        for (const url of otherPagesOf(pages[i]!).filter(one => !seen.has(one))) {
          seen.add(url)
          if (pages.length < mostPages) pages.push(await browser.visit(url, { from: pages[i]! }))
        }
      const texts = pages.map(shownText)
      const missing = names.filter(name => !texts.some(text => text.includes(name)))
      if (missing.length === many) throw new NotApplicable('the page behind the login shows no applications')
      if (missing.length > 0 && pages.length === 1)
        throw new NotApplicable('the page behind the login shows only some applications, and has no link to the others')
      expect(
        missing.length === 0,
        `The visitor has ${many} applications. On the ${pages.length} pages of the list, ${missing.length} of them are missing.`,
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
