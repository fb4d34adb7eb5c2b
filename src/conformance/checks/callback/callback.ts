// Tests the callback of a normal login, and requests to the callback path that do not come from a redirect of the
// portal.
import { guidanceOf } from '../../../sandbox/lab/explain/guidance.ts'
import type { Browser, Page } from '../../browser/browser.ts'
import { whyDropped } from '../../browser/set-cookie.ts'
import { type CheckDefinition, passNotApplicable, ReportedElsewhere, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import {
  bodyOf,
  describePage,
  expect,
  expectSignedIn,
  expectWithFix,
  fail,
  headerOf,
  setCookiesOf,
} from '../../findings.ts'
import { isAtOrigin, leadsTo, withQuery } from '../../steps/addresses.ts'
import {
  beginLogin,
  cookieHeader,
  errorCallback,
  expectNoNewLogin,
  followCallback,
  loginWithCopy,
  navigationHeaders,
  requireExchange,
} from '../../steps/callback.ts'
import { declinedCallback, requireCancelUrl } from '../../steps/declined-login.ts'
import { endIfScripted, foreignLoads, showsInside } from '../../steps/page-content.ts'
import { newTabs, ownCookies, plant } from '../../steps/sessions.ts'
import { cookiesOf, readSetCookie } from '../../steps/set-cookies.ts'
import { wordsIn } from '../../steps/state-guesses.ts'
import { callbackParameters } from './callback-parameters.ts'
import { hostileValues } from './hostile-values.ts'
import { refused } from './refused.ts'
import { returnTo } from './return-to.ts'
import { states } from './states.ts'

export const callback: CheckDefinition[] = [
  {
    id: 'login-works',
    title: 'A visitor who signs in at the portal is signed in at the client',
    rule: 'login-works',
    why: 'If nobody can sign in, the client is of no use to visitors. Most other checks also need a login that works.',
    fix: 'Compare your login with the steps in docs/reference/platform.md. The evidence shows at which step your login stopped.',
    needs: ['page'],
    async run(context) {
      const browser = context.browser()
      const landed = await context.signIn(browser)
      const isSignedIn = await context.isSignedIn(browser)
      const { page, client } = context.settings
      const visits = landed.trail.filter(({ request }) => leadsTo(request.url, context.platform.redirectUri)).length
      const steps = context.arrived('exchange', 'api').slice(-2)
      const advice = isSignedIn
        ? 'Answer the callback with status 200 and a page with a meta refresh, or set the session cookie with SameSite=Lax. Browsers do not send a Strict cookie after redirects that began on another site.'
        : await adviceForLogin(context, landed)
      expectWithFix(
        advice,
        visits < 2 && !landed.error && landed.url.startsWith(`${client}/`),
        visits < 2
          ? `The login ended with ${describePage(landed)}.`
          : `The browser went to the portal and back ${visits} times. The login ended with ${describePage(landed)}.`,
        landed,
        ...steps,
      )
      if (!isSignedIn) endIfScripted(landed, context.settings)
      expectWithFix(
        advice,
        isSignedIn,
        `The login ended with ${describePage(landed)}. When the browser then opened ${page}, the client made no successful API call.`,
        landed,
        ...steps,
      )
    },
  },
  {
    id: 'login-lands-signed-in',
    title: 'The first page after the login shows the visitor as signed in',
    rule: 'CL-26',
    why: 'Browsers do not send a SameSite=Strict cookie after redirects that began on another site. If the client answers the callback with a redirect, the next page shows the visitor as signed out.',
    fix: 'Answer the callback with status 200 and a page with a meta refresh to a page of the client.',
    needs: ['page'],
    async run(context) {
      await expectLandsSignedIn(context, context.browser())
      const { login, returnTo, page } = context.settings
      if (!returnTo) return
      // Also tests a login with a return address. Some clients answer the callback of such a login with a redirect, and
      // answer with a page only if the login leads to their usual page.
      const there = withQuery(page, 'conformance=1')
      const { browser, callback } = await beginLogin(context, withQuery(login, { [returnTo]: there }))
      await expectLandsSignedIn(context, browser, callback)
    },
  },
  {
    id: 'callback-code-not-in-address',
    title: 'After the login, the address in the address bar contains neither code nor state',
    rule: 'CL-28',
    why: 'People copy and share the address in the address bar, and the history of the browser keeps this address.',
    fix: 'Answer the callback with a redirect or with a meta refresh. Both replace the entry in the history.',
    async run(context) {
      const landed = await context.signIn(context.browser())
      if (landed.status >= 400) throw new ReportedElsewhere('a plain login fails')
      const left = ['code', 'state'].filter(name => new URL(landed.url).searchParams.has(name))
      if (left.length > 0) endIfScripted(landed, context.settings)
      expect(
        left.length === 0,
        `After the login, the address is ${new URL(landed.url).pathname} with ${left.join(' and ')}.`,
      )
      // The address may also contain the values under other names, or in its path or fragment.
      const query = landed.trail
        .map(({ request }) => new URL(request.url))
        .find(url => leadsTo(url.href, context.platform.redirectUri) && url.searchParams.has('code'))?.searchParams
      for (const name of ['code', 'state']) {
        const value = query?.get(name) ?? ''
        expect(
          value === '' || !landed.url.includes(value),
          `After the login, the address contains the ${name}.`,
          landed,
        )
      }
    },
  },
  {
    id: 'callback-no-referrer',
    title: 'No request after the callback has the callback address as its Referer',
    rule: 'CL-27',
    why: 'The callback address contains code and state. In a Referer, both values reach other servers and their logs.',
    fix: 'Send Referrer-Policy: no-referrer with the answer to the callback.',
    async run(context) {
      const browser = context.browser()
      const landed = await context.signIn(browser)
      const leaks = landed.trail.filter(({ request }) => {
        const referer = request.headers.referer ?? ''
        return leadsTo(referer, context.platform.redirectUri) && /[?&](code|state)=/.test(referer)
      })
      expect(
        leaks.length === 0,
        'The Referer of a request after the callback contained the callback address.',
        ...leaks,
      )
    },
  },
  {
    id: 'callback-no-store',
    title: 'The answer to the callback says Cache-Control: no-store',
    rule: 'no-store',
    why: 'The answer to the callback sets the session cookie. A cache that keeps this answer gives the session to other people.',
    fix: 'Send Cache-Control: no-store with the answer to the callback.',
    async run(context) {
      const answer = await callbackOf(context)
      expect(
        /no-store/i.test(headerOf(answer, 'cache-control') ?? ''),
        `Cache-Control is ${headerOf(answer, 'cache-control') ?? 'missing'}.`,
        answer,
      )
    },
  },
  {
    id: 'callback-not-cached',
    title: 'No shared cache may keep the answer to the callback',
    rule: 'CK-17',
    why: 'A proxy that keeps the answer would give the session of one visitor to the next visitor.',
    fix: 'Send Cache-Control: no-store with the answer to the callback.',
    async run(context) {
      const answer = await callbackOf(context)
      const control = headerOf(answer, 'cache-control') ?? ''
      expect(
        /no-store|private/i.test(control) || !/\b(public|max-age\s*=\s*[1-9]|s-maxage)/i.test(control),
        `Cache-Control is ${control}.`,
        answer,
      )
    },
  },
  {
    id: 'callback-nothing-foreign',
    title: 'The page that answers the callback loads nothing from other sites, and contains neither code nor state',
    rule: 'CL-27',
    why: 'A script from another site can read the code in the address. A request for an image sends the code in its Referer.',
    fix: 'Answer the callback with a page that has only a meta refresh and a link to the next page.',
    async run(context) {
      const answer = await callbackOf(context)
      const { searchParams } = new URL(answer.request.url)
      const body = bodyOf(answer)
      const foreign = foreignLoads(answer, context.settings.client)
      expect(foreign.length === 0, `The page loads ${foreign[0]}.`, answer)
      for (const name of ['code', 'state'])
        expect(!body.includes(searchParams.get(name)!), `The page contains the ${name}.`, answer)
    },
  },
  {
    id: 'login-no-secret',
    title: 'No page and no cookie of a login contains the client secret',
    rule: 'secret-on-backend',
    why: 'Visitors can read their pages and cookies. A visitor who finds the secret there can call the portal as this client.',
    fix: 'Keep the client secret on the server. No template, script or cookie needs the secret.',
    async run(context) {
      const secret = context.platform.clientSecret.reveal()
      const spellings = [secret, encodeURIComponent(secret)]
      const browser = context.browser()
      const { trail } = (await context.startLogin(browser)).page
      const landed = await context.signIn(browser)
      for (const exchange of [...trail, ...landed.trail]) {
        const { request } = exchange
        if (!isAtOrigin(request.url, context.settings.client)) continue
        const cookies = cookiesOf([exchange]).flatMap(({ cookie }) => wordsIn(cookie.value))
        const texts = [bodyOf(exchange), headerOf(exchange, 'location') ?? '', ...cookies]
        const isLeaked = texts.some(text => spellings.some(spelling => text.includes(spelling)))
        expect(!isLeaked, `The answer from ${new URL(request.url).pathname} contains the client secret.`, exchange)
      }
    },
  },
  ...states,
  {
    id: 'callback-resent',
    title:
      'When the browser sends the same callback four times at the same time, the client answers each request with a page',
    rule: 'CL-29',
    why: 'Browsers repeat a request when its connection breaks. If the repeated callback fails, the visitor sees an error although the login worked.',
    fix: 'Let all requests with the same state share one exchange. If the same callback comes again after the exchange, answer with a page that sends the visitor on to the page after the login.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      const pages = await deliverOften(context, browser, callback)
      for (const page of pages) {
        expect(page.status !== 0, `One of the four callbacks got no answer: ${page.error}.`, page)
        expect(
          page.status !== 500 && !showsInside(page),
          `One of the four callbacks was answered with ${describePage(page)}.`,
          page,
        )
      }
    },
  },
  {
    id: 'callback-resent-signed-in',
    title: 'When the browser sends the same callback four times at the same time, the visitor is signed in',
    rule: 'resent-callback-signs-in',
    why: 'Browsers repeat a request when its connection breaks, and show only the last answer. The visitor did nothing wrong.',
    fix: 'When the same callback arrives again, keep the session that the first request created.',
    needs: ['page'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await deliverOften(context, browser, callback)
      await expectSignedIn(context, browser, 'Nobody is signed in after the four callbacks.')
    },
  },
  {
    id: 'callback-resent-exchanges',
    title: 'When the browser sends the same callback twelve times at the same time, the client makes only one exchange',
    rule: 'resent-callback-one-exchange',
    why: 'A code is valid for one exchange. If a second exchange with this code comes more than ten seconds later, the portal revokes the tokens of the first exchange.',
    fix: 'Let all requests with the same state share one exchange. Several processes need a shared store for this.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      // All requests arrive before the first exchange ends. With fewer requests, one process of several may get them all.
      await context.order('exchange-late', { times: 12, options: { seconds: 0.5 } })
      await deliverOften(context, browser, callback, 12)
      const exchanges = await context.codeExchanges()
      if (exchanges.length === 0) throw new Undecided('The client made no exchange for the callback.')
      expect(exchanges.length === 1, `The client made ${exchanges.length} exchanges.`, ...exchanges.slice(0, 2))
    },
  },
  {
    id: 'callback-resent-late',
    title: 'If the browser sends the callback again after the login, the visitor stays signed in',
    rule: 'resent-callback-signs-in',
    why: 'A browser sends the callback again if it gets no answer. The second request has the cookies from before the login. If the answer to this request deletes or replaces the session cookies, the visitor is signed out.',
    fix: 'If the login of a callback has already ended, answer with a page. Do not set or delete a session cookie in this answer.',
    needs: ['page'],
    async run(context) {
      const { browser, callback, before } = await loginWithCopy(context)
      const late = await followCallback(context, before, callback, context.beforePortal)
      for (const line of setCookiesOf(late.trail[0]!)) browser.cookies.set(callback.href, line)
      expect(
        await context.isSignedIn(browser),
        'After the answer to the second request, the visitor is no longer signed in.',
        late,
      )
    },
  },
  ...callbackParameters,
  ...refused,
  ...hostileValues,
  {
    id: 'callback-post',
    title: 'If the method of a callback is not GET, the client does not exchange the code',
    rule: 'only-supported-methods',
    why: 'The redirect of the portal is always a GET request. A form that is sent to the callback comes from an attacker.',
    fix: 'Accept only GET at the callback path, and answer other methods with 405.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      const page = browser.show(
        `${context.platform.portalUrl}/`,
        `<form method="post" action="${callback.origin}${callback.pathname}">${[...callback.searchParams].map(([name, value]) => `<input name="${name}" value="${value}">`).join('')}<button>Go</button></form>`,
      )
      await browser.submit(page, page.forms[0]!)
      expect((await context.codeExchanges()).length === 0, 'The client exchanged the code in the form.')
      // Also tests a code in the address. The request comes from the same site, because browsers do not send Lax
      // cookies with a form from another site.
      for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
        const { browser, callback } = await beginLogin(context)
        const cookie = cookieHeader(context, browser, callback.href)
        await context.request(callback.href, {
          method,
          headers: {
            ...navigationHeaders,
            'sec-fetch-site': 'same-origin',
            origin: context.settings.client,
            'content-type': 'application/x-www-form-urlencoded',
            ...(cookie && { cookie }),
          },
          body: 'a=b',
        })
        expect(
          (await context.codeExchanges()).length === 0,
          `The client exchanged the code in the address of a ${method} request.`,
        )
      }
      await requireExchange(context)
    },
  },
  {
    id: 'callback-names-no-host',
    title: 'If a parameter of the callback contains the name of a host, the client sends no request to this host',
    rule: 'UP-01',
    why: 'Anyone can write the address of a callback. If iss or another parameter decides where the client sends the exchange, an attacker gets the client secret and the code.',
    fix: 'Take the address of the portal from the configuration. Compare iss with this address, and refuse a callback with another iss.',
    async run(context) {
      const { otherSite } = context.platform
      for (const name of ['iss', 'redirect_uri', 'issuer', 'token_endpoint', 'login_url', 'url']) {
        const mark = `/named-by-${name}-${crypto.randomUUID()}`
        const { browser, callback } = await beginLogin(context)
        callback.searchParams.set(name, otherSite.url(mark))
        const page = await followCallback(context, browser, callback, context.beforePortal)
        // The browser itself may have followed a redirect to this host. Another check reports such a redirect.
        const isOfBrowser = page.trail.some(({ request }) => request.url.includes(mark))
        const [call] = isOfBrowser ? [] : otherSite.arrived(mark)
        expect(!call, `The client sent a ${call?.method} request to the host in the parameter ${name}.`, page)
      }
      await requireExchange(context)
    },
  },
  {
    id: 'callback-head',
    title: 'The client makes no exchange for a HEAD request to the callback',
    rule: 'head-no-effect',
    why: 'Programs that check links send HEAD requests. If the client makes an exchange for such a request, it uses up the code, and the login of the visitor fails.',
    fix: 'Answer HEAD with 405.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      const cookie = cookieHeader(context, browser, callback.href)
      const answer = await context.request(callback.href, {
        method: 'HEAD',
        headers: { ...navigationHeaders, ...(cookie && { cookie }) },
      })
      expect((await context.codeExchanges()).length === 0, 'The client exchanged the code.')
      const page = await followCallback(context, browser, callback)
      if ((await context.codeExchanges()).length > 0) return
      await expectRawExchange(context)
      fail(
        `After the HEAD request, the same callback with GET was answered with ${describePage(page)}, and the client made no exchange.`,
        answer,
        page,
      )
    },
  },
  {
    id: 'callback-cross-site-frame',
    title: 'The client refuses a callback that another site loads in a frame',
    rule: 'CL-32',
    why: 'Another site could finish a login in a hidden frame, and the visitor would not notice.',
    fix: 'Refuse a callback whose Sec-Fetch-Dest header has a value other than document.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      const cookie = cookieHeader(context, browser, callback.href)
      await context.request(callback.href, {
        headers: {
          ...navigationHeaders,
          'sec-fetch-dest': 'iframe',
          'sec-fetch-site': 'cross-site',
          ...(cookie && { cookie }),
        },
      })
      expect((await context.codeExchanges()).length === 0, 'The client exchanged the code.')
      await expectRawExchange(context)
    },
  },
  {
    id: 'declined',
    title: 'A visitor who declines the login at the portal gets a page of the client, and is not signed in',
    rule: 'cancel-url-page',
    why: 'If a visitor declines the login, the portal sends the browser to cancel_url. If this page is missing, the visitor sees an error.',
    fix: 'Answer cancel_url with a page that says that nobody was signed in, and that offers to sign in.',
    async run(context) {
      const browser = context.browser()
      const start = await context.startLogin(browser)
      const addresses = [declinedCallback(context, start).href, requireCancelUrl(context, start).href]
      const statuses: number[] = []
      for (const address of addresses) {
        const page = await followCallback(context, browser, address, context.beforePortal)
        await expectNoNewLogin(context, browser, page, 'The client begins a new login for a visitor who has declined.')
        expect(
          page.status > 0 && page.status !== 404 && page.status < 500,
          `The request for cancel_url was answered with ${describePage(page)}.`,
          page,
        )
        statuses.push(page.status)
      }
      expectWithFix(
        'Show the page even if the address has no parameters, because some portals add no parameters to cancel_url.',
        statuses[0]! >= 400 || statuses[1]! < 400,
        `The request for cancel_url was answered with status ${statuses[0]} if it had error and state, but with status ${statuses[1]} if it had no parameters.`,
      )
      expect((await context.codeExchanges()).length === 0, 'The client exchanged a code.')
      // The login cookie may have expired while the visitor was at the portal.
      for (const address of addresses) {
        const page = await followCallback(context, context.browser(), address, context.beforePortal)
        expect(page.stoppedAt === undefined, 'The client begins a new login for a visitor who has declined.', page)
        expect(
          page.status > 0 && page.status !== 404 && page.status < 500,
          `In a browser without cookies, the request for cancel_url was answered with ${describePage(page)}.`,
          page,
        )
      }
      if (!context.settings.page) return
      // A signed-in visitor can begin another login, and decline it.
      const visitor = await context.signedIn()
      for (const address of addresses) {
        const page = await visitor.browser.newTab().visit(address, context.beforePortal)
        await expectNoNewLogin(
          context,
          visitor.browser,
          page,
          'The client begins a new login for a visitor who has declined.',
        )
        expect(
          page.status > 0 && page.status !== 404 && page.status < 500,
          `For a signed-in visitor, the request for cancel_url was answered with ${describePage(page)}.`,
          page,
        )
      }
    },
  },
  {
    id: 'session-new',
    title: 'A login creates a new session, whatever cookies the browser had before the login',
    rule: 'CL-20',
    why: 'Before the login, an attacker can give the browser a session id that the attacker knows. If the client keeps this id, the attacker can use the session of the visitor.',
    fix: 'Create a new session with a new id at every login. Never keep the id from a cookie of the request.',
    needs: ['page'],
    async run(context) {
      const attacker = await context.signedIn({ person: await context.otherPerson() })
      const person = await context.otherPerson()
      // Plants the attacker's own session cookies, and then values that the attacker chose. Some of these values have
      // the format that the client uses. Planted cookies have no SameSite, so the browser also sends them to the
      // callback. If the portal redirects without showing a page, browsers may also send Strict cookies.
      const names = ownCookies(context, attacker.browser)
      const chosen = (choose: (value: string) => string) => {
        const browser = attacker.browser.copy()
        for (const name of names) plant(context, browser, name, choose(browser.cookies.get(name)?.value ?? ''))
        return browser
      }
      const clean = context.browser()
      for (const planted of [clean, chosen(value => value), chosen(ofSameForm), chosen(() => 'c0ffee'.repeat(6))]) {
        // The victim's browser has the planted cookies, and later also the cookies that the client sets.
        const browser = planted.copy()
        // If the browser has the attacker's session, some clients show their pages at once and begin no login.
        const start = await context.startLogin(browser).catch(passNotApplicable)
        if (!start) continue
        // The copy includes the cookies of the login that has begun, because the attacker may have begun this login.
        const known = browser.copy()
        await followCallback(context, browser, await context.authorize(start, person))
        // A client may refuse the login because of the planted cookies. The attacker then gets no session.
        if (planted === clean && !(await context.isSignedIn(browser, { person })))
          throw new Undecided('A plain login does not work.')
        for (const thief of [planted, known])
          expect(
            !(await context.isSignedIn(thief, { person })),
            'A browser with only the cookies from before the login can use the new session.',
          )
      }
    },
  },
  {
    id: 'session-replaced',
    title: 'When another user signs in with the same browser, the new session replaces the old one',
    rule: 'CL-20',
    why: "If the first visitor's session continues, the second visitor works in the first visitor's account without noticing.",
    fix: 'At every login, replace the tokens and all other data about the visitor.',
    needs: ['page'],
    async run(context) {
      const { browser, person } = await context.signedIn()
      const other = await context.otherPerson()
      const start = await context.startLogin(browser)
      await followCallback(context, browser, await context.authorize(start, other))
      expect(await context.isSignedIn(browser, { person: other }), 'The second visitor is not signed in.')
      expect(!(await context.isSignedIn(browser, { person })), 'The first visitor is still signed in.')
    },
  },
  {
    id: 'callback-refused-keeps-session',
    title: 'When the client refuses a callback, the visitor stays signed in',
    rule: 'refused-callback',
    why: 'If a refused callback ends the session, any website can sign visitors out by sending them to a forged callback.',
    fix: 'Compare the state before everything else. Replace or delete the session cookies only after a successful exchange.',
    needs: ['page'],
    async run(context) {
      const { browser } = await context.signedIn()
      const { callback } = await beginLogin(context)
      const state = 'of-no-login-00000000000000000000000000000000'
      const forged = new URL(callback)
      forged.searchParams.set('state', state)
      for (const [what, address] of [
        ['an error', errorCallback(callback, { error: 'access_denied', state })],
        ['an error and no state', errorCallback(callback, { error: 'access_denied' })],
        ['a code', forged],
      ] as const) {
        // Stops before the portal, because the portal would sign the visitor in again without asking for a password.
        const page = await followCallback(context, browser, address, context.beforePortal)
        expect(await context.isSignedIn(browser), `A forged callback with ${what} signed the visitor out.`, page)
      }
    },
  },
  ...returnTo,
]

