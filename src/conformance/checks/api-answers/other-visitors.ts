// Checks whether pages about applications show data of another visitor, for example from a cache for all visitors.
import { randomUUID } from 'node:crypto'
import type { Browser, Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect } from '../../findings.ts'
import type { Person } from '../../platform.ts'
import { type OwnApplication, openPagesAbout, openWithApplication } from '../../steps/application-pages.ts'
import { requireShown } from '../../steps/applications.ts'

interface Visitor extends OwnApplication {
  /** Strings that must appear only on pages of this visitor, each with a description. */
  marks: [what: string, text: string][]
  addresses: string[]
}

/** Signs in a visitor whose application has recognizable text in all fields, and finds this visitor's pages. */
async function openVisitor(context: CheckContext, someone: Person): Promise<Visitor> {
  const mark = randomUUID().slice(0, 13)
  const application = await openWithApplication(
    context,
    {
      name: `Plan ${mark}`,
      description: `About ${mark}`,
      webPageUrl: `https://a.example/${mark}`,
      iconUrl: `https://a.example/${mark}.png`,
      privacyPolicyUrl: `https://a.example/${mark}/privacy`,
      scopes: mark,
      defaultScopes: mark,
    },
    someone,
  )
  const pages = await openPagesAbout(context, application)
  const { create } = context.settings
  const addresses = [...pages.map(({ url }) => url), context.url('/'), ...(create ? [context.url(create)] : [])]
  const marks: Visitor['marks'] = [
    ['text about an application', mark],
    ['the id of an application', application.id],
    ['the id of a group', someone.groupId],
    ['the e-mail address', someone.email],
  ]
  return { ...application, marks, addresses }
}

/** Opens the addresses one after the other, and does not follow redirects to other sites. */
async function openAll(context: CheckContext, browser: Browser, addresses: string[]): Promise<Page[]> {
  const pages: Page[] = []
  for (const url of addresses) pages.push(await browser.newTab().visit(url, context.beforeLeaving))
  return pages
}

const textOf = ({ body, forms, links }: Page) =>
  [body, ...links.map(({ url }) => url), ...forms.flatMap(({ fields }) => fields.map(([, value]) => value))].join('\n')

/** Opens the pages of a visitor, and ends the check if no page shows data of this visitor. */
async function openOwn(context: CheckContext, { browser, addresses, marks }: Visitor): Promise<void> {
  const texts = (await openAll(context, browser, addresses)).map(textOf)
  requireShown(
    context,
    'an application',
    texts.some(shown => marks.some(([, text]) => shown.includes(text))),
  )
}

/**
 * Fails if a page contains one of the visitor's strings. One exception: if the browser requested an address that
 * contains the id of the visitor's application, the page may contain this id.
 */
function expectNothingOf({ marks, id }: Visitor, pages: Page[], when: string): void {
  for (const page of pages) {
    const shown = textOf(page)
    const isSent = page.trail[0]?.request.url.includes(id)
    const found = marks.find(([, text]) => shown.includes(text) && !(isSent && text === id))
    expect(!found, `${when}, a page of one visitor shows ${found?.[0]} of another visitor.`, page)
  }
}

const rule = 'visitors-apart'
const why =
  'Some clients store an answer from the API in a cache for all visitors, or in a global variable. They can then show the data of one visitor to another visitor.'
const needs: CheckDefinition['needs'] = ['page']

export const otherVisitors: CheckDefinition[] = [
  {
    id: 'other-visitors-data',
    title: 'No page about an application contains data of another visitor',
    rule,
    why,
    fix: 'Do not cache answers from the API. If you must cache them, make the id of the visitor part of the cache key. Do not keep anything about a request in a global variable.',
    needs,
    async run(context) {
      const owner = await openVisitor(context, await context.person())
      await openOwn(context, owner)
      const reader = await openVisitor(context, await context.otherPerson())
      const addresses = [...reader.addresses, ...owner.addresses]
      expectNothingOf(
        owner,
        await openAll(context, reader.browser, addresses),
        'After another visitor has opened this page',
      )
      expectNothingOf(
        reader,
        await openAll(context, owner.browser, owner.addresses),
        'After another visitor has opened this page',
      )
    },
  },
  {
    id: 'other-visitors-data-at-once',
    title:
      'If two visitors open the pages about their applications at the same time, no page contains data of the other visitor',
    rule,
    why,
    fix: "Keep the session and the API's answers in variables of the request, and never in a global variable. Let equal calls that run at the same time share one answer only if they are for the same visitor.",
    needs,
    async run(context) {
      const one = await openVisitor(context, await context.person())
      const two = await openVisitor(context, await context.otherPerson())
      await openOwn(context, one)
      await openOwn(context, two)
      // Both visitors open the same kind of page at the same time, because a client may use one variable for all
      // visitors of such a page.
      for (let round = 0; round < 3; round++)
        for (let at = 0; at < Math.max(one.addresses.length, two.addresses.length); at++) {
          // Copies the browser, so that both tabs of a visitor send the same cookies.
          const open = ({ browser, addresses }: Visitor) =>
            openAll(context, browser.copy(), [addresses[at] ?? addresses[0]!])
          const [first, second, third, fourth] = await Promise.all([open(one), open(two), open(one), open(two)])
          expectNothingOf(two, [...first, ...third], 'When two visitors opened their pages at the same time')
          expectNothingOf(one, [...second, ...fourth], 'When two visitors opened their pages at the same time')
        }
    },
  },
  {
    id: 'other-visitors-data-while-down',
    title: 'While the API is down, no page contains the data of another visitor',
    rule,
    why: 'Some clients show an older answer while the API is down. If all visitors share this answer, the client shows it to the wrong visitor.',
    fix: 'Do not cache answers from the API. If you must show older answers, make the id of the visitor part of the cache key.',
    needs,
    async run(context) {
      const owner = await openVisitor(context, await context.person())
      await openOwn(context, owner)
      const { browser } = await context.signedIn({ person: await context.otherPerson() })
      let met = 0
      for (const fault of ['api-503', 'api-reset', 'groups-503', 'groups-403']) {
        // Opens the owner's pages again. A client may keep only the last answer, and the calls for the other visitor
        // have replaced the answer for the owner.
        await openAll(context, owner.browser, owner.addresses)
        await context.order(fault, { times: 'always' })
        const pages = await openAll(context, browser, owner.addresses)
        met += context.timesMet(fault)
        await context.dropFaults()
        expectNothingOf(owner, pages, 'While the API is down')
      }
      if (met === 0) throw new NotApplicable('the client does not call the API for these pages')
    },
  },
]
