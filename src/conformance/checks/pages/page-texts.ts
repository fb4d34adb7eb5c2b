// What others typed, on pages and in addresses: it is text, and loads, opens and calls nothing by itself.
import type { Page } from '../../browser/browser.ts'
import { NotApplicable, type Row } from '../../check.ts'
import { expect, statusOf } from '../../findings.ts'
import { crawl, makeApplication } from '../../steps/applications.ts'
import { cookieHeader } from '../../steps/callback.ts'
import { foreignLoads, leadsToScript, runsScript } from '../../steps/page-content.ts'

const hostile: [id: string, what: string, text: string, isHarm?: (page: Page) => boolean][] = [
  // The end of a script, too, for a name that stands in the data of one.
  ['script', 'a script element', 'Marker</script><script>conformance()</script>'],
  ['attribute', 'a double quote and an element', 'Marker"><img src=x onerror=conformance()>'],
  ['single-quote', 'a single quote and a handler', "Marker' onmouseover='conformance()"],
  ['double-quote', 'a double quote and a handler', 'Marker" onmouseover="conformance()'],
  ['title', 'the end of a title', 'Marker</title><svg onload=conformance()>'],
  [
    'template',
    'expressions of templates',
    `Marker{{1234*5678}}\${1234*5678}<%= 1234*5678 %>#{1234*5678}`,
    ({ body }) => body.includes('7006652'),
  ],
]

const runsTheirs = (page: Page) => runsScript(page, 'conformance()')

/** What stands in the place of an application's id; decoded twice or pasted into an address it leads elsewhere. */
const ids: [id: string, text: string][] = [
  ['slashes', '..%2f..%2fapi%2fexchangeToken'],
  ['dots', '%2e%2e%2f%2e%2e%2fidentities'],
  ['query', 'a%3Fx=1'],
  ['fragment', 'a%23b'],
  ['backslash', '%5c..%5c..%5capi'],
  ['null-byte', 'a%00b'],
  ['twice', '%252e%252e%252fapi'],
]

export const pageTexts: Row[] = [
  ...hostile.map(
    ([id, what, text, isHarm = runsTheirs]): Row => ({
      id: `page-escapes-${id}`,
      title: `A name and description with ${what} are text on every page`,
      rule: 'PG-07',
      why: 'Other members of the group write them.',
      fix: 'Let the template escape whatever comes from the API.',
      needs: ['page'],
      async run(context) {
        const person = await context.person()
        await makeApplication(context, person, { name: text, description: text })
        const { pages } = await crawl(context)
        if (!pages.some(page => page.body.includes('Marker')))
          throw new NotApplicable('no page shows the name of an application')
        for (const page of pages) expect(!isHarm(page), `${page.url} holds it as it was written.`, page)
      },
    }),
  ),
  {
    id: 'page-escapes-anything',
    title: 'What the API answers is never markup, nor a script behind a link',
    rule: 'PG-06',
    why: 'The API stores what others sent; an address may be javascript:.',
    fix: 'Escape every value, and make a link only of an http or https address.',
    needs: ['page'],
    async run(context) {
      const person = await context.person()
      // So many that every text comes to stand in every field.
      for (let count = 0; count < 8; count++) await makeApplication(context, person, { name: `Marker ${count}` })
      const { browser } = await context.signedIn()
      for (const place of ['list', 'get']) await context.order(`${place}-hostile-texts`, { times: 5 })
      const { pages } = await crawl(context, browser)
      for (const page of pages) {
        expect(!runsScript(page, 'alert(1)'), `${page.url} holds markup of the API.`, page)
        expect(!leadsToScript(page, 'alert(1)'), `${page.url} has a link to a script.`, page)
      }
    },
  },
  {
    id: 'page-icon-not-loaded',
    title: 'Addresses that others typed are not loaded, neither by the page nor by the server',
    rule: 'PG-05',
    why: 'An icon elsewhere tells its owner who looks, and a server that fetches it can be sent anywhere.',
    fix: 'Show such an address as a link, and fetch nothing.',
    needs: ['page'],
    async run(context) {
      const person = await context.person()
      const { otherSite } = context.platform
      const icon = `/icon-of-${person.firstName}`
      await makeApplication(context, person, {
        name: 'Marker',
        iconUrl: otherSite.url(icon),
        webPageUrl: otherSite.url(icon),
        privacyPolicyUrl: otherSite.url(icon),
      })
      const { pages } = await crawl(context)
      for (const page of pages)
        expect(
          !foreignLoads(page, context.settings.client).some(url => url.includes(icon)),
          `${page.url} loads it.`,
          page,
        )
      expect(otherSite.arrived(icon).length === 0, 'The server fetched it.')
    },
  },
  {
    id: 'page-links-apart',
    title: 'Links to addresses that others typed open without a hold on the page',
    rule: 'links-apart',
    why: 'What is opened could lead the opener elsewhere, and learns where one came from.',
    fix: 'Add rel="noopener noreferrer".',
    needs: ['page'],
    async run(context) {
      const person = await context.person()
      const there = context.platform.otherSite.url(`/page-of-${person.firstName}`)
      await makeApplication(context, person, { name: 'Marker', webPageUrl: there })
      const { pages } = await crawl(context)
      const links = pages.flatMap(({ links }) => links.filter(({ url }) => url === there))
      if (links.length === 0) throw new NotApplicable('no page links to it')
      expect(
        links.every(({ rel }) => rel.includes('noopener') || rel.includes('noreferrer')),
        'A link has no rel="noopener noreferrer".',
      )
    },
  },
  ...ids.map(
    ([id, text]): Row => ({
      id: `page-id-${id}`,
      title: `An id such as ${text} calls nothing but the application API`,
      rule: 'PG-23',
      why: "An id that is pasted into an address leads the client's token to other calls.",
      fix: 'Check the form of an id, and encode it as one segment of the path.',
      needs: ['page'],
      // What it calls there may tell of no visitor.
      isAlone: true,
      async run(context) {
        const { browser, person } = await context.signedIn()
        const before = context.arrived('api', 'me', 'exchange').length
        const answer = await context.request(`${context.settings.page}/${text}`, {
          headers: {
            cookie: cookieHeader(context, browser, `${context.settings.page}/${text}`),
            'sec-fetch-mode': 'navigate',
            'sec-fetch-dest': 'document',
            'sec-fetch-site': 'none',
          },
        })
        expect(statusOf(answer) > 0, 'There was no answer.', answer)
        await context.platform.settle()
        const allowed = /^\/apps\/v1(\/[^/?#]+)?$|^\/apps\/v1\?|^\/api\/me$/
        const wrong = context
          .arrived('api', 'me', 'exchange')
          .slice(before)
          .filter(
            ({ request }) => !allowed.test(request.url) && !request.url.startsWith(`/identities/v1/${person.id}/links`),
          )
        expect(wrong.length === 0, `It called ${wrong[0]?.request.url}.`, answer, ...wrong)
      },
    }),
  ),
]