/**
 * Returns advice for a login after which nobody is signed in. The advice depends on the step at which the login
 * stopped.
 */
async function adviceForLogin(context: CheckContext, landed: Page): Promise<string> {
  const [exchange] = context.arrived('exchange').slice(-1)
  const callback = landed.trail.find(({ request }) => leadsTo(request.url, context.platform.redirectUri))
  if (!exchange && callback && !callback.request.headers.cookie) {
    const start = await context.visitUntilPortal(context.browser(), context.settings.login)
    const [set] = cookiesOf(start.trail)
    if (set)
      return `The browser sent no cookie with the callback, although the login path sets one: Set-Cookie: ${set.line.replace(/=[^;]*/, '=…')}. Set the login cookie with Path=/, Secure, HttpOnly, SameSite=Lax and Max-Age=600.`
  }
  if (!exchange)
    return 'The client made no exchange for the callback. Look at the callback address in the evidence, and compare it with the conditions that the client checks.'
  if (exchange.response.status >= 400)
    return exchange.reason
      ? guidanceOf(exchange.reason).fix
      : "The evidence shows why the portal refused the exchange. Correct the field that the portal's answer names."
  const [call] = context.arrived('api').slice(-1)
  if (call)
    return `The API answered ${call.response.status}: send Authorization: Bearer with the access token from the exchange.`
  const dropped = landed.trail.flatMap(one =>
    setCookiesOf(one)
      .filter(line => !readSetCookie(line).isDeletion)
      .flatMap(line => whyDropped(line, new URL(one.request.url)) ?? []),
  )
  if (dropped[0]) return `The exchange worked, but the client did not call the API. ${dropped[0]}`
  return 'The exchange worked, but the client did not call the API. Check whether the browser keeps the session cookie (see Set-Cookie in the evidence), and whether the page at --page calls the API.'
}

