// Tests the page to which the client sends the visitor after the login, if the client has a parameter for this page.
import type { Browser, Page } from '../../browser/browser.ts'
import { encodeForm } from '../../browser/encode-form.ts'
import { type CheckDefinition, NotApplicable, passNotApplicable, ReportedElsewhere, Undecided } from '../../check.ts'
import { type CheckContext, readStart, type Start, startIn } from '../../context.ts'
import { describePage, expect, expectSignedIn, expectWithFix, headerOf, statusOf } from '../../findings.ts'
import { formLeadsTo, isAtOrigin, leadsTo, withQuery } from '../../steps/addresses.ts'
import {
  beginLogin,
  cookieHeader,
  errorCallback,
  followCallback,
  requireExchange,
  typedAddress,
} from '../../steps/callback.ts'
import { findCancelUrl, requireCancelUrl } from '../../steps/declined-login.ts'
import { addressOn, endIfScripted, leadsToScript, runsScript } from '../../steps/page-content.ts'
import { returnNames } from '../../steps/return-names.ts'
import { plant, requireFaultyExchange, signedInIfPossible } from '../../steps/sessions.ts'
import { decodeSafely } from '../../steps/set-cookies.ts'

/**
 * Values of the parameter for the page after the login. No value may lead to another site. `{client}` stands for the
 * origin of the client.
 */
const returns: [id: string, value: string][] = [
  ['absolute', 'https://evil.example/'],
  ['upper-case-scheme', 'HTTPS://EVIL.EXAMPLE/'],
  ['two-slashes', '//evil.example/'],
  ['three-slashes', '///evil.example/'],
  ['backslash', '/\\evil.example/'],
  ['two-backslashes', '\\\\evil.example/'],
  ['tab', '/\t/evil.example/'],
  ['newline', '/\n/evil.example/'],
  ['encoded-slash', '/%2f/evil.example/'],
  ['dots', '/..//evil.example/'],
  ['dot', '/.//evil.example/'],
  ['encoded-backslash', '/%5cevil.example/'],
  ['full-width', '/\uff0fevil.example/'],
  ['above', '/../../\\evil.example/'],
  ['user-info', 'http://localhost@evil.example/'],
  ['own-origin-as-user', '{client}@evil.example/'],
  ['at', '@evil.example/'],
  ['space', ' //evil.example/'],
  ['scheme-only', 'https:evil.example'],
  ['script', 'javascript:alert(1)'],
  ['data', 'data:text/html,<script>alert(1)</script>'],
  ['own-origin-in-query', 'https://evil.example/?{client}/'],
  ['encoded-slashes', '%2f%2fevil.example/'],
  ['encoded-twice', '/%252fevil.example/'],
  ['encoded-tab', '/%09/evil.example/'],
  ['slash-backslash', '/\\/evil.example/'],
  ['backslash-slash', '\\/evil.example/'],
  ['script-upper-case', 'JaVaScRiPt:alert(1)'],
  ['script-after-space', ' javascript:alert(1)'],
  ['other-port', '{other-port}/'],
]

const evil = 'evil.example'

/** Values for the return address that make some URL parsers or header writers throw an error. */
const oddReturns = [
  'http://[',
  '/ä€\u{1f600}',
  '/%',
  '/%E0%A4%A',
  '/\0',
  '//',
  '?',
  '',
  '/a b',
  '/\ud800',
  'http://:99999/',
]

/**
 * Paths of the client that contain markup. The markup ends an attribute in double or single quotation marks. The paths
 * contain no spaces, because a client may refuse a return address with a space.
 */
const markupReturns: ((page: string) => string)[] = [
  () => '/"\'><svg/onload=conformance()>',
  page => `${page || '/'}?q="'><svg/onload=conformance()>`,
  () => '/x"onclick="conformance()"\'onfocus=\'conformance()',
]

const returnChecks: CheckDefinition[] = returns.map(([id, value]) => ({
  id: `return-to-${id}`,
  title: `When a login has the return address ${JSON.stringify(value)}, the client does not send the visitor to another site`,
  rule: 'CL-25',
  why: "Visitors trust a link to the client. If the login then leads to an attacker's page, the client has an open redirect.",
  // A URL parser turns /.//evil.example/ into the path //evil.example/ at the client's own origin. If a Location header
  // contains this path, the browser goes to evil.example.
  fix: "Accept only a path of the client. Parse the address with the client's own origin as its base, and check that the result has the same origin. Refuse the address if its path then begins with two slashes.",
  needs: ['returnTo'],
  async run(context) {
    const { login, returnTo } = context.settings
    const browser = context.browser()
    const page = await context.visitUntilPortal(browser, withQuery(login, { [returnTo]: valueFor(context, value) }))
    // A client may refuse the parameter at once.
    if (page.stoppedAt === undefined) return
    const callback = await context.authorize(readStart(page))
    const landed = await followCallback(context, browser, callback, context.beforeLeaving)
    expectAtHome(context, landed)
    await requireExchange(context)
  },
}))

