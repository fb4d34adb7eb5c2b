// Signing out: who can do it, what it ends here and at the portal, and where it leads.
import type { Browser, Page } from '../../browser/browser.ts'
import type { Form } from '../../browser/form.ts'
import { NotApplicable, type Row, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { bodyOf, describePage, expect, expectOr, headerOf, setCookiesOf, waitedMs } from '../../findings.ts'
import { visitPage } from '../../steps/sessions.ts'
import { readSetCookie } from '../../steps/set-cookies.ts'
import { formHtml, isSame, signOut } from '../../steps/sign-out.ts'
import { tokensOf } from '../../steps/tokens.ts'

/** Of a page on another site, or on a neighbour of the host. */
function foreignForm(
  context: CheckContext,
  browser: Browser,
  site: 'cross-site' | 'same-site',
): { page: Page; form: Form } {
  const { method, path } = context.settings.logout!
  const page = browser.show(context.platform.otherSite.url('/', site), formHtml(context.url(path), method))
  return { page, form: page.forms[0]! }
}

/** The portal has something for signing out that does not work. */
const portalFaults: [fault: string, what: string][] = [
  ['503', 'refuses'],
  ['reset', 'ends the connection'],
  ['never', 'does not answer'],
]

/** Where an answer could be told to lead. */
const parameters = [
  'returnTo',
  'return_to',
  'next',
  'redirect',
  'redirect_uri',
  'post_logout_redirect_uri',
  'url',
  'from',
]

const needs: Row['needs'] = ['logout', 'page']

export const signingOut: Row[] = [
  {
    id: 'logout-ends-session',
    title: 'Whoever signs out is signed out',
    rule: 'CK-13',
    why: 'The next person at the machine would go on as them.',
    fix: 'Take back every cookie of the session, with the same name, Path and Domain as it was set.',
    needs,
    async run(context) {
      const { browser, page: landed } = await context.signedIn()
      const page = await signOut(context, browser, landed)
      expectOr(
        'Signing out itself failed: see what was sent and answered, and what the client printed.',
        page.status > 0 && page.status < 400,
        `It is answered with ${describePage(page)}.`,
        page,
      )
      // Tokens that the portal has revoked open nothing, and still the client must no longer have them.
      const { steps } = await visitPage(context, browser)
      const used = steps.filter(({ kind }) => kind === 'api' || kind === 'me' || kind === 'refresh')
      expect(used.length === 0, 'The next page still uses the tokens of the session.', page, ...used)
    },
  },
  {
    id: 'logout-not-by-get',
    title: 'An address that is only visited signs nobody out',
    rule: 'PG-04',
    why: 'Images, prefetching and links of others visit addresses too.',
    fix: 'Sign out by POST, and answer GET with 405.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      const page = await browser.newTab().visit(context.url(context.settings.logout!.path))
      expect(await context.isSignedIn(browser), `GET ${context.settings.logout!.path} signs out.`, page)
    },
  },
  ...(['cross-site', 'same-site'] as const).map(
    (site): Row => ({
      id: site === 'cross-site' ? 'logout-csrf' : 'logout-csrf-same-site',
      title: `A form ${site === 'cross-site' ? 'of another site' : 'of a neighbour on the same host'} signs nobody out`,
      rule: 'PG-01',
      why: `${site === 'cross-site' ? 'Any page can send a form, and its answer can take cookies back even where none came' : 'SameSite does not keep neighbours out'}.`,
      fix: "Refuse a POST whose Sec-Fetch-Site is not same-origin, or whose Origin is not the client's; or demand a token of the visitor's own page.",
      needs,
      async run(context) {
        const { browser } = await context.signedIn()
        const { page, form } = foreignForm(context, browser, site)
        const answer = await browser.newTab().submit(page, form)
        expect(await context.isSignedIn(browser), 'It signs out.', answer)
      },
    }),
  ),
  {
    id: 'logout-csrf-old-browser',
    title: 'A form of another origin signs nobody out in a browser without Sec-Fetch headers',
    rule: 'PG-01',
    why: 'Origin is all that such a browser sends.',
    fix: 'Compare Origin with the configured address where Sec-Fetch-Site is missing.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      const { method, path } = context.settings.logout!
      if (method === 'GET') throw new NotApplicable('GET sends no Origin')
      const cookie = browser.cookies
        .list(context.url('/'))
        .map(({ name, value }) => `${name}=${value}`)
        .join('; ')
      const answer = await context.request(path, {
        method,
        headers: { cookie, origin: 'https://evil.example', 'content-type': 'application/x-www-form-urlencoded' },
      })
      expect(
        !setCookiesOf(answer).some(line => readSetCookie(line).isDeletion),
        'The answer takes the cookies back.',
        answer,
      )
      expect(await context.isSignedIn(browser), 'It signs out.', answer)
    },
  },
  {
    id: 'logout-replay',
    title: 'A copy of the cookies from before signing out opens nothing any more',
    rule: 'session-ended-for-all',
    why: 'Whoever has copied them would stay; the portal ends the access tokens with the refresh token.',
    fix: 'End the session at the server, or revoke its refresh token at the portal.',
    needs,
    async run(context) {
      const { browser, page: landed } = await context.signedIn()
      const thief = browser.copy()
      await signOut(context, browser, landed)
      if (await context.isSignedIn(browser)) throw new Undecided('Signing out does not work, which another check says.')
      expect(!(await context.isSignedIn(thief)), 'It still opens the page.')
    },
  },
  {
    id: 'logout-revokes',
    title: 'Signing out revokes the tokens of the session at the portal',
    rule: 'RF-11',
    why: 'The refresh token would work for weeks, wherever it lies.',
    fix: 'POST the refresh token, or the access token where there is none, to /api/revokeToken with the client id and secret.',
    needs,
    async run(context) {
      const { browser, page: landed } = await context.signedIn()
      const [exchange] = await context.exchanges()
      const { access_token, refresh_token } = (exchange && tokensOf(exchange)) ?? {}
      await signOut(context, browser, landed)
      await context.platform.settle(1000)
      // The portal takes either, and ends with it the grant that it came from.
      const sent = context.platform.steps.filter(({ kind, request }) => {
        const { token } = (request.body ?? {}) as Record<string, unknown>
        return kind === 'revoke' && token !== undefined && (token === refresh_token || token === access_token)
      })
      expect(sent.length > 0, 'Neither the refresh token nor the access token was revoked.')
    },
  },
  ...portalFaults.map(
    ([fault, what]): Row => ({
      id: `logout-portal-${fault}`,
      title: `A portal that ${what} keeps nobody from signing out`,
      rule: 'CK-13',
      why: 'The session here ends here, whatever happens there.',
      fix: 'Revoke with a short deadline, and sign out whatever comes of it.',
      needs,
      async run(context) {
        const { browser, page: landed } = await context.signedIn()
        await context.order(`revoke-${fault}`)
        const page = await signOut(context, browser, landed)
        const seconds = Math.round(waitedMs(page) / 1000)
        expect(page.status > 0 && page.status < 400, `It is answered with ${describePage(page)}.`, page)
        expect(seconds <= 10, `It took ${seconds} seconds.`, page)
        expect(!(await context.isSignedIn(browser)), 'The next page is still signed in.', page)
      },
    }),
  ),
  {
    id: 'logout-not-silent',
    title: 'Whoever has signed out is not signed in again by the next page',
    rule: 'logout-not-silent',
    why: 'The portal has a session of its own and signs in without a word, so that signing out would mean nothing.',
    fix: 'Remember for a while that the visitor has signed out, and show a button instead of leading on to the login.',
    needs,
    async run(context) {
      const { browser, page: landed } = await context.signedIn()
      await signOut(context, browser, landed)
      const before = new Set(context.arrived('api', 'me'))
      const page = await browser.visit(context.url(context.settings.page))
      await context.platform.settle()
      expect(!context.arrived('api', 'me').some(step => !before.has(step)), 'The next page is signed in.', page)
    },
  },
  {
    id: 'logout-then-login',
    title: 'Whoever has signed out can sign in again',
    rule: 'login-works',
    why: 'A mark that someone has signed out must not lock them out.',
    fix: 'Let the login path begin a login whatever was before.',
    needs,
    async run(context) {
      const { browser, page: landed } = await context.signedIn()
      await signOut(context, browser, landed)
      const callback = await context.authorize(await context.startLogin(browser))
      await browser.visit(`${callback}`, { from: browser.show(`${context.platform.portalUrl}/sign-in`, '') })
      expect(await context.isSignedIn(browser), 'After the second login nobody is signed in.')
    },
  },
  {
    id: 'logout-twice',
    title: 'Signing out twice, or without a session, is no error',
    rule: 'CK-13',
    why: 'People press the button in every tab.',
    fix: 'Answer as for the first time.',
    needs: ['logout'],
    async run(context) {
      const browser = context.browser()
      for (let time = 1; time <= 2; time++) {
        const page = await signOut(context, browser)
        expect(page.status > 0 && page.status < 500, `It is answered with ${describePage(page)}.`, page)
      }
    },
  },
  {
    id: 'logout-clear-site-data',
    title: 'Signing out does not delete the cookies of the whole site',
    rule: 'clear-site-data',
    why: 'Clear-Site-Data: "cookies" takes those of every host of the domain, the portal’s session too.',
    fix: 'Take your own cookies back by name; "cache" and "storage" may stay.',
    needs,
    async run(context) {
      const { browser, page: landed } = await context.signedIn()
      const page = await signOut(context, browser, landed)
      for (const one of page.trail) {
        const header = headerOf(one, 'clear-site-data') ?? ''
        expect(!/"(cookies|\*)"/.test(header), `Clear-Site-Data is ${header}.`, one)
      }
    },
  },
  {
    id: 'logout-redirect-local',
    title: 'Nobody can say where signing out leads',
    rule: 'CL-25',
    why: 'A link that signs out and ends at a stranger’s page looks like yours.',
    fix: 'Lead to a page of your own, or check the address against a list.',
    needs,
    async run(context) {
      const { method, path } = context.settings.logout!
      for (const address of ['https://evil.example/', '//evil.example/']) {
        const { browser } = await context.signedIn()
        const query = new URLSearchParams(parameters.map((name): [string, string] => [name, address]))
        const fields = parameters.map(name => `<input name="${name}" value="${address}">`).join('')
        const own = (await browser.visit(context.url(context.settings.page))).forms.find(({ action }) =>
          isSame(action, context.url(path)),
        )
        const tokens = (own?.fields ?? []).map(([name, value]) => `<input name="${name}" value="${value}">`).join('')
        const html = `<form method="${method}" action="${context.url(path)}?${query}">${tokens}${fields}<button>Go</button></form>`
        const page = browser.show(context.url(context.settings.page), html)
        const isForeign = (url: URL) => url.hostname === 'evil.example'
        const answer = await browser.submit(page, page.forms[0]!, {}, undefined, { stopAt: isForeign })
        expect(answer.stoppedAt === undefined, `It leads to ${answer.stoppedAt}.`, answer)
      }
    },
  },
  {
    id: 'logout-back',
    title: 'Back after signing out shows nothing of the visitor',
    rule: 'CK-13',
    why: 'The next person at the machine presses it.',
    fix: 'Send Cache-Control: no-store with every page behind the login.',
    needs,
    async run(context) {
      const { browser, person, page: landed } = await context.signedIn()
      const shown = await browser.visit(context.url(context.settings.page))
      expect(
        /no-store/i.test(shown.headers.get('cache-control') ?? ''),
        'Browsers may keep the page, and show it on Back.',
        shown,
      )
      await signOut(context, browser.newTab(), landed)
      const { page, steps } = await visitPage(context, browser)
      expectOr(
        'Take back every cookie of the session at sign-out.',
        !steps.some(({ kind, about }) => kind === 'api' && about.userId === person.id),
        'The page asks the API in their name.',
        page,
      )
    },
  },
  {
    id: 'logout-says-so',
    title: 'Signing out ends at a page of the client',
    rule: 'logout-says-so',
    why: 'Whoever sees the login form instead cannot tell whether they are signed out.',
    fix: 'Lead to a page that says it, with a way to sign in again.',
    needs,
    async run(context) {
      const { browser, page: landed } = await context.signedIn()
      const page = await signOut(context, browser, landed)
      expect(page.stoppedAt === undefined, 'It leads straight to the portal.', page)
      expect(page.status === 200 && bodyOf(page.trail.at(-1)!) !== '', `It ends with ${describePage(page)}.`, page)
    },
  },
]
