// The client's pages: who sees them, what they hold and load, and which forms they take.

import type { Browser, Exchange, Page } from '../../browser/browser.ts'
import { NotApplicable, type Row, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, expectServed, headerOf, statusOf } from '../../findings.ts'
import type { Person } from '../../platform.ts'
import type { RuleId } from '../../rules.ts'
import { crawl, makeApplication } from '../../steps/applications.ts'
import { cookieHeader } from '../../steps/callback.ts'
import { addressesIn, foreignLoads, runsScript, showsInside } from '../../steps/page-content.ts'
import { tokensOf } from '../../steps/tokens.ts'
import { creating } from './creating.ts'
import { pageTexts } from './page-texts.ts'

/** What a page behind the login says of itself in its headers. */
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
    title: "A page with the visitor's data says Cache-Control: no-store",
    rule: 'PG-11',
    why: 'Otherwise Back shows it after the visitor has signed out, and a proxy may show it to others.',
    fix: 'Send Cache-Control: no-store with every page behind the login.',
    isRight: ({ headers }) => /no-store/i.test(headers.get('cache-control') ?? ''),
  },
  {
    id: 'page-not-framed',
    title: 'A page behind the login cannot be framed by others',
    rule: 'PG-08',
    why: 'In a frame a visitor presses buttons that they do not see.',
    fix: "Send Content-Security-Policy: frame-ancestors 'none', or X-Frame-Options: DENY.",
    isRight: ({ headers }) =>
      /deny|sameorigin/i.test(headers.get('x-frame-options') ?? '') ||
      /frame-ancestors\s+'(none|self)'/i.test(headers.get('content-security-policy') ?? ''),
  },
  {
    id: 'page-nosniff',
    title: 'A page says X-Content-Type-Options: nosniff',
    rule: 'nosniff',
    why: 'Browsers must not guess what a text is.',
    fix: 'Send the header with every answer.',
    isRight: ({ headers }) => /nosniff/i.test(headers.get('x-content-type-options') ?? ''),
  },
  {
    id: 'page-content-security-policy',
    title: 'A page has a Content-Security-Policy that lets no inline script run',
    rule: 'content-security-policy',
    why: 'It is what is left when something was not escaped.',
    fix: "Send Content-Security-Policy: default-src 'none' and what the page needs, without 'unsafe-inline' for scripts.",
    isRight({ headers }) {
      const policy = headers.get('content-security-policy') ?? ''
      const scripts = /script-src ([^;]*)/i.exec(policy)?.[1] ?? /default-src ([^;]*)/i.exec(policy)?.[1]
      return scripts !== undefined && (!/'unsafe-inline'/i.test(scripts) || /'(nonce|sha\d+)-/i.test(scripts))
    },
  },
  {
    id: 'page-charset',
    title: 'A page says what its type and encoding are',
    rule: 'charset',
    why: 'Without a charset a browser guesses, and markup can hide in the guess.',
    fix: 'Send Content-Type: text/html; charset=utf-8.',
    isRight: ({ headers, body }) =>
      /charset=|json/i.test(headers.get('content-type') ?? '') || /<meta\s+charset/i.test(body),
  },
]

