// Checks on the client's pages: their headers, their links, what they load, and who may see them.

import type { Browser, HttpExchange, Page } from '../../browser/browser.ts'
import { type CheckDefinition, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, expectServed, headerOf, setCookiesOf, statusOf } from '../../findings.ts'
import type { Person } from '../../platform.ts'
import type { RuleId } from '../../rules/rules.ts'
import { withQuery } from '../../steps/addresses.ts'
import { openPagesAbout, openWithApplication } from '../../steps/application-pages.ts'
import { makeApplication, visitListAndLinks } from '../../steps/applications.ts'
import { cookieHeader, typedAddress } from '../../steps/callback.ts'
import { isNotFramed } from '../../steps/frames.ts'
import { leadsToHost, otherPortOf } from '../../steps/hosts.ts'
import { addressesIn, foreignLoads, runsScript, showsInside } from '../../steps/page-content.ts'
import { sessionOf, signedInIfPossible } from '../../steps/sessions.ts'
import { readSetCookie } from '../../steps/set-cookies.ts'
import { tokensOf } from '../../tokens.ts'
import { changing } from './changing.ts'
import { creating } from './creating.ts'
import { drafts } from './drafts.ts'
import { editedAddresses } from './edited-addresses.ts'
import { errorHeaders } from './error-headers.ts'
import { everyForm } from './every-form.ts'
import { everyPage } from './every-page.ts'
import { everyText } from './every-text.ts'
import { formHandling } from './form-handling.ts'
import { groupForm } from './group-form.ts'
import { headRequests } from './head.ts'
import { linksWithQuery } from './links-with-query.ts'
import { otherHost } from './other-host.ts'
import { otherPlaces } from './other-places.ts'
import { ownAddress } from './own-address.ts'
import { pageTexts } from './page-texts.ts'
import { repeatedForms } from './repeated-forms.ts'
import { savedValues } from './saved-values.ts'
import { searchForms } from './search-forms.ts'
import { slowValues } from './slow-values.ts'
import { typedValues } from './typed-values.ts'
import { wholeList } from './whole-list.ts'

/**
 * The headers that a page behind the login needs. `isRight` says whether the page has the header with a correct value.
 */
const headers: {
  id: string
  title: string
  rule: RuleId
  why: string
  fix: string
  isRight: (page: Page) => boolean
}[] = [
  {
    id: 'page-no-store',
    title: "A page with the visitor's data has Cache-Control: no-store",
    rule: 'PG-11',
    why: 'Without no-store, the Back button shows the page even after the visitor has signed out, and a proxy may send the page to other people.',
    fix: 'Send Cache-Control: no-store with every page behind the login.',
    isRight: ({ headers }) => /no-store/i.test(headers.get('cache-control') ?? ''),
  },
  {
    id: 'page-not-framed',
    title: 'Other sites cannot show a page behind the login in a frame',
    rule: 'PG-08',
    why: 'Another site can hide the page in a frame, so that visitors press its buttons without seeing them.',
    fix: "Send Content-Security-Policy: frame-ancestors 'none', or X-Frame-Options: DENY.",
    isRight: ({ headers, url }) => isNotFramed(name => headers.get(name), new URL(url).origin),
  },
  {
    id: 'page-nosniff',
    title: 'A page behind the login has X-Content-Type-Options: nosniff',
    rule: 'nosniff',
    why: 'Browsers must not guess the type of an answer. Otherwise, text that somebody typed can run as a script. This check only warns: frameworks do not send the header by default, and the platform does not require it.',
    fix: 'Send X-Content-Type-Options: nosniff with every answer.',
    isRight: ({ headers }) => /nosniff/i.test(headers.get('x-content-type-options') ?? ''),
  },
  {
    id: 'page-content-security-policy',
    title: 'A page behind the login has a Content-Security-Policy that forbids inline scripts',
    rule: 'content-security-policy',
    why: 'If a page forgets to escape a value that contains a script, the policy still stops the script. This check only warns: frameworks do not send a policy by default, so most simple clients would fail.',
    fix: "Send Content-Security-Policy: default-src 'none', and add only the sources that the page needs. Do not allow 'unsafe-inline' for scripts.",
    isRight({ headers }) {
      const policy = headers.get('content-security-policy') ?? ''
      const scripts = /script-src ([^;]*)/i.exec(policy)?.[1] ?? /default-src ([^;]*)/i.exec(policy)?.[1]
      return scripts !== undefined && (!/'unsafe-inline'/i.test(scripts) || /'(nonce|sha\d+)-/i.test(scripts))
    },
  },
  {
    id: 'page-charset',
    title: 'The Content-Type header of a page behind the login names the charset',
    rule: 'charset',
    why: 'Without a charset, the browser guesses. An attacker can then write text that becomes markup if the browser picks a wrong charset.',
    fix: 'Send Content-Type: text/html; charset=utf-8.',
    isRight: ({ headers }) => /charset=|json/i.test(headers.get('content-type') ?? ''),
  },
]

/** Headers of a request that comes from another site. */
const fromOtherSites: Record<string, string>[] = [
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'cross-site', referer: 'https://elsewhere.example/' },
]

