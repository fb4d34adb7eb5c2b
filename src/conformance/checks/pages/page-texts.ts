// Texts of other people on pages and in addresses: the client must escape them, and must not load or call an address in
// them.
import type { Page } from '../../browser/browser.ts'
import type { CheckDefinition } from '../../check.ts'
import { expect, statusOf } from '../../findings.ts'
import { crawl, makeApplication, requireShown } from '../../steps/applications.ts'
import { cookieHeader } from '../../steps/callback.ts'
import { foreignLoads, leadsToScript, runsScript } from '../../steps/page-content.ts'

const hostile: [id: string, what: string, text: string, isHarm?: (page: Page) => boolean][] = [
  // This text also contains the end of a script, because a page may write names into the data of a script.
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

/**
 * The client gets each text in place of the id of an application. If it decodes the text twice or does not encode it, its
 * call has another path.
 */
const ids: [id: string, text: string][] = [
  ['slashes', '..%2f..%2fapi%2fexchangeToken'],
  ['dots', '%2e%2e%2f%2e%2e%2fidentities'],
  ['query', 'a%3Fx=1'],
  ['fragment', 'a%23b'],
  ['backslash', '%5c..%5c..%5capi'],
  ['null-byte', 'a%00b'],
  ['twice', '%252e%252e%252fapi'],
]

export const pageTexts: CheckDefinition[] = [
  ...hostile.map(
    ([id, what, text, isHarm = runsTheirs]): CheckDefinition => ({
      id: `page-escapes-${id}`,
      title: `Every page escapes a name and description with ${what}`,
      rule: 'PG-07',
      why: "Other members of the visitor's group can write these texts.",
      fix: 'Let the template escape every value from the API.',
      needs: ['page'],
      async run(context) {
        const person = await context.person()
        await makeApplication(context, person, { name: text, description: text })
        const { pages } = await crawl(context)
        const isShown = pages.some(page => page.body.includes('Marker'))
        requireShown(context, 'the name of an application', isShown)
        for (const page of pages) expect(!isHarm(page), `${page.url} contains the text without escaping.`, page)
      },
    }),
  ),
  {
    id: 'page-escapes-anything',
    title: 'No text from the API becomes markup or a script in a link',
    rule: 'PG-06',
    why: 'The API stores texts of other people, and an address can begin with javascript:.',
    fix: 'Escape every value, and make a link only of an http or https address.',
    needs: ['page'],
    async run(context) {
      const person = await context.person()
      // Makes enough applications for every text to be in every field once.
      for (let count = 0; count < 8; count++) await makeApplication(context, person, { name: `Marker ${count}` })
      const { browser } = await context.signedIn()
      for (const place of ['list', 'get']) await context.order(`${place}-hostile-texts`, { times: 5 })
      const { pages } = await crawl(context, browser)
      for (const page of pages) {
        expect(!runsScript(page, 'alert(1)'), `${page.url} contains markup of the API.`, page)
        expect(!leadsToScript(page, 'alert(1)'), `${page.url} has a link to a script.`, page)
      }
    },
  },
  {
    id: 'page-icon-not-loaded',
    title: 'The page and the client do not load addresses that other people typed',
    rule: 'PG-05',
    why: 'A browser that loads an icon of another site tells the owner of that site who sees the page. A client that loads addresses can be made to call internal servers.',
    fix: 'Show the address as a link, and do not load it.',
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
          `${page.url} loads the icon.`,
          page,
        )
      expect(otherSite.arrived(icon).length === 0, 'The client loaded the icon.')
    },
  },
  {
    id: 'page-links-apart',
    title: "Links to addresses that other people typed give the opened page no access to the client's page",
    rule: 'links-apart',
    why: "Without rel, the opened page can redirect the client's page, and gets its address as the Referer.",
    fix: 'Add rel="noopener noreferrer".',
    needs: ['page'],
    async run(context) {
      const person = await context.person()
      const there = context.platform.otherSite.url(`/page-of-${person.firstName}`)
      await makeApplication(context, person, { name: 'Marker', webPageUrl: there })
      const { pages } = await crawl(context)
      const links = pages.flatMap(({ links }) => links.filter(({ url }) => url === there))
      requireShown(context, 'a link to the web page of an application', links.length > 0)
      expect(
        links.every(({ rel }) => rel.includes('noopener') || rel.includes('noreferrer')),
        'A link has no rel="noopener noreferrer".',
      )
    },
  },
  ...ids.map(
    ([id, text]): CheckDefinition => ({
      id: `page-id-${id}`,
      title: `With an id such as ${text}, the client calls only the application API`,
      rule: 'PG-23',
      why: 'If the client does not encode an id in the address of its call, the token of the visitor goes to another path.',
      fix: 'Check the form of an id, and encode it as one segment of the path.',
      needs: ['page'],
      // Runs alone: the sandbox may not know the visitor of such a call, so the check must count the calls of all users.
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
        expect(wrong.length === 0, `The client called ${wrong[0]?.request.url}.`, answer, ...wrong)
      },
    }),
  ),
]
