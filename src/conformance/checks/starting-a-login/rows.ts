// From the visitor's wish to sign in to the portal's page: the address, and the cookie of the login.

import type { Row } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect, expectSignedIn, headerOf, setCookiesOf, statusOf } from '../../findings.ts'
import type { RuleId } from '../../rules.ts'
import { typedAddress } from '../../steps/callback.ts'
import { loginCookie } from './login-cookie.ts'
import { stateAndVerifier } from './state-and-verifier.ts'

/** What the start must carry, and its value where it is given (part 4.2 of the specification). */
const rulesOfParameters: Record<string, RuleId> = { redirect_uri: 'redirect-uri-registered', state: 'state-per-login' }

const parameters: [name: string, title: string, expected: (context: CheckContext) => string | undefined][] = [
  ['grant_type', 'The start carries grant_type=authorization', () => 'authorization'],
  ['response_type', 'The start carries response_type=code', () => 'code'],
  ['client_id', 'The start carries the client id', ({ platform }) => platform.clientId],
  ['redirect_uri', 'The start carries the registered redirect URI', ({ platform }) => platform.redirectUri],
  ['cancel_url', 'The start carries an address for those who decline', () => undefined],
  ['state', 'The start carries a state', () => undefined],
]

export const startingALogin: Row[] = [
  {
    id: 'start-leads-to-portal',
    title: 'The login path leads the browser to the login portal, at exactly its address',
    rule: 'CL-01',
    why: 'A login begins at {login_url}/ and nowhere else.',
    fix: 'Answer the login path with a redirect to LOGIN_URL + "/?" and the parameters.',
    async run(context) {
      const { url } = await context.startLogin(context.browser())
      expect(url.pathname === '/', `The browser was sent to ${url.pathname}, and not to /.`)
      expect(url.hash === '', `The address has a fragment: ${url.hash}`)
    },
  },
  {
    id: 'start-plain-redirect',
    title: 'The login path answers with a redirect, not with a page',
    rule: 'redirect-to-portal',
    why: 'A redirect needs no script and leaves nothing in the history.',
    fix: 'Answer with status 302 or 303 and a Location.',
    async run(context) {
      const { page } = await context.startLogin(context.browser())
      expect(
        page.trail.every(one => [302, 303, 307].includes(statusOf(one))),
        `The login path answered with status ${page.status}.`,
      )
    },
  },
  ...parameters.map(([name, title, expected]) => ({
    id: `start-${name.replaceAll('_', '-')}`,
    title,
    rule: rulesOfParameters[name] ?? 'start-parameters',
    why: `The portal ${name === 'state' ? 'gives it back, and by it the client knows the answer to its own question' : 'needs it and refuses the start otherwise'}.`,
    fix: `Add ${name} to the address of the portal.`,
    async run(context: CheckContext) {
      const { url } = await context.startLogin(context.browser())
      const value = url.searchParams.get(name)
      expect(value, `${name} ${value === null ? 'is not there' : 'is empty'}.`)
      const right = expected(context)
      expect(right === undefined || value === right, `${name} is ${value}, and should be ${right}.`)
    },
  })),
  {
    id: 'start-parameters-once',
    title: 'No parameter of the start is repeated',
    rule: 'oauth-parameters-once',
    why: 'Parameters must not be included more than once.',
    fix: 'Set each parameter once.',
    async run(context) {
      const { url } = await context.startLogin(context.browser())
      const repeated = [...new Set(url.searchParams.keys())].filter(name => url.searchParams.getAll(name).length > 1)
      expect(repeated.length === 0, `Repeated: ${repeated.join(', ')}.`)
    },
  },
  {
    id: 'start-no-secret',
    title: 'The address of the portal holds nothing secret',
    rule: 'secret-on-backend',
    why: 'The address goes through the browser, its history and logs; the secret is used only from the backend.',
    fix: 'Send client_secret, and a code_verifier, in the exchange alone.',
    async run(context) {
      const { page, url } = await context.startLogin(context.browser())
      const secret = context.platform.clientSecret.reveal()
      for (const name of ['client_secret', 'code_verifier', 'password'])
        expect(!url.searchParams.has(name), `The address of the portal holds ${name}.`)
      const answers = page.trail.map(({ response }) =>
        JSON.stringify('headers' in response ? [...response.headers, ...response.setCookies, response.body] : ''),
      )
      expect(!answers.some(text => text.includes(secret)), 'An answer to the browser holds the client secret.')
    },
  },
  {
    id: 'start-cancel-url-own',
    title: 'The address for those who decline is at the client itself',
    rule: 'cancel-url-own',
    why: 'The portal refuses a cancel_url of another origin than a redirect URI: it would be an open redirect.',
    fix: 'Set cancel_url to a page of the client.',
    async run(context) {
      const { url } = await context.startLogin(context.browser())
      const cancelUrl = url.searchParams.get('cancel_url') ?? ''
      const isOwn =
        URL.canParse(cancelUrl) && new URL(cancelUrl).origin === new URL(context.platform.redirectUri).origin
      expect(isOwn, `cancel_url is ${cancelUrl || 'not there'}, and the redirect URI ${context.platform.redirectUri}.`)
    },
  },
  {
    id: 'start-not-cached',
    title: 'The answer of the login path may not be kept',
    rule: 'state-per-login',
    why: 'A kept answer gives the same state to two logins.',
    fix: 'Send Cache-Control: no-store with it.',
    async run(context) {
      const { page } = await context.startLogin(context.browser())
      const isPermanent = page.trail.some(one => [301, 308].includes(statusOf(one)))
      expect(!isPermanent, 'The redirect is a permanent one, which browsers keep.', page)
      const control = page.trail
        .map(({ response }) => ('headers' in response ? (response.headers.get('cache-control') ?? '') : ''))
        .join(',')
      expect(
        !/\b(public|max-age\s*=\s*[1-9]|s-maxage\s*=\s*[1-9]|immutable)/i.test(control) || /no-store/i.test(control),
        `Cache-Control is ${control}.`,
      )
    },
  },
  {
    id: 'start-no-store',
    title: 'The answer of the login path says Cache-Control: no-store',
    rule: 'no-store',
    why: 'It holds a state and sets a cookie; a cache that is told nothing may guess.',
    fix: 'Send Cache-Control: no-store with it.',
    async run(context) {
      const { page } = await context.startLogin(context.browser())
      const first = page.trail[0]!.response
      const control = 'headers' in first ? (first.headers.get('cache-control') ?? '') : ''
      expect(/no-store/i.test(control), control ? `Cache-Control is ${control}.` : 'There is no Cache-Control.')
    },
  },
  ...stateAndVerifier,
  ...loginCookie,
  {
    id: 'logins-bounded',
    title: 'Logins that were begun and left do not fill the cookie jar',
    rule: 'CL-07',
    why: 'A browser drops cookies beyond some 180 of a site, and a server refuses headers of more than 8 to 16 KiB.',
    fix: 'Keep at most a handful of pending logins, and drop the oldest.',
    async run(context) {
      const browser = context.browser()
      for (let count = 0; count < 50; count++) await context.startLogin(browser)
      const cookies = browser.cookies.list(context.platform.redirectUri)
      const size = cookies.reduce((sum, { name, value }) => sum + name.length + value.length + 3, 0)
      expect(
        size < 8192 && cookies.length <= 25,
        `After 50 starts there are ${cookies.length} cookies of ${size} bytes together.`,
      )
    },
  },
  {
    id: 'logins-last-works',
    title: 'After many logins that were begun and left, the next one works',
    rule: 'CL-07',
    why: 'Tabs are left open and links are pressed twice; whoever does so must not be locked out.',
    fix: 'Bound what is kept of pending logins, and drop the oldest, never the newest.',
    needs: ['page'],
    async run(context) {
      const browser = context.browser()
      for (let count = 0; count < 30; count++) await context.startLogin(browser)
      await context.signIn(browser)
      await expectSignedIn(context, browser, 'After 30 starts a login did not work.')
    },
  },
  {
    id: 'start-head',
    title: 'HEAD on the login path begins no login',
    rule: 'head-no-effect',
    why: 'Whoever looks whether a link is alive begins nothing; HEAD is safe.',
    fix: 'Answer HEAD with 405, or without a cookie.',
    async run(context) {
      const exchange = await context.request(context.settings.login, { method: 'HEAD', headers: typedAddress })
      expect(setCookiesOf(exchange).length === 0, 'HEAD set a cookie.', exchange)
    },
  },
  {
    id: 'start-post',
    title: 'A form of another site that is sent to the login path begins no login',
    rule: 'CL-31',
    why: "Another site could begin logins in the visitor's name with forms that send themselves.",
    fix: 'Take GET alone at the login path, and answer everything else with 405.',
    async run(context) {
      const { login } = context.settings
      const answer = await context.request(login, {
        method: 'POST',
        headers: {
          ...typedAddress,
          'sec-fetch-site': 'cross-site',
          origin: 'https://conformance-canary.example',
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: 'a=b',
      })
      const location = headerOf(answer, 'location') ?? ''
      const isBegun = location.startsWith(context.platform.portalUrl) && location.includes('response_type')
      expect(!isBegun, `POST ${login} leads to the portal.`, answer)
    },
  },
  {
    id: 'start-navigation-only',
    title: 'The login path begins a login for a navigation of a whole page alone',
    rule: 'CL-32',
    why: "A page of another site could begin logins by the dozen with images, and push out the visitor's own.",
    fix: 'Refuse frames, images, scripts and prefetches by Sec-Fetch-Dest, Sec-Fetch-Mode and Sec-Purpose.',
    async run(context) {
      const others: Record<string, Record<string, string>> = {
        'A prefetch': { 'sec-purpose': 'prefetch' },
        'A frame of another site': { 'sec-fetch-dest': 'iframe', 'sec-fetch-site': 'cross-site' },
        'An image on a page of another site': {
          'sec-fetch-dest': 'image',
          'sec-fetch-mode': 'no-cors',
          'sec-fetch-site': 'cross-site',
        },
        'A script of another site': {
          'sec-fetch-dest': 'empty',
          'sec-fetch-mode': 'cors',
          'sec-fetch-site': 'cross-site',
        },
      }
      for (const [what, headers] of Object.entries(others)) {
        const exchange = await context.request(context.settings.login, { headers: { ...typedAddress, ...headers } })
        expect(setCookiesOf(exchange).length === 0, `${what} began a login: it was given a cookie.`, exchange)
      }
    },
  },
  {
    id: 'start-without-cookies',
    title: 'A browser that takes no cookies ends on a page that says so, not in a loop',
    rule: 'CL-33',
    why: 'The portal signs in silently, and client and portal would send the browser back and forth without end.',
    fix: 'Answer a callback without its cookie with a page, never with a redirect to the login.',
    async run(context) {
      const person = await context.person()
      const browser = context.browser({ losesCookies: true })
      const [name = '', value = ''] = person.portalCookie.split('=')
      browser.cookies.set(context.platform.portalUrl, `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=Lax`)
      const page = await browser.visit(context.url(context.settings.login))
      expect(!page.fault, `The browser gave up: ${page.fault}.`, page)
      expect(
        (await context.exchanges()).length === 0,
        'The code was exchanged, although nothing tied the login to this browser.',
      )
    },
  },
]