export const pages: Row[] = [
  {
    id: 'page-needs-login',
    title: 'Without a login the page behind it asks nothing of the API and leads to a login',
    rule: 'bearer-header',
    why: 'There is no token to call with.',
    fix: 'Check the session before anything is asked, and lead to the login.',
    needs: ['page'],
    isAlone: true,
    async run(context) {
      const page = await context.visitUntilPortal(context.browser(), context.settings.page)
      expect((await calls(context)).length === 0, 'It called the API.', page)
      expectServed(page, `It was answered with ${describePage(page)}.`)
      const isLed =
        page.stoppedAt !== undefined ||
        [401, 403].includes(page.status) ||
        page.links.some(({ url }) => url.startsWith(context.url(context.settings.login))) ||
        page.forms.some(({ action }) => action.startsWith(context.url(context.settings.login)))
      expect(isLed, `It was answered with ${describePage(page)}, which leads to no login.`, page)
    },
  },
  {
    id: 'page-forged-session',
    title: 'A session that somebody made up opens nothing',
    rule: 'CK-05',
    why: "Whoever is signed in is what a cookie of the client's own making says.",
    fix: 'Seal or sign what the cookie holds, or look it up.',
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
      expect((await calls(context)).length === before, 'The page called the API with it.')
    },
  },
  {
    id: 'page-from-another-site',
    title: 'A link on another site leads a signed-in visitor into the page',
    rule: 'PG-12',
    why: 'A Strict cookie is not sent with the first request from elsewhere, so the visitor would be sent to log in again and again.',
    fix: 'Answer such a navigation without a session with a page that goes on to the same path by itself, once.',
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
      expect(isThere, `The visitor came to ${describePage(page)}.`, page)
    },
  },
  ...headers.map(
    ({ isRight, ...row }): Row => ({
      ...row,
      needs: ['page'],
      async run(context) {
        const { page } = await openPage(context)
        const seen = headersOf[row.id]!.map(name => describeHeader(page, name)).join(', and ')
        expect(isRight(page), `On the page ${seen}.`, page)
      },
    }),
  ),
  {
    id: 'page-hsts',
    title: 'Over https every answer says that it is to be asked over https alone',
    rule: 'hsts',
    why: 'The first request of a visitor who types the name goes over http otherwise.',
    fix: 'Send Strict-Transport-Security: max-age=31536000.',
    async run(context) {
      if (!context.settings.client.startsWith('https:')) throw new NotApplicable('the client is not on https')
      const answer = await context.request('/')
      expect(
        /max-age=[1-9]\d{6}/.test(headerOf(answer, 'strict-transport-security') ?? ''),
        'The header is not there.',
        answer,
      )
    },
  },
  {
    id: 'page-no-cors',
    title: 'No other site may read the page by script',
    rule: 'PG-19',
    why: "It holds the visitor's data.",
    fix: 'Send no Access-Control-Allow-Origin.',
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
          allowed === undefined || !(allowed === '*' || allowed.includes('evil.example') || allowed === 'null'),
          `Access-Control-Allow-Origin is ${allowed}.`,
          answer,
        )
      }
    },
  },
  {
    id: 'page-shows-sign-out',
    title: 'A page behind the login offers to sign out',
    rule: 'PG-21',
    why: 'Who is signed in must see that, and be able to end it.',
    fix: 'Put the form or link that signs out on every page.',
    needs: ['page', 'logout'],
    async run(context) {
      const { page } = await openPage(context)
      const there = context.url(context.settings.logout!.path)
      const isOffered =
        page.forms.some(({ action }) => action.split('?')[0] === there) ||
        page.links.some(({ url }) => url.split('?')[0] === there)
      expect(isOffered, `Neither a form nor a link of the page leads to ${context.settings.logout!.path}.`, page)
    },
  },
  {
    id: 'page-nothing-foreign',
    title: 'A page behind the login loads nothing of other sites',
    rule: 'PG-22',
    why: 'Whoever serves a script or style sees and does what the visitor does.',
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
    title: 'No page holds a token or the client secret',
    rule: 'CK-08',
    why: 'What a page holds, its scripts and extensions read.',
    fix: 'Leave tokens at the server.',
    needs: ['page'],
    async run(context) {
      const { browser, person } = await context.signedIn()
      await makeApplication(context, person, { name: 'Seen by conformance' })
      const { pages } = await crawl(context, browser)
      const tokens = context.arrived('exchange').flatMap(step => {
        const { access_token: access, refresh_token: refresh } = tokensOf(step) ?? {}
        return [access, refresh].filter(token => typeof token === 'string')
      })
      if (tokens.length === 0) throw new Undecided('The exchange was not answered with tokens.')
      const secrets = [...tokens, context.platform.clientSecret.reveal()]
      for (const page of pages)
        expect(!secrets.some(secret => page.body.includes(secret)), `${page.url} holds one.`, page)
    },
  },
  ...pageTexts,
  {
    id: 'not-found',
    title: 'An address that is not there is a 404',
    rule: 'not-found',
    why: 'A page that is always there hides mistakes, and loops.',
    fix: 'Answer with status 404 and a page.',
    async run(context) {
      const answer = await context.request('/there-is-nothing-here-conformance')
      expect([404, 410].includes(statusOf(answer)), `It was answered with status ${statusOf(answer)}.`, answer)
    },
  },
  {
    id: 'not-found-escapes',
    title: 'Markup in an address is not on the page that says that nothing is there',
    rule: 'PG-07',
    why: 'Anybody can make a visitor open such an address.',
    fix: 'Do not repeat the address, or escape it.',
    async run(context) {
      for (const path of [
        '/%3Cimg%20src=x%20onerror=conformance()%3E',
        '/nothing?x=<img src=x onerror=conformance()>'.replaceAll(' ', '%20'),
      ]) {
        const answer = await context.request(path)
        expect(!runsScript(answer, 'conformance()'), 'The page holds it.', answer)
      }
    },
  },
  {
    id: 'errors-say-nothing',
    title: 'An error page shows nothing of the inside',
    rule: 'PG-20',
    why: 'Stacks and paths tell an attacker what to try next.',
    fix: 'Answer with fixed words and a request id; keep the rest in the log.',
    async run(context) {
      const paths = [
        '/%E0%A4%A',
        '/there-is-nothing-here-conformance',
        `${context.settings.callback}?code=a&code=b`,
        `${context.settings.callback}?state[a]=b`,
        `${context.settings.login}?${context.settings.returnTo || 'returnTo'}[a]=b`,
      ]
      for (const path of paths) {
        const answer = await context.request(path, {
          headers: { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
        })
        expect(!showsInside(answer), 'The page shows a stack or a path.', answer)
      }
    },
  },
  {
    id: 'host-not-believed',
    title: 'A foreign Host makes no link to it, and no redirect that may be kept',
    rule: 'PG-02',
    why: 'A cache keeps such an answer for everybody.',
    fix: 'Build addresses from the configuration, or relative ones.',
    async run(context) {
      for (const answer of await answersToForeignHost(context)) {
        if (mayBeKept(answer)) expectNoForeignRedirect(answer)
        expect(!addressesIn(answer).some(one => one.includes('//evil.example')), 'The page links there.', answer)
      }
    },
  },
  {
    id: 'host-not-in-redirects',
    title: 'A foreign Host makes no redirect to it',
    rule: 'own-redirects',
    why: 'Some servers put Host in front of a relative Location; one day something on the way keeps such an answer.',
    fix: 'Build addresses from the configuration, or switch this off at the server.',
    async run(context) {
      for (const answer of await answersToForeignHost(context)) expectNoForeignRedirect(answer)
    },
  },
  ...creating,
]

