// The start of a login: the redirect to the portal, its parameters, and the cookie of the login.

import type { CheckDefinition } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect, expectSignedIn, expectWithFix, headerOf, setCookiesOf, statusOf } from '../../findings.ts'
import type { RuleId } from '../../rules/rules.ts'
import { noNavigations, typedAddress } from '../../steps/callback.ts'
import { startsOf } from '../../steps/starts.ts'
import { loginCookie } from './login-cookie.ts'
import { stateAndVerifier } from './state-and-verifier.ts'

const rulesOfParameters: Record<string, RuleId> = { redirect_uri: 'redirect-uri-registered', state: 'state-per-login' }

/** The parameters of the redirect to the portal (rule start-parameters), and the only correct value of a parameter, if there is one. */
const parameters: [name: string, title: string, expected: (context: CheckContext) => string | undefined][] = [
  ['grant_type', 'The redirect to the portal contains grant_type=authorization', () => 'authorization'],
  ['response_type', 'The redirect to the portal contains response_type=code', () => 'code'],
  ['client_id', 'The redirect to the portal contains the client id', ({ platform }) => platform.clientId],
  [
    'redirect_uri',
    'The redirect to the portal contains the registered redirect URI',
    ({ platform }) => platform.redirectUri,
  ],
  ['cancel_url', 'The redirect to the portal contains an address for visitors who decline', () => undefined],
  ['state', 'The redirect to the portal contains a state', () => undefined],
]