/** Replaces `{client}` with the origin of the client, and `{other-port}` with the same origin on another port. */
function valueFor({ settings: { client } }: CheckContext, value: string): string {
  return value.replace('{client}', client).replace('{other-port}', `${client.replace(/:\d+$/, '')}:9`)
}

interface Begun {
  start: Start
  callback: URL
}

/** Logins that fail. Each function makes a login fail, and returns the page that the visitor then sees. */
const failures: [
  id: string,
  what: string,
  fail: (context: CheckContext, browser: Browser, begun: Begun) => Promise<Page>,
][] = [
  [
    'declined',
    'a login that the visitor declined',
    (context, browser, { start }) =>
      decline(context, browser, start, { error: 'access_denied', state: start.state ?? '' }),
  ],
  [
    'declined-bare',
    'a login that the visitor declined at a portal that adds no parameters to cancel_url',
    (context, browser, { start }) => decline(context, browser, start, {}),
  ],
  [
    'error',
    'a callback with an error',
    (context, browser, { start, callback }) =>
      followCallback(context, browser, errorCallback(callback, { error: 'access_denied', state: start.state ?? '' })),
  ],
  [
    'failed-exchange',
    'an exchange that the portal answered with status 503',
    async (context, browser, { callback }) => {
      const drop = await context.order('exchange-503', { times: 5 })
      const page = await followCallback(context, browser, callback)
      await requireFaultyExchange(context)
      await drop()
      return page
    },
  ],
]

async function decline(
  context: CheckContext,
  browser: Browser,
  start: Start,
  query: Record<string, string>,
): Promise<Page> {
  const cancelled = requireCancelUrl(context, start)
  for (const [name, value] of Object.entries(query)) cancelled.searchParams.set(name, value)
  const page = await followCallback(context, browser, cancelled)
  if (page.status === 404) throw new ReportedElsewhere('there is no page at cancel_url')
  return page
}

