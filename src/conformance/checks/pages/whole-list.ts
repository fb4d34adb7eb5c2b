// Checks whether the list shows all applications of the visitor, if the list is long or if several applications have
// the same name.
import type { Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import { describePage, expect, expectWithFix, fail } from '../../findings.ts'
import { makeApplication, makeGroup } from '../../steps/applications.ts'
import { otherPagesOf } from '../../steps/list-pages.ts'
import { mayGoOnByScript, shownText } from '../../steps/page-content.ts'

/**
 * How many applications the visitor has. Most clients show fewer than this on one page. With 10, 25 or 50 applications
 * on a page, the last page is less than half full, so the check finds a client that does not round the number of pages
 * up.
 */
const many = 111
/**
 * With this description, the API's answer is longer than 128 KiB. A client may refuse such a long token response, but
 * not such a long list.
 */
const description = 'A long text. '.repeat(80)
/** The suite opens at most this many pages of the list. */
const mostPages = 20

/** Returns how often the page shows this name, in upper or lower case. */
const timesShown = (page: Page, name: string) => shownText(page).toLowerCase().split(name.toLowerCase()).length - 1

/** Whether the page contains all these ids, for example in links. */
const containsAll = ({ body }: Page, ids: string[]) =>
  ids.every(id => body.includes(id) || body.includes(encodeURIComponent(id)))

export const wholeList: CheckDefinition[] = [
  {
    id: 'list-every-page',
    title: 'Each application of the visitor is in the list, or on one of the pages of the list',
    rule: 'whole-list',
    why: 'The visitor cannot manage an application that is on no page of the list.',
    fix: 'Show all applications, or link to every page of the list. Compute the first and the last entry of each page from the number of the page, and test the last page.',
    needs: ['page'],
    async run(context) {
      const person = await context.person()
      const names = Array.from({ length: many }, (_, i) => `Listed-${String(i).padStart(3, '0')}`)
      // A group has at most 100 applications.
      const groups = [person.groupId, await makeGroup(context, person, 'The second group')]
      for (const [at, name] of names.entries())
        await makeApplication(context, person, { name, description, groupId: groups[at % 2]! })
      const { browser } = await context.signedIn()
      const addresses = [context.url(context.settings.page)]
      const pages: Page[] = []
      for (let i = 0; i < addresses.length && i < mostPages; i++) {
        const page = await browser.visit(addresses[i]!, i > 0 ? { from: pages[0]! } : {})
        pages.push(page)
        for (const url of otherPagesOf(page)) if (!addresses.includes(url)) addresses.push(url)
      }
      const texts = pages.map(shownText)
      expectWithFix(
        'Allow lists of several MiB. The limit for token responses is too small for a list.',
        pages[0]!.status < 400,
        `The list of ${many} applications is about 170 KiB long. The request for the page with the list was answered with ${describePage(pages[0]!)}.`,
        pages[0]!,
      )
      const missing = names.filter(name => !texts.some(text => text.includes(name)))
      if (missing.length === 0) return
      if (missing.length === many) throw new NotApplicable('the page behind the login shows no applications')
      if (pages.length === 1 && mayHaveOtherPages(pages[0]!))
        throw new NotApplicable('the suite cannot tell which links or scripts show the rest of the list')
      if (addresses.length > pages.length)
        throw new NotApplicable(`the list has more than ${mostPages} pages, and the suite does not open all of them`)
      fail(
        `The visitor has ${many} applications. ${missing.length} of them are on no page of the list, for example ${missing[0]}. The suite opened ${pages.length === 1 ? 'one page' : `${pages.length} pages`} of the list.`,
        pages.at(-1)!,
      )
    },
  },
  {
    id: 'list-current',
    title: 'An application that was just created is in the list, whichever process of the client answers',
    rule: 'whole-list',
    why: 'A visitor who has created an application looks for it in the list. Another member of the group may also have created one.',
    fix: 'Call the API for each request for the list. If you keep the answer, keep it only until this request ends.',
    needs: ['page'],
    async run(context) {
      const person = await context.person()
      const browser = context.browser()
      const visitList = () => context.visitUntilPortal(browser.newTab(), context.settings.page)
      await makeApplication(context, person, { name: 'Listed-before' })
      await context.signIn(browser)
      // Several processes may answer these visits. Each of them may keep the list.
      for (let visits = 0; visits < 4; visits++) {
        if (!shownText(await visitList()).includes('Listed-before'))
          throw new NotApplicable('the page behind the login shows no applications')
      }
      await makeApplication(context, person, { name: 'Listed-after' })
      for (let visits = 0; visits < 4; visits++) {
        const page = await visitList()
        expect(
          shownText(page).includes('Listed-after'),
          'After an application was created at the API, the list did not show it.',
          page,
        )
      }
    },
  },
  {
    id: 'list-same-name',
    title:
      'If the names of several applications are equal, or differ only in upper and lower case, all of them are in the list',
    rule: 'whole-list',
    why: 'Several applications of a group can have the same name. The visitor cannot manage an application that is missing from the list.',
    fix: 'If the client collects the applications in a map or dictionary, use the id of the application as the key, not the name.',
    needs: ['page'],
    async run(context) {
      const name = 'Twin-of-conformance'
      /** Makes a visitor whose applications have these names, and opens the list of this visitor. */
      const listOf = async (names: string[]) => {
        const person = await context.otherPerson()
        const ids: string[] = []
        for (const one of names) ids.push(await makeApplication(context, person, { name: one }))
        const { browser } = await context.signedIn({ person })
        const page = await browser.visit(context.url(context.settings.page))
        expect(page.status < 400, `The list is ${describePage(page)}.`, page)
        return { page, hasAllIds: containsAll(page, ids), timesShown: timesShown(page, name) }
      }
      const different = await listOf([`${name}-1`, `${name}-2`, `${name}-3`])
      if (different.timesShown === 0)
        throw new NotApplicable('the page behind the login shows no name of an application')
      const names = [name, name, name.toUpperCase()]
      const same = await listOf(names)
      // A page may show a name once above several applications, or also in a filter. So the check looks at the ids first.
      if (different.hasAllIds && same.hasAllIds) return
      expect(
        same.timesShown >= different.timesShown,
        `A visitor has three applications with the names ${names.join(', ')}. The page shows these names ${same.timesShown} times. With three different names, it shows them ${different.timesShown} times.`,
        different.page,
        same.page,
      )
    },
  },
]

/** Whether a script, a link or a button of the page may show the rest of the list. */
function mayHaveOtherPages(page: Page): boolean {
  const here = new URL(page.url)
  const isOther = (address: string) => {
    const to = new URL(address)
    if (to.pathname !== here.pathname) return /\/\d{1,3}\/?$/.test(to.pathname)
    return [...to.searchParams].some(([name, value]) => here.searchParams.get(name) !== value && /^\d+$/.test(value))
  }
  const linksOn = page.links.some(
    ({ url, text, rel }) => rel.includes('next') || /^\W*\d{1,3}\W*$/.test(text) || (URL.canParse(url) && isOther(url)),
  )
  const asksOn = page.forms.some(({ fields, buttons }) =>
    [...fields.map(([, value]) => value), ...buttons.flatMap(({ value, text }) => [value, text.trim()])].some(value =>
      /^\d{1,3}$/.test(value),
    ),
  )
  return linksOn || asksOn || mayGoOnByScript(page)
}