export const startingALogin: CheckDefinition[] = [
  {
    id: 'start-leads-to-portal',
    title: 'The login path redirects the browser to the exact address of the login portal',
    rule: 'CL-01',
    why: 'The portal begins a login only at {login_url}/. At another address, the visitor gets an error and cannot sign in.',
    fix: 'Answer the login path with a redirect to LOGIN_URL + "/?" and the parameters.',
    async run(context) {
      const { url } = await context.startLogin(context.browser())
      expect(
        url.pathname === '/',
        `The client sent the browser to the path ${url.pathname} of the portal, but the path must be /.`,
      )
      expect(url.hash === '', `The address of the portal has a fragment: ${url.hash}`)
    },
  },
  {
    id: 'start-plain-redirect',
    title: 'The login path answers with a redirect, not with a page',
    rule: 'redirect-to-portal',
    why: 'A redirect works without scripts and adds no entry to the history.',
    fix: 'Answer with status 302 or 303 and a Location.',
    async run(context) {
      const { page } = await context.startLogin(context.browser())
      expect(
        page.trail.every(one => [302, 303, 307].includes(statusOf(one))),
        `The login path answered with status ${page.status}.`,
      )
    },
  },
  {
    id: 'start-direct',
    title: 'The login path redirects to the portal at once, not to another page of the client',
    rule: 'redirect-to-portal',
    why: 'Each further redirect makes every login slower, and the further path is a second way to begin a login.',
    fix: 'Answer the login path itself with the redirect to the portal.',
    async run(context) {
      const { page } = await context.startLogin(context.browser())
      const location = headerOf(page.trail[0]!, 'location') ?? ''
      const isOwn = URL.parse(location, context.settings.client)?.origin === new URL(context.settings.client).origin
      expect(!location || !isOwn, `The login path redirects to ${location} first.`, page)
    },
  },
  ...parameters.map(([name, title, expected]) => ({
    id: `start-${name.replaceAll('_', '-')}`,
    title,
    rule: rulesOfParameters[name] ?? 'start-parameters',
    why: `The portal ${name === 'state' ? 'returns the state, and the client compares it with the state of its login' : `refuses a login without ${name}`}.`,
    fix: `Add ${name} to the address of the portal.`,
    async run(context: CheckContext) {
      const { url } = await context.startLogin(context.browser())
      const value = url.searchParams.get(name)
      expect(value, `${name} ${value === null ? 'is missing' : 'is empty'}.`)
      const right = expected(context)
      expectWithFix(
        `Send ${name}=${right}, the same text in every login${name === 'redirect_uri' ? ': the address that is registered with the application' : ''}.`,
        right === undefined || value === right,
        `${name} is ${value}, but must be ${right}.`,
      )
    },
  })),
  {
    id: 'start-parameters-once',
    title: 'No parameter of the redirect to the portal is repeated',
    rule: 'oauth-parameters-once',
    why: 'For a repeated parameter, the portal shows an error page, and nobody can sign in.',
    fix: 'Set each parameter once.',
    async run(context) {
      const { url } = await context.startLogin(context.browser())
      const repeated = [...new Set(url.searchParams.keys())].filter(name => url.searchParams.getAll(name).length > 1)
      expect(repeated.length === 0, `Repeated: ${repeated.join(', ')}.`)
    },
  },
  {
    id: 'start-no-secret',
    title: 'The address of the portal contains no secret',
    rule: 'CL-01',
    why: 'The browser, its history and logs contain this address. Only the server may know the secret.',
    fix: 'Send client_secret and code_verifier only in the exchange.',
    async run(context) {
      const { page, url } = await context.startLogin(context.browser())
      const secret = context.platform.clientSecret.reveal()
      const basic = Buffer.from(`${context.platform.clientId}:${secret}`).toString('base64')
      const spellings = [secret, basic, encodeURIComponent(basic), Buffer.from(secret).toString('base64url')]
      for (const name of ['client_secret', 'code_verifier', 'password'])
        expect(!url.searchParams.has(name), `The address of the portal contains ${name}.`)
      const answers = page.trail.map(({ response }) =>
        JSON.stringify('headers' in response ? [...response.headers, ...response.setCookies, response.body] : ''),
      )
      expect(
        !answers.some(text => spellings.some(one => text.includes(one))),
        'An answer to the browser contains the client secret.',
      )
    },
  },
  {
    id: 'start-cancel-url-own',
    title: 'The address for visitors who decline is an address of the client itself',
    rule: 'cancel-url-own',
    why: 'The portal refuses a cancel_url with another origin than the redirect URIs, because it would be an open redirect.',
    fix: 'Set cancel_url to a page of the client.',
    async run(context) {
      const { url } = await context.startLogin(context.browser())
      const cancelUrl = url.searchParams.get('cancel_url') ?? ''
      const isOwn =
        URL.canParse(cancelUrl) && new URL(cancelUrl).origin === new URL(context.platform.redirectUri).origin
      expect(isOwn, `cancel_url is ${cancelUrl || 'missing'}, but the redirect URI is ${context.platform.redirectUri}.`)
    },
  },
  {
    id: 'start-not-cached',
    title: 'No cache may keep the answer of the login path',
    rule: 'state-per-login',
    why: 'If a cache keeps the answer, two logins get the same state, and an attacker who gets this answer knows the state of a visitor.',
    fix: 'Send Cache-Control: no-store with the answer of the login path.',
    async run(context) {
      const { page } = await context.startLogin(context.browser())
      const isPermanent = page.trail.some(one => [301, 308].includes(statusOf(one)))
      expect(!isPermanent, 'The redirect is permanent, so browsers cache it.', page)
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
    why: 'The answer contains a state and sets a cookie. Only no-store forbids every cache to keep the answer.',
    fix: 'Send Cache-Control: no-store with the answer of the login path.',
    async run(context) {
      const { page } = await context.startLogin(context.browser())
      const first = page.trail[0]!.response
      const control = 'headers' in first ? (first.headers.get('cache-control') ?? '') : ''
      expect(
        /no-store/i.test(control),
        control ? `Cache-Control is ${control}.` : 'The answer of the login path has no Cache-Control.',
      )
    },
  },
  {
    id: 'start-every-way',
    title: 'However a login begins, the redirect to the portal contains each parameter once and with the right value',
    rule: 'start-parameters',
    why: 'A login can also begin from a page behind the login, with a return address, after a failed login, or while somebody is signed in. Clients often have separate code for these cases.',
    fix: 'Build the address of the portal in one function, and begin every login with this function.',
    async run(context) {
      for (const { way, start } of await startsOf(context))
        for (const [name, , expected] of parameters) {
          const values = start.url.searchParams.getAll(name)
          const right = expected(context)
          const isRight = values.length === 1 && values[0] !== '' && (right === undefined || values[0] === right)
          expect(
            isRight,
            `The login that began ${way} has ${values.length === 0 ? 'no' : 'the wrong'} ${name}${values.length > 0 ? `: ${values.join(', ') || '(empty)'}` : ''}.`,
            start.page,
          )
        }
    },
  },
  ...stateAndVerifier,
  ...loginCookie,
  {
    id: 'logins-bounded',
    title: 'Unfinished logins do not fill the cookie store of the browser',
    rule: 'CL-07',
    why: 'A browser keeps about 180 cookies of a site, and a server refuses headers of more than 8 to 16 KiB.',
    fix: 'Keep at most about five pending logins, and drop the oldest.',
    async run(context) {
      const browser = context.browser()
      for (let count = 0; count < 50; count++) await context.startLogin(browser)
      const cookies = browser.cookies.list(context.platform.redirectUri)
      const size = cookies.reduce((sum, { name, value }) => sum + name.length + value.length + 3, 0)
      expect(
        size < 8192 && cookies.length <= 25,
        `After 50 starts, the browser has ${cookies.length} cookies with ${size} bytes together.`,
      )
    },
  },
  {
    id: 'logins-bounded-with-return-address',
    title: 'Unfinished logins with a long return address do not fill the Cookie header',
    rule: 'CL-07',
    why: 'A client that keeps the return address in the cookie of each login has cookies that are much larger than those of a plain login.',
    fix: 'Limit the length of a return address that you keep in a cookie, for example to 200 characters.',
    needs: ['returnTo'],
    async run(context) {
      const { login, returnTo } = context.settings
      const browser = context.browser()
      for (let count = 0; count < 12; count++) {
        const path = `/applications?${new URLSearchParams({ q: `${count}${'long-'.repeat(280)}` })}`
        await context.visitUntilPortal(browser, `${login}?${new URLSearchParams({ [returnTo]: path })}`)
      }
      const cookies = browser.cookies.list(context.platform.redirectUri)
      const size = cookies.reduce((sum, { name, value }) => sum + name.length + value.length + 3, 0)
      expect(
        size < 8192,
        `After 12 starts with a return address of 1,400 characters, the browser has ${cookies.length} cookies with ${size} bytes together.`,
      )
    },
  },
  {
    id: 'logins-at-once',
    title: 'After twenty logins that began at the same time, the next login works, and few cookies are left',
    rule: 'CL-07',
    why: 'A browser that restores its windows begins all logins before it gets the first cookie. No answer could therefore delete an older cookie, and the browser has the cookies of twenty logins.',
    fix: 'At the start of each login, delete all cookies of older logins except the newest few, not only one of them.',
    needs: ['page'],
    async run(context) {
      const browser = context.browser()
      await Promise.all(Array.from({ length: 20 }, () => context.startLogin(browser.newTab())))
      await context.signIn(browser)
      await expectSignedIn(context, browser, 'After 20 logins that began at the same time, a login did not work.')
      await context.visitUntilPortal(browser, context.settings.login)
      const cookies = browser.cookies.list(context.platform.redirectUri)
      const size = cookies.reduce((sum, { name, value }) => sum + name.length + value.length + 3, 0)
      expect(
        size < 8192,
        `After the next start, the browser has ${cookies.length} cookies with ${size} bytes together.`,
      )
    },
  },
  {
    id: 'logins-last-works',
    title: 'After many unfinished logins, the next login works',
    rule: 'CL-07',
    why: 'People leave tabs open and click links twice. If the client counts these logins and then refuses a new one, these visitors cannot sign in.',
    fix: 'Limit the number of pending logins that you keep, and drop the oldest, never the newest.',
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
    why: 'A program that checks links with HEAD must not begin a login. This check only warns, because many frameworks answer HEAD like GET by default, so most simple clients would fail.',
    fix: 'Answer HEAD with 405, or without a cookie.',
    async run(context) {
      const exchange = await context.request(context.settings.login, { method: 'HEAD', headers: typedAddress })
      expect(setCookiesOf(exchange).length === 0, 'HEAD set a cookie.', exchange)
    },
  },
  {
    id: 'start-post',
    title: 'A form that another site sends to the login path begins no login',
    rule: 'CL-31',
    why: 'Another site could begin logins for the visitor with forms that submit themselves.',
    fix: 'Accept only GET at the login path, and answer everything else with 405.',
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
      expect(!isBegun, `POST ${login} redirects to the portal.`, answer)
    },
  },
  {
    id: 'start-other-methods',
    title: 'The login path begins no login for any method except GET',
    rule: 'only-supported-methods',
    why: 'A path that answers every method hides mistakes, and a form can begin a login although a link is meant to.',
    fix: 'Accept only GET at the login path, and answer everything else with 405.',
    async run(context) {
      const { login, client } = context.settings
      for (const method of ['PUT', 'PATCH', 'DELETE', 'POST']) {
        const headers = { ...typedAddress, 'sec-fetch-site': 'same-origin', origin: client }
        const form = { 'content-type': 'application/x-www-form-urlencoded' }
        const answer = await context.request(login, { method, headers: { ...headers, ...form }, body: 'a=b' })
        const location = headerOf(answer, 'location') ?? ''
        const isBegun = location.startsWith(context.platform.portalUrl) && location.includes('response_type')
        expect(!isBegun, `${method} ${login} redirects to the portal.`, answer)
      }
    },
  },
  {
    id: 'start-navigation-only',
    title: 'The client begins a login only if the browser opens the login path as a whole page',
    rule: 'CL-32',
    why: 'With images, a page of another site could begin dozens of logins. The client then drops the login that the visitor has begun.',
    fix: 'Refuse frames, images, scripts and prefetches by Sec-Fetch-Dest, Sec-Fetch-Mode and Sec-Purpose.',
    async run(context) {
      for (const [what, headers] of Object.entries(noNavigations)) {
        const exchange = await context.request(context.settings.login, { headers: { ...typedAddress, ...headers } })
        expect(setCookiesOf(exchange).length === 0, `${what} began a login: the answer set a cookie.`, exchange)
      }
    },
  },
  {
    id: 'start-without-cookies',
    title: 'A browser that accepts no cookies gets a page after the login, and no endless redirects',
    rule: 'CL-33',
    why: 'The portal knows the visitor and redirects at once. If the client begins a new login for each failed callback, the redirects have no end.',
    fix: 'Answer a callback without its cookie with a page, never with a redirect to the login.',
    async run(context) {
      const person = await context.person()
      const browser = context.browser({ losesCookies: true })
      const [name = '', value = ''] = person.portalCookie.split('=')
      browser.cookies.set(context.platform.portalUrl, `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=Lax`)
      const page = await browser.visit(context.url(context.settings.login))
      expect(!page.fault, `The browser stopped: ${page.fault}.`, page)
      expect(
        (await context.codeExchanges()).length === 0,
        'The client exchanged the code, although this browser has no cookie of the login.',
      )
    },
  },
]