/**
 * Fails if the first page after the login shows the visitor as signed out. `callback` belongs to a login that this
 * browser has begun.
 */
async function expectLandsSignedIn(context: CheckContext, browser: Browser, callback?: URL): Promise<void> {
  const person = await context.person()
  const known = context.arrived('api', 'me').length
  const landed = callback ? await followCallback(context, browser, callback) : await context.signIn(browser)
  if (isCallback(context, landed)) endIfScripted(landed, context.settings)
  // `landed.error` can be a redirect loop: if the browser does not send the session cookie, the page redirects to the
  // portal, and the portal redirects back.
  expect(!landed.error, `The login ended with ${landed.error}.`, landed)
  await context.platform.settle()
  const isCalled = () =>
    context
      .arrived('api', 'me')
      .slice(known)
      .some(step => step.about.userId === person.id && step.listener === 'api')
  const isThere =
    isAtOrigin(landed.url, context.settings.client) &&
    new URL(landed.url).pathname === new URL(context.url(context.settings.page)).pathname
  expect(
    !isAtOrigin(landed.url, context.platform.portalUrl),
    'After the login, the browser is at the portal again.',
    landed,
  )
  if (!isCalled() && !isThere) await browser.visit(context.url(context.settings.page), { from: landed })
  await context.platform.settle()
  expect(isCalled(), `On the page after the login, ${landed.url}, the visitor is not signed in.`, landed)
}