export const returnTo: CheckDefinition[] = [
  {
    id: 'return-to-works',
    title: 'After a login with a return address, the visitor gets the page at this address',
    rule: 'return-to',
    why: 'If the client ignores the return address, a visitor who has followed a link to a page gets the start page instead, and must look for the page again.',
    fix: 'Store the return address together with the state when the login begins. Redirect the visitor to this address after the login.',
    needs: ['returnTo', 'page'],
    async run(context) {
      const { login, returnTo, page: path } = context.settings
      const there = withQuery(path, 'conformance=1&second=2')
      const { browser, callback } = await beginLogin(context, withQuery(login, { [returnTo]: there }))
      const page = await followCallback(context, browser, callback)
      if (page.url !== context.url(there)) endIfScripted(page, context.settings)
      expect(page.url === context.url(there), `The login led to ${page.url}.`, page)
    },
  },
  {
    id: 'return-to-no-header',
    title: 'A line break in the return address does not add a header to an answer',
    rule: 'header-injection',
    why: "A line break in a Location header begins another header. An attacker could use this to set a cookie in the visitor's browser.",
    fix: 'Refuse a return address that contains control characters, and begin the login without a return address.',
    needs: ['returnTo'],
    async run(context) {
      const { login, returnTo } = context.settings
      const browser = context.browser()
      const page = await context.visitUntilPortal(
        browser,
        withQuery(login, `${returnTo}=/%0d%0aSet-Cookie:%20planted=1`),
      )
      expect(
        page.status !== 0 && page.status < 500,
        `The request for the login path was answered with ${describePage(page)}.`,
        page,
      )
      if (page.stoppedAt !== undefined) {
        const url = new URL(page.stoppedAt)
        await followCallback(context, browser, await context.authorize({ url, state: undefined, page }))
      }
      expect(!browser.cookies.get('planted'), 'The return address set a cookie in the browser.')
    },
  },
  {
    id: 'return-to-final-newline',
    title:
      'If the return address of a login ends in a line break, the client answers neither the login path nor the callback with status 500',
    rule: 'bad-request-status',
    why: 'In many languages, $ in a pattern also matches before a line break at the end of the string. The client then accepts the address, but cannot write it into a header, and an error ends the login.',
    fix: 'Compare the whole return address with the pattern, for example with a function for full matches. Begin the login without an address that contains control characters.',
    needs: ['returnTo'],
    async run(context) {
      const { login, returnTo, page: path } = context.settings
      const browser = context.browser()
      const address = withQuery(login, { [returnTo]: `${path || '/'}\n` })
      const begun = await context.visitUntilPortal(browser, address)
      expect(begun.status !== 500, `The request for the login path was answered with ${describePage(begun)}.`, begun)
      if (begun.stoppedAt === undefined) return
      const callback = await context.authorize(readStart(begun))
      const page = await followCallback(context, browser, callback, context.beforePortal)
      expect(statusOf(page.trail[0]!) !== 500, 'The callback was answered with status 500.', page)
    },
  },
  {
    id: 'return-to-long',
    title: 'A login with a long return address works',
    rule: 'CK-03',
    why: 'Browsers silently drop a cookie of more than 4,096 bytes. If the return address makes the login cookie too large, the visitor cannot sign in.',
    fix: 'Limit the length of the return address. If the address is longer, begin the login without it.',
    needs: ['returnTo', 'page'],
    async run(context) {
      const { login, returnTo } = context.settings
      // A sealed value is about a third longer than the value itself.
      for (const length of [4000, 3000]) {
        const browser = context.browser()
        const path = withQuery(login, `${returnTo}=/${'a'.repeat(length)}`)
        const start = await context.visitUntilPortal(browser, path)
        // A server may refuse such a long address at once, for example with status 414.
        if (start.stoppedAt === undefined && [400, 413, 414, 431].includes(start.status)) continue
        expectWithFix(
          'Refuse an address that is too long with status 414, or begin the login without it.',
          start.stoppedAt !== undefined,
          `The login path answered with ${describePage(start)}.`,
          start,
        )
        const page = await finish(context, browser, start)
        const what = `a return address of ${length} characters`
        await expectSignedIn(context, browser, `Nobody is signed in after a login with ${what}.`, page)
      }
    },
  },
  {
    id: 'return-to-long-path-of-page',
    title: 'A login that starts from a page with a long address works',
    rule: 'CK-03',
    why: 'Many clients keep the address of the page in the login cookie. Browsers silently drop a cookie of more than 4,096 bytes, and the visitor cannot sign in.',
    fix: 'Limit the length of the address that you keep in the cookie. If the address is longer, begin the login without it.',
    needs: ['page'],
    async run(context) {
      const { page: path } = context.settings
      for (const length of [4000, 3000]) {
        const browser = context.browser()
        const address = withQuery(path, `q=${'a'.repeat(length)}`)
        const begun = await context.visitUntilPortal(browser, address)
        // A client may refuse such a long address, or may show a page with a link instead of beginning a login.
        if (!startIn(begun)) continue
        const page = await finish(context, browser, begun)
        await expectSignedIn(
          context,
          browser,
          `Nobody is signed in after a login that started from a page with an address of ${length} characters.`,
          page,
        )
      }
    },
  },
  {
    id: 'return-to-escapes',
    title: 'The pages of a login escape the return address',
    rule: 'PG-07',
    why: "Anybody can make a link to the login path with markup in the return address. If the page at the callback writes this address without escaping it, an attacker's script runs with the visitor's session.",
    fix: 'Escape the return address in the meta refresh and in every link, for example with a template that escapes every value.',
    needs: ['returnTo'],
    async run(context) {
      const { client, login, returnTo, page: path } = context.settings
      for (const make of markupReturns) {
        const value = make(path)
        const address = withQuery(login, { [returnTo]: value })
        const expectEscaped = (page: Page, when: string) =>
          expect(
            !runsScript(page, 'conformance()'),
            `${when}, the page does not escape the markup in the return address ${JSON.stringify(value)}.`,
            page,
          )
        const browser = context.browser()
        const begun = await context.visitUntilPortal(browser, address)
        expectEscaped(begun, 'At the login path')
        // A client may refuse the parameter at once.
        if (begun.stoppedAt === undefined) continue
        const landed = await finish(context, browser, begun, to => to.origin !== client)
        expectEscaped(landed, 'After a login')
        for (const [, what, fail] of failures.slice(0, 3)) {
          const going = context.browser()
          const start = await context.startLogin(going, address)
          const callback = await context.authorize(start)
          const failed = await fail(context, going, { start, callback }).catch(passNotApplicable)
          if (failed) expectEscaped(failed, `After ${what}`)
        }
      }
    },
  },
  ...failures.map(
    ([id, what, fail]): CheckDefinition => ({
      id: `return-after-${id}`,
      title: `After ${what}, the next login leads to the page that the visitor wanted to see`,
      rule: 'return-after-failure',
      why: 'If a failed login loses the return address, the visitor must look for the page again.',
      fix: 'On the page for the failed login, link to a new login with the same return address. Or keep the return address in a cookie.',
      needs: ['returnTo', 'page'],
      async run(context) {
        const { login, returnTo, page: path } = context.settings
        // Without encoding, the second parameter would belong to the login path and not to the page that the visitor
        // wants.
        const there = context.url(withQuery(path, 'conformance=1&second=2'))
        const { pathname, search } = new URL(there)
        const wanted = withQuery(login, { [returnTo]: pathname + search })
        const plain = await beginLogin(context, wanted)
        const landed = await followCallback(context, plain.browser, plain.callback)
        if (landed.url !== there)
          throw new NotApplicable('a plain login does not lead to the page that the visitor wanted')
        const { browser, start, callback } = await beginLogin(context, wanted)
        const page = await fail(context, browser, { start, callback })
        const link = page.links.find(({ url }) => leadsTo(url, context.url(login)) || url === there)
        const form = page.forms.find(one => one.method === 'GET' && formLeadsTo(one, context.url(login)))
        const next = await context.startLogin(browser, link?.url ?? (form && encodeForm(form).url))
        const end = await followCallback(context, browser, await context.authorize(next))
        expect(end.url === there, `The next login led to ${end.url} instead of ${there}.`, page, end)
      },
    }),
  ),
  ...returnChecks,
  {
    id: 'return-to-signed-in',
    title:
      'When a signed-in visitor opens the login path with a hostile return address, the client does not send the visitor to another site',
    rule: 'CL-25',
    why: 'Many clients do not begin a login for a signed-in visitor. They redirect to the return address at once, and forget to check it.',
    fix: 'Check the return address in one place in the code, before you use or store it.',
    needs: ['returnTo', 'page'],
    async run(context) {
      const { login, returnTo } = context.settings
      const { browser } = await context.signedIn()
      for (const [, value] of returns) {
        const query = new URLSearchParams({ [returnTo]: valueFor(context, value) })
        const page = await browser.newTab().visit(context.url(withQuery(login, query)), context.beforeLeaving)
        expectAtHome(context, page)
      }
    },
  },
  {
    id: 'return-to-twice',
    title: 'When the return address is repeated or is a list, the client does not send the visitor to another site',
    rule: 'CL-25',
    why: 'If a client checks the first value and uses the last value, an attacker can send visitors to another site.',
    fix: 'Read the parameter once, and check the value that you use. Ignore the parameter if it is repeated or is not a string.',
    needs: ['returnTo'],
    async run(context) {
      const { login, returnTo } = context.settings
      const evil = encodeURIComponent('https://evil.example/')
      for (const query of [
        `${returnTo}=/&${returnTo}=${evil}`,
        `${returnTo}=${evil}&${returnTo}=/`,
        `${returnTo}[]=${evil}`,
        `${returnTo}[]=/&${returnTo}=${evil}`,
      ]) {
        const browser = context.browser()
        const page = await context.visitUntilPortal(browser, withQuery(login, query))
        if (page.stoppedAt === undefined) {
          expectAtHome(context, page)
          continue
        }
        const callback = await context.authorize(readStart(page))
        expectAtHome(context, await followCallback(context, browser, callback, context.beforeLeaving))
      }
      await requireExchange(context)
    },
  },
  {
    id: 'return-to-unnamed',
    title:
      'The client does not send the visitor to another site, whichever parameter of the login path contains the address of that site',
    rule: 'CL-25',
    why: "Visitors trust a link to the client. If the login then leads to an attacker's page, the client has an open redirect.",
    fix: "Accept only a path of the client as the return address. Parse the address with the client's own origin as its base, and check that the result has the same origin.",
    async run(context) {
      const { login } = context.settings
      for (const address of ['https://evil.example/', '//evil.example/']) {
        const browser = context.browser()
        const query = new URLSearchParams(returnNames.map((name): [string, string] => [name, address]))
        const page = await browser.visit(context.url(withQuery(login, query)), {
          stopAt: to => context.isPortal(to) || to.hostname === evil,
        })
        // A client may refuse unknown parameters.
        if (page.stoppedAt === undefined) continue
        expectAtHome(context, page)
        const callback = await context.authorize(readStart(page))
        expectAtHome(context, await followCallback(context, browser, callback, context.beforeLeaving))
      }
      await requireExchange(context)
    },
  },
  {
    id: 'no-open-redirect',
    title: 'No page of the client redirects to an address in a parameter, whether the visitor is signed in or not',
    rule: 'CL-25',
    why: "Visitors trust a link to the client. With an open redirect, such a link leads to an attacker's page.",
    fix: 'Redirect only to fixed addresses, or to a path of the client that you have checked.',
    async run(context) {
      const { login, callback, page, create, logout } = context.settings
      const start = await context.startLogin(context.browser())
      const own = findCancelUrl(context, start)?.href ?? ''
      const paths = [
        '/',
        login,
        withQuery(callback, 'error=access_denied'),
        own,
        page,
        create,
        logout?.path ?? '',
        '/go',
        '/redirect',
      ]
      const browser = await signedInIfPossible(context)
      for (const path of new Set(paths.filter(path => path !== '')))
        for (const cookie of new Set(['', cookieHeader(context, browser, path)])) {
          const query = new URLSearchParams(returnNames.map((name): [string, string] => [name, `https://${evil}/`]))
          const headers = { ...typedAddress, ...(cookie && { cookie }) }
          const answer = await context.request(withQuery(path, query), { headers })
          const to = headerOf(answer, 'location') ?? headerOf(answer, 'refresh') ?? ''
          const isAway = /^(\d+\s*;\s*url\s*=\s*["']?)?(https?:)?\/\/evil\.example/i.test(to.trim())
          expect(!isAway, `The answer redirects to ${to}.`, answer)
        }
    },
  },
  {
    id: 'return-to-planted',
    title:
      'If another site has set the cookie with the return address, the client does not send the visitor to the address in this cookie',
    rule: 'CL-25',
    why: "A subdomain or another program on the host can set a cookie whose name does not begin with __Host-. If the client trusts the address in this cookie, a login can end at an attacker's page.",
    fix: 'Check the return address again when the login ends. Or seal the address together with the state in a login cookie whose name begins with __Host-.',
    async run(context) {
      const { login, page, returnTo } = context.settings
      const isPath = (value: string) => /^"?\/[\w/.-]*"?$/.test(decodeSafely(value))
      const find = ({ cookies }: Browser) =>
        cookies.list(context.url('/')).filter(({ name, value }) => !/^__(Host|Secure)-/i.test(name) && isPath(value))
      let isFound = false
      for (const address of ['https://evil.example/', '//evil.example/'])
        for (const path of new Set([
          page || login,
          returnTo ? withQuery(login, `${returnTo}=${page || '/'}`) : login,
        ])) {
          const browser = context.browser()
          const begun = await context.visitUntilPortal(browser, path)
          const names = find(browser).map(({ name }) => name)
          if (begun.stoppedAt === undefined || names.length === 0) continue
          isFound = true
          for (const name of names) plant(context, browser, name, encodeURIComponent(address))
          const callback = await context.authorize(readStart(begun))
          expectAtHome(context, await followCallback(context, browser, callback, context.beforeLeaving))
        }
      if (!isFound) throw new NotApplicable('no cookie that other sites can set contains a return address')
      await requireExchange(context)
    },
  },
  {
    id: 'return-to-referer',
    title: 'When a login begins with a link on another site, the client does not send the visitor back to that site',
    rule: 'CL-25',
    why: 'A client that takes the return address from the Referer sends visitors back to any site that links to its login.',
    fix: 'Take the return address only from the parameter of the login path, and check that the address is a path of the client.',
    async run(context) {
      const { login } = context.settings
      const browser = context.browser()
      const from = browser.show('https://evil.example/', '')
      const page = await browser.visit(context.url(login), {
        from,
        stopAt: url => context.isPortal(url) || url.origin === 'https://evil.example',
      })
      if (page.stoppedAt === undefined)
        throw new Undecided('A login that starts from a link does not lead to the portal.')
      expectAtHome(context, page)
      const callback = await context.authorize(readStart(page))
      expectAtHome(context, await followCallback(context, browser, callback, context.beforeLeaving))
      await requireExchange(context)
    },
  },
  {
    id: 'return-to-odd',
    title: 'Whatever the return address is, the login path and the callback answer with a page',
    rule: 'stays-up',
    why: 'Anybody can make visitors open the login path with any return address. Functions that parse addresses throw errors for some strings, and not every character is allowed in a header.',
    fix: 'Catch the errors of the function that parses the address, and begin the login without the address. Encode the path before you write it into a header.',
    needs: ['returnTo'],
    async run(context) {
      const { login, returnTo } = context.settings
      for (const value of oddReturns) {
        const browser = context.browser()
        const page = await context.visitUntilPortal(browser, withQuery(login, { [returnTo]: value }))
        const what = `With the return address ${JSON.stringify(value)}`
        expect(
          page.status > 0 && page.status !== 500,
          `${what}, the login path answered with ${describePage(page)}.`,
          page,
        )
        if (page.stoppedAt === undefined) continue
        const callback = await context.authorize(readStart(page))
        const landed = await followCallback(context, browser, callback, context.beforeLeaving)
        // A client may send the visitor to a page that does not exist.
        const [answer] = landed.trail
        expect(
          statusOf(answer!) > 0 && statusOf(answer!) !== 500 && !/^the answer redirects/.test(landed.error ?? ''),
          `${what}, the login ended with ${landed.error ?? describePage(landed)}.`,
          landed,
        )
      }
    },
  },
  {
    id: 'return-to-path-of-page',
    title:
      'When a login starts from an address with two slashes or a backslash, the client does not send the visitor to another site',
    rule: 'CL-25',
    why: 'If a visitor without a session opens an address, many clients begin a login, and afterwards redirect to the path of this address. Browsers read the path //evil.example/ as another host.',
    fix: 'Before you store this path, check it as you check a return address.',
    async run(context) {
      const { client, page } = context.settings
      const paths = ['//evil.example/', '//evil.example/..%2f', '/\\evil.example/', `//evil.example${page || '/'}`]
      for (const path of paths) {
        const browser = context.browser()
        const begun = await browser.visit(client + path, context.beforeLeaving)
        if (!isAtOrigin(begun.stoppedAt, context.platform.portalUrl)) {
          expectAtHome(context, begun)
          continue
        }
        const start = startIn(begun)
        if (!start) continue
        const callback = await context.authorize(start)
        expectAtHome(context, await followCallback(context, browser, callback, context.beforeLeaving))
      }
      await requireExchange(context)
    },
  },
  {
    id: 'return-to-after-failure',
    title: 'The page for a failed or declined login has no link to another site, whatever the return address is',
    rule: 'CL-25',
    why: 'The page for a failed login often has a link to the return address. Many clients check this address only when a login succeeds.',
    fix: 'Check the return address when the login begins, before you store it.',
    needs: ['returnTo'],
    async run(context) {
      const { login, returnTo } = context.settings
      for (const value of ['https://evil.example/', '//evil.example/', '/\\evil.example/', 'javascript:alert(1)'])
        for (const [, , fail] of failures.slice(0, 3)) {
          const browser = context.browser()
          const page = await context.visitUntilPortal(browser, withQuery(login, { [returnTo]: value }))
          // A client may refuse the parameter at once.
          if (page.stoppedAt === undefined) continue
          const start = readStart(page)
          const callback = await context.authorize(start)
          const going = browser.newTab()
          const failed = await fail(context, going, { start, callback })
          expect(
            !failed.url.startsWith('https://evil.example'),
            `The client sent the browser to ${failed.url}.`,
            failed,
          )
          expectAtHome(context, failed)
        }
    },
  },
]

/** Finishes the login that begins with this page. */
async function finish(
  context: CheckContext,
  browser: Browser,
  begun: Page,
  stopAt?: (url: URL) => boolean,
): Promise<Page> {
  return followCallback(context, browser, await context.authorize(readStart(begun)), { stopAt })
}

/**
 * Fails if the page is on another site, or has a link or a refresh to another site or to a script. The portal does not
 * count as another site.
 */
function expectAtHome({ platform }: CheckContext, page: Page): void {
  const isPortal = isAtOrigin(page.stoppedAt, platform.portalUrl)
  expect(!page.stoppedAt || isPortal, `The client sent the browser to another site: ${page.stoppedAt}.`, page)
  const address = addressOn(page, evil)
  expect(!address, `The page leads to another site: ${address}.`, page)
  expect(!leadsToScript(page, 'alert(1)'), 'The page has a link that runs a script.', page)
}
