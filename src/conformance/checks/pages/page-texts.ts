// Checks how the client handles text that other people wrote, on its pages and in addresses. The client must escape
// such text. If the text is an address, the client must not load or call this address.
import type { Page } from '../../browser/browser.ts'
import type { CheckDefinition } from '../../check.ts'
import { expect, statusOf } from '../../findings.ts'
import { makeApplication, requireShown, visitListAndLinks } from '../../steps/applications.ts'
import { cookieHeader } from '../../steps/callback.ts'
import { foreignLoads, leadsToScript, runsScript } from '../../steps/page-content.ts'

const hostile: [id: string, what: string, text: string, isHarm?: (page: Page) => boolean][] = [
  // This text also contains the end tag of a script, because some pages write names into a script.
  ['script', 'a script element', 'Marker</script><script>conformance()</script>'],
  ['attribute', 'a double quote and an element', 'Marker"><img src=x onerror=conformance()>'],
  ['single-quote', 'a single quote and a handler', "Marker' onmouseover='conformance()"],
  ['double-quote', 'a double quote and a handler', 'Marker" onmouseover="conformance()'],
  ['title', 'the end of a title', 'Marker</title><svg onload=conformance()>'],
  [
    'template',
    'template expressions',
    `Marker{{1234*5678}}\${1234*5678}<%= 1234*5678 %>#{1234*5678}`,
    ({ body }) => body.includes('7006652'),
  ],
]

const runsTheirs = (page: Page) => runsScript(page, 'conformance()')

/**
 * Strings that a request contains in place of the id of an application. If the client decodes the string twice or does
 * not encode it, the client calls another path.
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
      title: `If the name and the description of an application contain ${what}, every page escapes these values`,
      rule: 'PG-07',
      why: "Other members of the visitor's group can write these values.",
      fix: 'Let the template escape every value from the API.',
      needs: ['page'],
      async run(context) {
        const person = await context.person()
        await makeApplication(context, person, { name: text, description: text })
        const pages = await visitListAndLinks(context)
        const isShown = pages.some(page => page.body.includes('Marker'))
        requireShown(context, 'the name of an application', isShown)
        for (const page of pages) expect(!isHarm(page), `${page.url} contains the text without escaping.`, page)
      },
    }),
  ),
  {
    id: 'page-escapes-anything',
    title: 'No text from the API becomes markup, or a link that runs a script',
    rule: 'PG-06',
    why: 'The API stores text that other people typed. A typed address can begin with javascript:.',
    fix: 'Escape every value, and make a link only if the address is http or https.',
    needs: ['page'],
    async run(context) {
      const person = await context.person()
      // With eight applications, each hostile text is in each field once.
      for (let count = 0; count < 8; count++) await makeApplication(context, person, { name: `Marker ${count}` })
      const { browser } = await context.signedIn()
      for (const place of ['list', 'get']) await context.order(`${place}-hostile-texts`, { times: 5 })
      const pages = await visitListAndLinks(context, browser)
      for (const page of pages) {
        expect(!runsScript(page, 'alert(1)'), `${page.url} contains markup from the API.`, page)
        expect(!leadsToScript(page, 'alert(1)'), `${page.url} has a link to a script.`, page)
      }
    },
  },
  {
    id: 'page-icon-not-loaded',
    title: 'Neither the client nor its pages load an address that other people typed',
    rule: 'PG-05',
    why: 'If a page loads an icon from another site, the owner of that site learns who sees the page. If the client loads typed addresses, an attacker can make it call internal servers.',
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
      const pages = await visitListAndLinks(context)
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
    title: "If a link leads to an address that other people typed, the opened page gets no access to the client's page",
    rule: 'links-apart',
    why: "Without the rel attribute, the opened page can redirect the client's page, and gets the address of the client's page as the Referer.",
    fix: 'Add rel="noopener noreferrer" to these links.',
    needs: ['page'],
    async run(context) {
      const person = await context.person()
      const there = context.platform.otherSite.url(`/page-of-${person.firstName}`)
      await makeApplication(context, person, { name: 'Marker', webPageUrl: there })
      const pages = await visitListAndLinks(context)
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
      title: `If an address has ${text} in place of an id, the client calls only the application API`,
      rule: 'PG-23',
      why: "If the client does not encode the id in the address of its API call, it sends the visitor's token to another path.",
      fix: 'Check that the value has the format of an id, and encode it as one segment of the path.',
      needs: ['page'],
      // The check counts the calls for all visitors, because the sandbox cannot always tell to which visitor such a
      // call belongs. The check therefore runs alone.
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