function isCallback({ settings }: CheckContext, { url }: Page): boolean {
  return new URL(url).pathname === settings.callback
}

function deliverOften(context: CheckContext, browser: Browser, callback: URL, times = 4): Promise<Page[]> {
  return Promise.all(newTabs(browser, times).map(tab => followCallback(context, tab, callback)))
}

/** Returns the answer to the callback request, without the redirects that follow. */
async function callbackOf(context: CheckContext) {
  const { browser, callback } = await beginLogin(context)
  const page = await followCallback(context, browser, callback)
  return page.trail[0]!
}

/**
 * Sends an unchanged callback. If the client makes no exchange for this callback, the check is undecided: the client
 * may have refused the changed callback for a reason other than the change.
 */
async function expectRawExchange(context: CheckContext): Promise<void> {
  const { browser, callback } = await beginLogin(context)
  const cookie = cookieHeader(context, browser, callback.href)
  await context.request(callback.href, { headers: { ...navigationHeaders, ...(cookie && { cookie }) } })
  if ((await context.codeExchanges()).length === 0)
    throw new Undecided('The client makes no exchange even for a plain callback.')
}

/**
 * Returns another value of the same length. Each digit becomes another digit, and each letter from a to f becomes
 * another one of these letters.
 */
function ofSameForm(value: string): string {
  return value
    .replace(/[0-9]/g, digit => `${(Number(digit) + 3) % 10}`)
    .replace(/[a-f]/g, letter => String.fromCharCode(97 + ((letter.charCodeAt(0) - 97 + 1) % 6)))
    .replace(/[A-F]/g, letter => String.fromCharCode(65 + ((letter.charCodeAt(0) - 65 + 1) % 6)))
}
