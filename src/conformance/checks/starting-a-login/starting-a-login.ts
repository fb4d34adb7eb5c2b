// Checks on how a login begins: the redirect to the portal, the parameters of this redirect, and the login cookie.

import type { Browser, HttpExchange } from '../../browser/browser.ts'
import type { CheckDefinition } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import {
  describePage,
  expect,
  expectSignedIn,
  expectWithFix,
  fail,
  headerOf,
  setCookiesOf,
  statusOf,
} from '../../findings.ts'
import type { RuleId } from '../../rules/rules.ts'
import { isAtOrigin, leadsTo, withQuery } from '../../steps/addresses.ts'
import { ownForm } from '../../steps/application-pages.ts'
import { whyKept } from '../../steps/caching.ts'
import { noNavigations, typedAddress } from '../../steps/callback.ts'
import { findLeaksOf, secret } from '../../steps/leaks.ts'
import { endIfScripted } from '../../steps/page-content.ts'
import { readSetCookie } from '../../steps/set-cookies.ts'
import { startsOf, startsOfStrangers } from '../../steps/starts.ts'
import { loginCookie } from './login-cookie.ts'
import { stateAndVerifier } from './state-and-verifier.ts'

const rulesOfParameters: Record<string, RuleId> = { redirect_uri: 'redirect-uri-registered', state: 'state-per-login' }

/**
 * The parameters of the redirect to the portal (rule start-parameters). `expected` returns the only correct value, or
 * undefined if there are several.
 */
const parameters: [name: string, title: string, expected: (context: CheckContext) => string | undefined][] = [
  ['grant_type', 'The redirect to the portal contains grant_type=authorization', () => 'authorization'],
  ['response_type', 'The redirect to the portal contains response_type=code', () => 'code'],
  ['client_id', 'The redirect to the portal contains the client id', ({ platform }) => platform.clientId],
  [
    'redirect_uri',
    'The redirect to the portal contains the registered redirect URI',
    ({ platform }) => platform.redirectUri,
  ],
  [
    'cancel_url',
    'The redirect to the portal contains a cancel_url, the address for visitors who decline',
    () => undefined,
  ],
  ['state', 'The redirect to the portal contains a state', () => undefined],
]

/** Sends a small form to a path of the client. Without `headers`, the form comes from a page of the client. */
function sendTo(
  context: CheckContext,
  path: string,
  method: string,
  headers = ownForm(context),
): Promise<HttpExchange> {
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  return context.request(path, { method, headers: { ...headers, ...type }, body: 'a=b' })
}

/** Whether the answer redirects the browser to the portal, to begin a login. */
function beginsLogin({ platform }: CheckContext, answer: HttpExchange): boolean {
  const location = headerOf(answer, 'location') ?? ''
  return isAtOrigin(location, platform.portalUrl) && location.includes('response_type')
}

/**
 * Returns the names of the cookies with which the answer begins a login. Leaves out cookies that the client sets with
 * every answer, unless the answer redirects to the portal.
 */
async function loginCookiesIn(context: CheckContext, answer: HttpExchange): Promise<string[]> {
  const namesIn = (exchange: HttpExchange) => setCookiesOf(exchange).map(line => readSetCookie(line).name)
  if (beginsLogin(context, answer) || setCookiesOf(answer).length === 0) return namesIn(answer)
  const usual = namesIn(await context.request('/', { headers: typedAddress }))
  return namesIn(answer).filter(name => !usual.includes(name))
}