/** What the start page and the page behind the login answer to a request for another host. */
async function answersToForeignHost(context: CheckContext): Promise<Exchange[]> {
  const answers: Exchange[] = []
  for (const path of ['/', context.settings.page].filter(path => path !== ''))
    for (const name of ['host', 'x-forwarded-host'])
      answers.push(
        await context.request(path, {
          headers: { [name]: 'evil.example', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
        }),
      )
  return answers
}

function expectNoForeignRedirect(answer: Exchange): void {
  const address = headerOf(answer, 'location') ?? ''
  expect(!address.includes('//evil.example'), `It led to ${address}.`, answer)
}

/** Statuses that a cache keeps without being told so. */
const keptByThemselves = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]

function mayBeKept(answer: Exchange): boolean {
  const control = headerOf(answer, 'cache-control') ?? ''
  if (/no-store/i.test(control)) return false
  const isTold = /public|max-age/i.test(control) || headerOf(answer, 'expires') !== undefined
  return isTold || keptByThemselves.includes(statusOf(answer))
}

/** The page behind the login, signed in. */
async function openPage(context: CheckContext): Promise<{ browser: Browser; page: Page; person: Person }> {
  const { browser, person } = await context.signedIn()
  const page = await browser.visit(context.url(context.settings.page))
  expect(page.status === 200, `The page was answered with ${describePage(page)}.`, page)
  return { browser, page, person }
}

async function calls(context: CheckContext) {
  await context.platform.settle()
  return context.arrived('api', 'me')
}

function describeHeader({ headers }: Page, name: string): string {
  return headers.has(name) ? `${name} is ${headers.get(name)}` : `there is no ${name}`
}

/** As they are written in documents. */
const headersOf: Record<string, string[]> = {
  'page-no-store': ['Cache-Control'],
  'page-not-framed': ['Content-Security-Policy', 'X-Frame-Options'],
  'page-nosniff': ['X-Content-Type-Options'],
  'page-content-security-policy': ['Content-Security-Policy'],
  'page-charset': ['Content-Type'],
}