export const pages: CheckDefinition[] = [
  {
    id: 'page-needs-login',
    title: 'Without a session, the client makes no API call for the page behind the login, and offers to sign in',
    rule: 'bearer-header',
    why: 'Without a session, the client has no token for the call.',
    fix: 'Check the session before you call the API. Without a session, redirect to the login path, or show a link to it.',
    needs: ['page'],
    isAlone: true,
    async run(context) {
      const page = await context.visitUntilPortal(context.browser(), context.settings.page)
      expect((await calls(context)).length === 0, 'The client called the API for the page.', page)
      expectServed(page, `The request for the page was answered with ${describePage(page)}.`)
      const isLed =
        page.stoppedAt !== undefined ||
        [401, 403].includes(page.status) ||
        page.links.some(({ url }) => url.startsWith(context.url(context.settings.login))) ||
        page.forms.some(({ action }) => action.startsWith(context.url(context.settings.login)))
      expect(
        isLed,
        `The request for the page was answered with ${describePage(page)}, which does not offer to sign in.`,
        page,
      )
    },
  },
  {
    id: 'page-forged-session',
    title: 'The client does not accept an invented session cookie',
    rule: 'CK-05',
    why: 'A client that accepts a cookie without a check lets anyone sign in as another user.',
    fix: 'Seal or sign the value of the cookie, or look the value up in a list of sessions on the server.',
    needs: ['page'],
    isAlone: true,
    async run(context) {
      const { browser } = await context.signedIn()
      const forged = context.browser()
      const user = Buffer.from(JSON.stringify({ access_token: 'forged', sub: 'forged', user: 'forged' })).toString(
        'base64url',
      )
      for (const { name } of browser.cookies.list(context.settings.client))
        forged.cookies.set(context.settings.client, `${name}=${user}; Path=/; Secure`)
      const before = (await calls(context)).length
      await context.visitUntilPortal(forged, context.settings.page)
      expect(
        (await calls(context)).length === before,
        'The client called the API, although the session cookie was invented.',
      )
    },
  },
  {
    id: 'page-from-another-site',
    title:
      'If a signed-in visitor follows a link from another site to the page behind the login, the client shows the page',
    rule: 'PG-12',
    why: 'Browsers do not send Strict cookies with the first request from another site, so the visitor would have to sign in again each time.',
    fix: 'If a navigation comes from another site and has no session, answer it once with a meta refresh to the same path.',
    needs: ['page'],
    async run(context) {
      const { browser, person } = await context.signedIn()
      const before = context.arrived('api').length
      const from = await browser.visit(
        context.platform.otherSite.url(context.platform.otherSite.page('<a href="/">Go</a>')),
      )
      const tab = browser.newTab()
      const page = await tab.visit(context.url(context.settings.page), { from })
      await context.platform.settle()
      const isThere = context
        .arrived('api')
        .slice(before)
        .some(({ about }) => about.userId === person.id)
      expect(isThere, `The link opened ${describePage(page)}, and the client made no call for the visitor.`, page)
    },
  },
  {
    id: 'page-cookie-from-another-site',
    title: 'If a request from another site carries the session cookies, the client shows the page',
    rule: 'PG-13',
    why: 'Browsers send Lax cookies whenever a visitor follows a link from another site. They also send Strict cookies if the visitor follows a link from a page of the client to another site, and this site redirects back to the client.',
    fix: 'Look for the session first. If there is no session, check whether the request comes from another site.',
    needs: ['page'],
    async run(context) {
      const { browser, person } = await context.signedIn()
      const { page } = context.settings
      const visit = async (from: Record<string, string>) => {
        await context.platform.settle()
        const before = context.arrived('api', 'me').length
        const headers = { ...typedAddress, ...from, cookie: cookieHeader(context, browser, page) }
        const answer = await context.request(page, { headers })
        await context.platform.settle()
        const calls = context.arrived('api', 'me').slice(before)
        return { answer, isShown: calls.some(({ about }) => about.userId === person.id) }
      }
      if (!(await visit({ 'sec-fetch-site': 'none' })).isShown)
        throw new Undecided('Even for a typed address, the client does not show the page.')
      for (const from of fromOtherSites) {
        const { answer, isShown } = await visit(from)
        const location = headerOf(answer, 'location')
        const said = `status ${statusOf(answer)}${location === undefined ? '' : ` and a redirect to ${location.split('?')[0]}`}`
        expect(
          isShown,
          `With the session cookies and the headers ${JSON.stringify(from)}, the client answers with ${said}.`,
          answer,
        )
      }
    },
  },
  ...headers.map(
    ({ isRight, ...definition }): CheckDefinition => ({
      ...definition,
      needs: ['page'],
      async run(context) {
        const { page } = await openPage(context)
        const seen = headersOf[definition.id]!.map(name => describeHeader(page, name)).join(', and ')
        expect(isRight(page), `On the page, ${seen}.`, page)
      },
    }),
  ),
  {
    id: 'page-sets-no-session',
    title: 'If a page does not change the session, its answer does not set the session cookie again',
    rule: 'CK-18',
    why: 'If two pages load at the same time, the later answer can replace a newer session with an older session.',
    fix: 'Set the session cookie only in the answer that creates, renews or ends the session.',
    needs: ['page'],
    async run(context) {
      const { browser, cookies } = await sessionOf(context)
      const names = cookies.map(({ cookie }) => cookie.name)
      const { page, create } = context.settings
      for (const path of [page, create, page].filter(path => path !== '')) {
        const before = context.arrived('refresh').length
        const opened = await browser.visit(context.url(path))
        await context.platform.settle()
        // After a renewal, the client must set the session cookie.
        if (context.arrived('refresh').length > before) continue
        const set = opened.trail.flatMap(setCookiesOf).map(line => readSetCookie(line).name)
        expect(!set.some(name => names.includes(name)), `${path} sets the session cookie again.`, opened)
      }
    },
  },
  {
    id: 'page-no-cors',
    title: 'No script on another site can read the page behind the login',
    rule: 'PG-19',
    why: "If the page has Access-Control-Allow-Origin, a script on another site can read the page and the visitor's data.",
    fix: 'Do not send Access-Control-Allow-Origin.',
    needs: ['page'],
    async run(context) {
      const { browser } = await context.signedIn()
      const headers = {
        origin: 'https://evil.example',
        cookie: cookieHeader(context, browser, context.settings.page),
        'sec-fetch-mode': 'cors',
        'sec-fetch-site': 'cross-site',
        'sec-fetch-dest': 'empty',
      }
      for (const [method, more] of [
        ['GET', {}],
        ['OPTIONS', { 'access-control-request-method': 'POST' }],
      ] as const) {
        const answer = await context.request(context.settings.page, { method, headers: { ...headers, ...more } })
        const allowed = headerOf(answer, 'access-control-allow-origin')
        expect(
          allowed === undefined || allowed === context.settings.client,
          `Access-Control-Allow-Origin is ${allowed}.`,
          answer,
        )
      }
    },
  },
  {
    id: 'page-shows-sign-out',
    title: 'A page behind the login has a sign-out form or link',
    rule: 'PG-21',
    why: 'Visitors must see that they are signed in, and must be able to sign out.',
    fix: 'Put the sign-out form or link on every page.',
    needs: ['page', 'logout'],
    async run(context) {
      const { page } = await openPage(context)
      const there = context.url(context.settings.logout!.path)
      const isOffered =
        page.forms.some(({ action }) => action.split('?')[0] === there) ||
        page.links.some(({ url }) => url.split('?')[0] === there)
      expect(isOffered, `The page has no form and no link to ${context.settings.logout!.path}.`, page)
    },
  },
  {
    id: 'page-nothing-foreign',
    title: 'A page behind the login loads nothing from other sites',
    rule: 'PG-22',
    why: 'If a page loads a script or style from another site, that site can see and do everything that the visitor can.',
    fix: 'Serve scripts, styles and images from the client itself.',
    needs: ['page'],
    async run(context) {
      const { page } = await openPage(context)
      const foreign = foreignLoads(page, context.settings.client)
      expect(foreign.length === 0, `The page loads ${foreign[0]}.`)
    },
  },
  {
    id: 'page-no-tokens',
    title: 'No page contains a token or the client secret',
    rule: 'CK-08',
    why: 'Scripts and extensions can read everything on a page.',
    fix: 'Keep tokens and the client secret on the server, and never write them into a page.',
    needs: ['page'],
    async run(context) {
      const { browser, person } = await context.signedIn()
      await makeApplication(context, person, { name: 'Seen by conformance' })
      const pages = await visitListAndLinks(context, browser)
      const tokens = context.arrived('exchange').flatMap(step => {
        const { access_token: access, refresh_token: refresh } = tokensOf(step) ?? {}
        return [access, refresh].filter(token => typeof token === 'string')
      })
      if (tokens.length === 0) throw new Undecided('The portal did not answer the exchange with tokens.')
      const secrets = [...tokens, context.platform.clientSecret.reveal()]
      for (const page of pages)
        expect(
          !secrets.some(secret => page.body.includes(secret)),
          `${page.url} contains a token or the client secret.`,
          page,
        )
    },
  },
  ...pageTexts,
  {
    id: 'not-found',
    title: 'The client answers an unknown address with status 404',
    rule: 'not-found',
    why: 'If a client answers every address with status 200, nobody notices wrong links, and crawlers can follow links without end.',
    fix: 'Answer an unknown address with status 404 and a page.',
    async run(context) {
      const expectNone = (answer: HttpExchange, path: string) =>
        expect(
          [404, 410].includes(statusOf(answer)),
          `The request for ${path} was answered with status ${statusOf(answer)}.`,
          answer,
        )
      const nothing = '/there-is-nothing-here-conformance'
      expectNone(await context.request(nothing), nothing)
      const { page } = context.settings
      if (!page) return
      const application = await openWithApplication(context)
      const { browser, id } = application
      const below = page.split('?')[0]!.replace(/\/$/, '')
      const unknown = '00000000-0000-4000-8000-000000000000'
      const about = (await openPagesAbout(context, application))
        .slice(1, 3)
        .filter(({ status }) => status === 200)
        .map(({ url }) => url.slice(context.settings.client.length).replaceAll(id, unknown))
      const ask = (path: string) =>
        context.request(path, { headers: { ...typedAddress, cookie: cookieHeader(context, browser, path) } })
      for (const path of [nothing, `${below}/no/such${nothing}`, `${below}/${unknown}`])
        expectNone(await ask(path), path)
      for (const path of about) {
        const { result: answer, steps } = await context.during(() => ask(path))
        const calls = steps.filter(step => step.kind === 'api')
        // Some pages ask only for a confirmation, without a call to the API. The client then cannot know that the
        // application does not exist.
        if (calls.some(({ response }) => response.status === 404)) expectNone(answer, path)
      }
    },
  },
  {
    id: 'not-found-escapes',
    title: 'The page for an unknown address contains no markup from this address',
    rule: 'PG-07',
    why: 'Anyone can make a visitor open an address that contains markup.',
    fix: 'Escape the address, or do not show it on the page.',
    async run(context) {
      const { login, callback, page, create } = context.settings
      const markup = '%22%3E%3Cimg%20src=x%20onerror=conformance()%3E'
      // Some frameworks answer an address below a known path with the page at that path.
      const known = [login, callback, page, create].filter(path => path !== '').map(path => path.split('?')[0]!)
      const paths = [
        '/%3Cimg%20src=x%20onerror=conformance()%3E',
        '/nothing?x=<img src=x onerror=conformance()>'.replaceAll(' ', '%20'),
        ...new Set(known.map(path => `${path.replace(/\/$/, '')}/${markup}`)),
      ]
      const browser = await signedInIfPossible(context)
      for (const path of paths)
        for (const cookie of new Set(['', cookieHeader(context, browser, path)])) {
          const answer = await context.request(path, { headers: { ...typedAddress, ...(cookie && { cookie }) } })
          expect(!runsScript(answer, 'conformance()'), 'The page contains the markup.', answer)
        }
    },
  },
  {
    id: 'errors-say-nothing',
    title: 'An error page does not show a stack trace or a file path',
    rule: 'PG-20',
    why: 'Stack traces and file paths show an attacker which code and which versions the client uses.',
    fix: 'Answer with fixed words and a request id. Keep the details in the log.',
    async run(context) {
      const paths = [
        '/%E0%A4%A',
        '/there-is-nothing-here-conformance',
        withQuery(context.settings.callback, 'code=a&code=b'),
        withQuery(context.settings.callback, 'state[a]=b'),
        withQuery(context.settings.login, `${context.settings.returnTo || 'returnTo'}[a]=b`),
      ]
      for (const path of paths) {
        const answer = await context.request(path, {
          headers: { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
        })
        expect(!showsInside(answer), 'The page shows a stack trace or a file path.', answer)
      }
    },
  },
  {
    id: 'host-not-believed',
    title:
      'The client does not write the Host header of a request into a link, or into a redirect that a cache may keep',
    rule: 'PG-02',
    why: 'An attacker can send a request with a false Host header, and a cache can then send the answer to all visitors.',
    fix: 'Build addresses from the configuration, or use relative addresses.',
    async run(context) {
      for (const { host, answer } of await answersToForeignHosts(context)) {
        if (mayBeKept(answer)) expectNoForeignRedirect(answer, host)
        expect(
          !addressesIn(answer).some(address => leadsToHost(address, host)),
          'The page has a link to the host from the Host header of the request.',
          answer,
        )
      }
    },
  },
  {
    id: 'host-not-in-redirects',
    title: 'The client does not write the Host header of a request into a redirect',
    rule: 'own-redirects',
    why: 'Some servers complete a relative Location with the Host header of the request, and a cache could keep this answer.',
    fix: 'Build addresses from the configuration, and disable this feature of the server.',
    async run(context) {
      for (const { host, answer } of await answersToForeignHosts(context)) expectNoForeignRedirect(answer, host)
    },
  },
  ...creating,
  ...drafts,
  ...changing,
  ...editedAddresses,
  ...typedValues,
  ...slowValues,
  ...errorHeaders,
  ...everyForm,
  ...formHandling,
  ...savedValues,
  ...repeatedForms,
  ...groupForm,
  ...headRequests,
  ...linksWithQuery,
  ...wholeList,
  ...searchForms,
  ...otherPlaces,
  ...everyPage,
  ...everyText,
  ...ownAddress,
  ...otherHost,
]

/** Requests the start page and the page behind the login with a false host in a header, and returns the answers. */
async function answersToForeignHosts({ settings, request }: CheckContext) {
  const answers: { host: string; answer: HttpExchange }[] = []
  for (const path of ['/', settings.page].filter(path => path !== ''))
    for (const host of ['evil.example', otherPortOf(settings.client)])
      for (const name of ['host', 'x-forwarded-host']) {
        const headers = { [name]: host, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
        answers.push({ host, answer: await request(path, { headers }) })
      }
  return answers
}

function expectNoForeignRedirect(answer: HttpExchange, host: string): void {
  const address = headerOf(answer, 'location') ?? ''
  expect(!leadsToHost(address, host), `The redirect leads to ${address}.`, answer)
}

/** A cache may keep an answer with one of these statuses even without Cache-Control. */
const keptByThemselves = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]

function mayBeKept(answer: HttpExchange): boolean {
  const control = headerOf(answer, 'cache-control') ?? ''
  if (/no-store/i.test(control)) return false
  const isTold = /public|max-age/i.test(control) || headerOf(answer, 'expires') !== undefined
  return isTold || keptByThemselves.includes(statusOf(answer))
}

/** Signs in a visitor, and opens the page that needs a login. */
async function openPage(context: CheckContext): Promise<{ browser: Browser; page: Page; person: Person }> {
  const { browser, person } = await context.signedIn()
  const page = await browser.visit(context.url(context.settings.page))
  expect(page.status === 200, `The request for the page was answered with ${describePage(page)}.`, page)
  return { browser, page, person }
}

async function calls(context: CheckContext) {
  await context.platform.settle()
  return context.arrived('api', 'me')
}

function describeHeader({ headers }: Page, name: string): string {
  return headers.has(name) ? `${name} is ${headers.get(name)}` : `there is no ${name}`
}

/** For each check, the headers that its failure message shows. */
const headersOf: Record<string, string[]> = {
  'page-no-store': ['Cache-Control'],
  'page-not-framed': ['Content-Security-Policy', 'X-Frame-Options'],
  'page-nosniff': ['X-Content-Type-Options'],
  'page-content-security-policy': ['Content-Security-Policy'],
  'page-charset': ['Content-Type'],
}