/** Returns how many cookies the browser sends to the callback, and their length in the Cookie header. */
function loginCookiesOf({ platform }: CheckContext, browser: Browser): { count: number; bytes: number } {
  const cookies = browser.cookies.list(platform.redirectUri)
  const bytes = cookies.reduce((sum, { name, value }) => sum + name.length + value.length + 3, 0)
  return { count: cookies.length, bytes }
}

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
    why: 'A redirect works without JavaScript, and adds no entry to the browser history.',
    fix: 'Answer with status 302 or 303 and a Location header.',
    async run(context) {
      const isPlain = (one: HttpExchange) => [302, 303, 307].includes(statusOf(one))
      const { page } = await context.startLogin(context.browser())
      const wrong = page.trail.find(one => !isPlain(one))
      if (wrong) fail(`The login path answered with status ${statusOf(wrong)}.`, wrong)
      // Clients often have separate code for a second login and for a login with a return address.
      for (const { way, start } of await startsOfStrangers(context)) {
        const [first] = start.page.trail
        if (!leadsTo(first!.request.url, context.url(context.settings.login))) continue
        const other = start.page.trail.find(one => !isPlain(one))
        if (other)
          fail(`For the login that began ${way}, the login path answered with status ${statusOf(other)}.`, other)
      }
    },
  },
  {
    id: 'start-direct',
    title: 'The login path redirects to the portal at once, not to another page of the client',
    rule: 'redirect-to-portal',
    why: 'An additional redirect makes every login slower. It also means that a login can begin at two paths.',
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
        `Send ${name}=${right}, the same value in every login${name === 'redirect_uri' ? ': the address that is registered with the application' : ''}.`,
        right === undefined || value === right,
        `${name} is ${value}, but must be ${right}.`,
      )
    },
  })),
  {
    id: 'start-parameters-once',
    title: 'The redirect to the portal contains no parameter twice',
    rule: 'oauth-parameters-once',
    why: 'If the address contains a parameter twice, the portal shows an error page, and nobody can sign in.',
    fix: 'Set each parameter once.',
    async run(context) {
      const { url } = await context.startLogin(context.browser())
      const repeated = [...new Set(url.searchParams.keys())].filter(name => url.searchParams.getAll(name).length > 1)
      expect(repeated.length === 0, `The redirect contains these parameters twice: ${repeated.join(', ')}.`)
    },
  },
  {
    id: 'start-no-further-parameters',
    title: 'The redirect to the portal contains only parameters of the specification',
    rule: 'start-known-parameters',
    why: 'An unknown parameter has no effect at the portal. Many libraries for OpenID Connect add scope, nonce or prompt, and the developer may wrongly believe that these parameters have an effect.',
    fix: 'Send only grant_type, response_type, client_id, redirect_uri, cancel_url, state, and the two parameters of PKCE.',
    async run(context) {
      const known = [...parameters.map(([name]) => name), 'code_challenge', 'code_challenge_method']
      for (const { way, start } of await startsOf(context)) {
        const further = [...start.url.searchParams.keys()].filter(name => !known.includes(name))
        expect(
          further.length === 0,
          `The login that began ${way} has these additional parameters: ${further.join(', ')}.`,
          start.page,
        )
      }
    },
  },
  {
    id: 'start-no-secret',
    title: 'The address of the portal contains no secret',
    rule: 'CL-01',
    why: 'This address is visible in the address bar, in the browser history and in logs. Only the server may know the secret.',
    fix: 'Send client_secret and code_verifier only in the exchange.',
    async run(context) {
      const { page, url } = await context.startLogin(context.browser())
      const findSecret = findLeaksOf(secret('the client secret', context.platform.clientSecret.reveal()))
      for (const name of ['client_secret', 'code_verifier', 'password'])
        expect(!url.searchParams.has(name), `The address of the portal contains ${name}.`)
      const answers = page.trail.map(({ response }) =>
        'headers' in response ? [...response.headers.values(), ...response.setCookies, response.body].join('\n') : '',
      )
      expect(!answers.some(findSecret), 'An answer to the browser contains the client secret.')
    },
  },
  {
    id: 'start-cancel-url-own',
    title: 'The cancel_url, to which the portal sends visitors who decline, is an address of the client itself',
    rule: 'cancel-url-own',
    why: 'The portal refuses a cancel_url whose origin differs from the redirect URIs, because such a cancel_url would be an open redirect.',
    fix: 'Set cancel_url to a page of the client.',
    async run(context) {
      const { url } = await context.startLogin(context.browser())
      const cancelUrl = url.searchParams.get('cancel_url') ?? ''
      const { origin } = new URL(context.platform.redirectUri)
      expect(
        isAtOrigin(cancelUrl, origin),
        `cancel_url is ${cancelUrl || 'missing'}, but the redirect URI is ${context.platform.redirectUri}.`,
      )
      const { login, returnTo } = context.settings
      if (!returnTo) return
      // Some clients send visitors who decline to the page on which the login began.
      for (const there of ['https://evil.example/', '//evil.example/', '@evil.example/', '.evil.example/']) {
        const page = await context.visitUntilPortal(context.browser(), withQuery(login, { [returnTo]: there }))
        // It is also correct to refuse the parameter at once.
        const address = page.stoppedAt && new URL(page.stoppedAt).searchParams.get('cancel_url')
        if (!address) continue
        expect(
          isAtOrigin(address, origin),
          `For a login with the return address ${there}, cancel_url is ${address}.`,
          page,
        )
      }
    },
  },
  {
    id: 'start-not-cached',
    title: "No cache may keep the client's answer at the login path",
    rule: 'state-per-login',
    why: 'If a cache keeps the answer, two logins get the same state. An attacker who gets the same answer then knows the state of a visitor.',
    fix: 'Answer the login path with Cache-Control: no-store.',
    async run(context) {
      const { page } = await context.startLogin(context.browser())
      const isPermanent = page.trail.some(one => [301, 308].includes(statusOf(one)))
      expect(!isPermanent, 'The redirect is permanent, so browsers cache it.', page)
      for (const exchange of page.trail) {
        const why = whyKept(exchange)
        expect(why === undefined, `A cache may keep an answer with a state, because ${why}.`, exchange)
      }
    },
  },
  {
    id: 'start-no-store',
    title: "The client's answer at the login path has Cache-Control: no-store",
    rule: 'no-store',
    why: 'The answer contains a state and sets a cookie. Only the directive no-store keeps the answer out of all caches.',
    fix: 'Answer the login path with Cache-Control: no-store.',
    async run(context) {
      const { page } = await context.startLogin(context.browser())
      const control = headerOf(page.trail[0]!, 'cache-control') ?? ''
      expect(
        /no-store/i.test(control),
        control ? `Cache-Control is ${control}.` : 'The answer at the login path has no Cache-Control.',
      )
    },
  },
  {
    id: 'start-every-way',
    title:
      'Whichever way a login begins, the redirect to the portal contains each parameter only once, with the right value',
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
    why: 'A browser keeps only about 180 cookies for a site, and many servers refuse headers of more than 8 or 16 KiB.',
    fix: 'Keep only about five pending logins for a browser, and delete the oldest.',
    async run(context) {
      const { login, page } = context.settings
      const browser = context.browser()
      // The server may refuse a request because the cookies of the earlier logins are too large.
      let begun = 0
      while (begun < 50 && (await context.visitUntilPortal(browser, login)).stoppedAt !== undefined) begun++
      const { count: cookies, bytes } = loginCookiesOf(context, browser)
      expect(
        bytes < 8192 && cookies <= 25,
        `After ${begun} logins have begun, the browser has ${cookies} cookies, with ${bytes} bytes in total.`,
      )
      // `startLogin` fails and shows the answer from the login path.
      if (begun < 50) await context.startLogin(browser)
      // Many clients have separate code for a login that starts from a page.
      const visitor = context.browser()
      for (let count = 0; page && count < 30; count++)
        if ((await context.visitUntilPortal(visitor, page)).stoppedAt === undefined) return
      const others = loginCookiesOf(context, visitor).count
      expect(others <= 25, `After 30 logins have started from the page ${page}, the browser has ${others} cookies.`)
    },
  },
  {
    id: 'logins-bounded-with-return-address',
    title: 'Unfinished logins with a long return address do not fill the Cookie header',
    rule: 'CL-07',
    why: 'If a client keeps the return address in the login cookie, a long return address makes the cookie much larger.',
    fix: 'Limit the length of a return address that you keep in a cookie, for example to 200 characters.',
    needs: ['returnTo'],
    async run(context) {
      const { login, returnTo } = context.settings
      const browser = context.browser()
      for (let count = 0; count < 12; count++) {
        const path = `/applications?${new URLSearchParams({ q: `${count}${'long-'.repeat(280)}` })}`
        await context.visitUntilPortal(browser, withQuery(login, { [returnTo]: path }))
      }
      const { count: cookies, bytes } = loginCookiesOf(context, browser)
      expect(
        bytes < 8192,
        `After 12 logins have begun with a return address of 1,400 characters, the browser has ${cookies} cookies, with ${bytes} bytes in total.`,
      )
    },
  },
  {
    id: 'logins-at-once',
    title:
      'If twenty logins have begun at the same time, the next login works, and the browser then has few login cookies',
    rule: 'CL-07',
    why: 'A browser that restores its windows sends the requests for all logins before it gets the first login cookie. So no request contains an older login cookie that the client could delete, and afterwards the browser has the cookies of all logins.',
    fix: 'When a login begins, delete all older login cookies except the newest few. It is not enough to delete one cookie.',
    needs: ['page'],
    async run(context) {
      const browser = context.browser()
      await Promise.all(Array.from({ length: 20 }, () => context.startLogin(browser.newTab())))
      await context.signIn(browser)
      await expectSignedIn(context, browser, 'After 20 logins that began at the same time, a login did not work.')
      await context.visitUntilPortal(browser, context.settings.login)
      const { count: cookies, bytes } = loginCookiesOf(context, browser)
      expect(
        bytes < 8192,
        `After the next login has begun, the browser has ${cookies} cookies, with ${bytes} bytes in total.`,
      )
    },
  },
  {
    id: 'logins-last-works',
    title: 'After many unfinished logins, the next login works',
    rule: 'CL-07',
    why: 'People leave tabs open and click links twice. If the client counts these logins and then refuses a new login, these visitors cannot sign in.',
    fix: 'Limit the number of pending logins that you keep. Delete the oldest login, never the newest.',
    needs: ['page'],
    async run(context) {
      const browser = context.browser()
      for (let count = 0; count < 30; count++) await context.startLogin(browser)
      await context.signIn(browser)
      await expectSignedIn(context, browser, 'After 30 logins had begun, a login did not work.')
    },
  },
  {
    id: 'start-after-session-ended',
    title: 'If the platform has ended the session, the login path leads to the portal',
    rule: 'token-ends-early',
    why: 'Some clients redirect signed-in visitors from the login path to another page. If such a client looks only at its own cookie and the platform has ended the session, the visitor cannot sign in again before the cookie expires.',
    fix: 'Begin a login even if the browser has a session cookie. Or delete the cookie when the API and the portal refuse the tokens.',
    needs: ['page'],
    async run(context) {
      const { login, page: path } = context.settings
      const { browser, person } = await context.signedIn()
      await context.platform.endAccessTokens(person)
      await context.order('refresh-400', { times: 20, options: { error: 'invalid_grant' } })
      await context.visitUntilPortal(browser, path)
      // The first visit to the login path may lead to a page where the client notices that the session has ended.
      await context.visitUntilPortal(browser, login)
      const page = await context.visitUntilPortal(browser, login)
      if (page.stoppedAt === undefined) endIfScripted(page, context.settings)
      expect(
        page.stoppedAt !== undefined,
        `After the platform had ended the session, the login path led to ${describePage(page)}, and not to the portal.`,
        page,
      )
    },
  },
  {
    id: 'start-head',
    title: 'A HEAD request to the login path does not begin a login',
    rule: 'head-no-effect',
    why: 'Link checkers send HEAD requests, and must not begin a login. This check only warns: many frameworks answer HEAD like GET by default, so most simple clients would fail.',
    fix: 'Answer HEAD with 405, or do not set a cookie in the answer.',
    async run(context) {
      const exchange = await context.request(context.settings.login, { method: 'HEAD', headers: typedAddress })
      const [cookie] = await loginCookiesIn(context, exchange)
      expect(cookie === undefined, `The answer to HEAD sets the cookie ${cookie}.`, exchange)
    },
  },
  {
    id: 'start-post',
    title: 'If another site sends a form to the login path, the client does not begin a login',
    rule: 'CL-31',
    why: 'Otherwise, a script on another site could send forms, and each form would begin a login for the visitor.',
    fix: 'Accept only GET at the login path, and answer everything else with 405.',
    async run(context) {
      const { login } = context.settings
      const headers = { ...typedAddress, 'sec-fetch-site': 'cross-site', origin: 'https://conformance-canary.example' }
      const answer = await sendTo(context, login, 'POST', headers)
      expect(!beginsLogin(context, answer), `POST ${login} redirects to the portal.`, answer)
    },
  },
  {
    id: 'start-post-own',
    title: 'If a page of the client sends a form to the login path, the client does not begin a login',
    rule: 'CL-31',
    why: 'The login path does not need a form. If the path accepts POST, only a check of Origin or of a token protects it against forms from other sites.',
    fix: 'Accept only GET at the login path, and answer everything else with 405.',
    async run(context) {
      const { login } = context.settings
      const answer = await sendTo(context, login, 'POST')
      expect(!beginsLogin(context, answer), `POST ${login} redirects to the portal.`, answer)
    },
  },
  {
    id: 'start-other-methods',
    title: 'At the login path, only a GET request begins a login',
    rule: 'only-supported-methods',
    why: 'A path that accepts every method hides mistakes. A form could also begin a login, although only links should do so.',
    fix: 'Accept only GET at the login path, and answer everything else with 405.',
    async run(context) {
      const { login } = context.settings
      for (const method of ['PUT', 'PATCH', 'DELETE', 'POST', 'OPTIONS']) {
        const answer = await sendTo(context, login, method)
        expect(!beginsLogin(context, answer), `${method} ${login} redirects to the portal.`, answer)
      }
    },
  },
  {
    id: 'start-methods-refused',
    title: 'The login path and the callback refuse PUT, PATCH, DELETE and POST',
    rule: 'only-supported-methods',
    why: 'Nobody needs these methods at these paths. If the client answers with a page or a redirect, it has accepted such a request.',
    fix: 'Accept only GET at both paths. The best answer to every other method is 405 with the header Allow. This check also accepts 501 and every other status from 400 to 499.',
    async run(context) {
      const { login, callback } = context.settings
      for (const path of [login, callback])
        for (const method of ['PUT', 'PATCH', 'DELETE', 'POST']) {
          const answer = await sendTo(context, path, method)
          // If there is no route for a method, many frameworks answer with 404. A client may also refuse every form
          // without a token before it looks at the path.
          const status = statusOf(answer)
          const isRefused = (status >= 400 && status < 500) || status === 501
          expect(isRefused, `${method} ${path} was answered with status ${status}.`, answer)
        }
    },
  },
  {
    id: 'start-navigation-only',
    title: 'The client begins a login only if the browser opens the login path as a whole page',
    rule: 'CL-32',
    why: 'A page on another site could use images to begin dozens of logins. The client would then delete the login that the visitor has begun.',
    fix: 'Look at Sec-Fetch-Dest, Sec-Fetch-Mode and Sec-Purpose, and refuse prefetches and requests for frames, images and scripts.',
    async run(context) {
      for (const [what, headers] of Object.entries(noNavigations)) {
        const exchange = await context.request(context.settings.login, { headers: { ...typedAddress, ...headers } })
        const [cookie] = await loginCookiesIn(context, exchange)
        expect(cookie === undefined, `${what} began a login: the answer set the cookie ${cookie}.`, exchange)
      }
    },
  },
  {
    id: 'start-without-cookies',
    title: 'If a browser accepts no cookies, a login ends with a page, and not in endless redirects',
    rule: 'CL-33',
    why: 'If a visitor is signed in at the portal, the portal redirects the visitor to the client at once. If the client begins a new login after each failed callback, the redirects never end.',
    fix: 'If a callback arrives without its login cookie, answer with a page, never with a redirect to the login path.',
    async run(context) {
      const person = await context.person()
      const browser = context.browser()
      const { cookies } = browser
      const set = cookies.set.bind(cookies)
      // The browser drops the cookies of the client. It keeps the cookies of the portal, where the visitor is signed
      // in.
      cookies.set = (url, ...rest) => isAtOrigin(url, context.platform.portalUrl) && set(url, ...rest)
      const [name = '', value = ''] = person.portalCookie.split('=')
      browser.cookies.set(context.platform.portalUrl, `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=Lax`)
      const page = await browser.visit(context.url(context.settings.login))
      expect(!page.error, `The browser stopped: ${page.error}.`, page)
      expect(
        (await context.codeExchanges()).length === 0,
        'The client exchanged the code, although this browser has no cookie of the login.',
      )
    },
  },
]
