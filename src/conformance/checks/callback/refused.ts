// Tests how the client answers callbacks after which nobody is signed in: the page, its links and headers, and the
// session.
import type { Browser } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, ReportedElsewhere, Undecided } from '../../check.ts'
import { type CheckContext, readStart, type Start } from '../../context.ts'
import { describePage, expect, headerOf } from '../../findings.ts'
import { leadsTo } from '../../steps/addresses.ts'
import {
  beginLogin,
  cookieHeader,
  errorCallback,
  expectNoNewLogin,
  followCallback,
  noNavigations,
  requireExchange,
  typedAddress,
} from '../../steps/callback.ts'
import { declinedCallback, findCancelUrl, requireCancelUrl } from '../../steps/declined-login.ts'
import { isNotFramed } from '../../steps/frames.ts'
import { foreignLoads, isBareFailure } from '../../steps/page-content.ts'
import { refusedCallbacks } from '../../steps/refused-callbacks.ts'

/** Error codes from RFC 6749, 4.1.2.1, and from OpenID Connect, and one unknown code. */
const errors = [
  'access_denied',
  'server_error',
  'temporarily_unavailable',
  'invalid_request',
  'invalid_scope',
  'unauthorized_client',
  'unsupported_response_type',
  'interaction_required',
  'login_required',
  'consent_required',
  'account_selection_required',
  'an-error-that-nobody-knows',
]

/** Faults of the exchange, after which no login can succeed. */
const failuresOfTheExchange: [fault: string, options?: Record<string, unknown>][] = [
  ['exchange-503'],
  ['exchange-400', { error: 'invalid_grant' }],
  ['exchange-state-other'],
  ['exchange-access-token-null'],
  ['exchange-html'],
]

export const refused: CheckDefinition[] = [
  {
    id: 'callback-error-page',
    title: 'When a callback contains an error, the client shows a page and does not begin a new login by itself',
    rule: 'CL-13',
    why: 'If the client begins a new login by itself, the portal may redirect back at once with the same error. The redirects then never end.',
    fix: 'Answer every error with a page that says that nobody was signed in. Put a link to a new login on this page.',
    async run(context) {
      for (const error of errors) {
        const { browser, start, callback } = await beginLogin(context)
        const query = { error, error_description: 'no', state: start.state ?? '' }
        const page = await followCallback(context, browser, errorCallback(callback, query), context.beforePortal)
        await expectNoNewLogin(
          context,
          browser,
          page,
          `After error=${error}, the client sends the browser to the portal.`,
        )
        expect(
          page.status > 0 && page.status !== 500,
          `The callback with error=${error} was answered with ${describePage(page)}.`,
          page,
        )
      }
      expect(
        (await context.codeExchanges()).length === 0,
        'The client made an exchange after a callback with an error.',
      )
    },
  },
  {
    id: 'callback-failures-no-loop',
    title:
      'If every login fails because of the portal, the client does not send the visitor to the login again and again',
    rule: 'CL-33',
    why: 'If a visitor is signed in at the portal, the portal sends the visitor back to the client at once. If the client begins a new login after a failure, the redirects never end.',
    fix: 'After a failed login, whatever the reason is, show a page with a link to a new login. Never redirect to the login automatically.',
    isAlone: true,
    async run(context) {
      for (const [fault, options] of failuresOfTheExchange) {
        const known = context.arrived('exchange').length
        await context.order(fault, { times: 50, state: undefined, ...(options && { options }) })
        const browser = context.browser()
        const page = await context.signIn(browser).catch(() => undefined)
        await context.dropFaults()
        const exchanges = (await context.codeExchanges()).length - known
        expect(
          exchanges <= 2,
          `With the fault ${fault}, one attempt to sign in led to ${exchanges} exchanges.`,
          ...(page ? [page] : []),
        )
        if (!page) continue
        const message = `With the fault ${fault}, the page for the failed login sends the browser to the portal again.`
        await expectNoNewLogin(context, browser, page, message)
      }
      await requireExchange(context)
    },
  },
  {
    id: 'callback-refused-answer',
    title: 'When nobody is signed in after a callback, the visitor gets a page of the client',
    rule: 'stays-up',
    why: 'The visitor must learn that the login has failed. The default error page of a server does not say this.',
    fix: 'Catch every failure in the code that handles the callback, and answer with a page that offers to sign in again.',
    async run(context) {
      for (const { what, page } of await refusedCallbacks(context)) {
        expect(page.status !== 0, `There was no answer to ${what}: ${page.error}.`, page)
        expect(!isBareFailure(page), `The answer to ${what} is the default error page of a server.`, page)
      }
    },
  },
  {
    id: 'callback-refused-closed',
    title:
      'The page for a failed login contains neither code nor state, loads nothing from other sites, and does not send its address to other sites',
    rule: 'CL-27',
    why: 'This page stays open, and its address contains the code. The code may still be valid, although this login failed.',
    fix: 'Show a page that contains no part of the query and loads nothing from other sites. Send Referrer-Policy: no-referrer.',
    async run(context) {
      const elsewhere = context.platform.otherSite.url(`/from-a-failed-login`)
      for (const { what, browser, sent, page } of await refusedCallbacks(context)) {
        if (!leadsTo(page.url, context.platform.redirectUri)) continue
        const [foreign] = foreignLoads(page, context.settings.client)
        expect(foreign === undefined, `The page for ${what} loads ${foreign}.`, page)
        for (const name of ['code', 'state']) {
          const value = sent.searchParams.get(name) ?? ''
          expect(value === '' || !page.body.includes(value), `The page for ${what} contains the ${name}.`, page)
        }
        const left = await browser.newTab().visit(elsewhere, { from: page })
        const referer = left.trail[0]?.request.headers.referer ?? ''
        expect(
          !/[?&](code|state)=/.test(referer),
          `A link on the page for ${what} sends the address of this page, with code or state, to another site.`,
          page,
          left,
        )
      }
    },
  },
  {
    id: 'callback-refused-no-store',
    title: 'When nobody is signed in after a callback, the answer says Cache-Control: no-store',
    rule: 'no-store',
    why: 'The address of this page contains a code and a state, and the answer deletes the login cookie. Clients often send the header only if the login succeeds.',
    fix: 'Send Cache-Control: no-store with every answer from the callback path, whatever its status.',
    async run(context) {
      for (const { what, page } of await refusedCallbacks(context)) {
        const answer = page.trail[0]!
        const control = headerOf(answer, 'cache-control')
        expect(
          /no-store/i.test(control ?? ''),
          `In the answer to ${what}, Cache-Control is ${control ?? 'missing'}.`,
          answer,
        )
      }
    },
  },
  {
    id: 'callback-not-framed',
    title: 'Other sites cannot show the callback page or the page at cancel_url in a frame',
    rule: 'PG-08',
    why: 'Another site can load the page in an invisible frame. Visitors then press buttons of this page without seeing them. Many clients forbid frames only for pages that signed-in visitors see.',
    fix: "Send Content-Security-Policy: frame-ancestors 'none' or X-Frame-Options: DENY with all pages. Set the header in one place in the code.",
    async run(context) {
      const { browser, start, callback } = await beginLogin(context)
      const answers = [(await followCallback(context, browser, callback)).trail[0]!]
      const cancelled = findCancelUrl(context, start)
      if (cancelled) answers.push((await followCallback(context, context.browser(), cancelled)).trail[0]!)
      for (const answer of answers) {
        const { response } = answer
        if (!('status' in response) || response.status !== 200) continue
        if (!/html/i.test(headerOf(answer, 'content-type') ?? '')) continue
        expect(
          isNotFramed(name => headerOf(answer, name), context.settings.client),
          `Another site can show ${new URL(answer.request.url).pathname} in a frame.`,
          answer,
        )
      }
    },
  },
  {
    id: 'callback-navigation-only',
    title: 'The client finishes a login only if the browser opens the callback as a whole page',
    rule: 'CL-32',
    why: 'Another site could load the callback as an image or a script. The login would then finish, and the visitor would not notice.',
    fix: 'Read Sec-Fetch-Dest, Sec-Fetch-Mode and Sec-Purpose. Refuse callbacks that a browser requests for a frame, an image, a script or a prefetch.',
    async run(context) {
      for (const [what, headers] of Object.entries(noNavigations)) {
        const { browser, callback } = await beginLogin(context)
        const cookie = cookiesFor(context, browser, callback)
        await context.request(callback.href, { headers: { ...typedAddress, ...headers, ...cookie } })
        expect((await context.codeExchanges()).length === 0, `${what} finished a login.`)
      }
      const { browser, callback } = await beginLogin(context)
      await context.request(callback.href, { headers: { ...typedAddress, ...cookiesFor(context, browser, callback) } })
      if ((await context.codeExchanges()).length === 0)
        throw new Undecided('The client makes no exchange for a plain callback either.')
      const prefetched = await beginLogin(context)
      const cookies = cookiesFor(context, prefetched.browser, prefetched.callback)
      const prefetch = { ...typedAddress, ...noNavigations['A prefetch'], ...cookies }
      const answer = await context.request(prefetched.callback.href, { headers: prefetch })
      const page = await followCallback(context, prefetched.browser, prefetched.callback)
      expect(
        (await context.codeExchanges()).length === 2,
        `After a prefetch of a callback, the callback itself was answered with ${describePage(page)}, and the client made no exchange.`,
        answer,
        page,
      )
    },
  },
  {
    id: 'callback-forged-keeps-session',
    title: 'No forged callback signs the visitor out, whichever parameter is wrong',
    rule: 'refused-callback',
    why: 'If a forged callback ends the session, any website can sign visitors out by sending them to such a callback. Many clients keep the session after some forged callbacks, but not after all of them.',
    fix: 'Change or delete the session only after a successful exchange.',
    needs: ['page'],
    async run(context) {
      const { browser } = await context.signedIn()
      const { callback } = await beginLogin(context)
      for (const [what, change] of forgeries) {
        const forged = new URL(callback)
        change(forged.searchParams)
        await followCallback(context, browser, forged, context.beforePortal)
        const typed = await browser.newTab().visit(forged.href, context.beforePortal)
        expect(await context.isSignedIn(browser), `A forged callback ${what} signed the visitor out.`, typed)
      }
    },
  },
  {
    id: 'declined-keeps-session',
    title: 'A visitor who opens cancel_url stays signed in',
    rule: 'PG-04',
    why: 'Any website can send visitors to this address. If a visitor declines a second login, the session of the first login is still valid.',
    fix: 'At cancel_url, delete only the login cookie that belongs to the state in the address. Never delete the session.',
    needs: ['page'],
    async run(context) {
      const { browser } = await context.signedIn()
      const address = requireCancelUrl(context, await context.startLogin(context.browser()))
      const withError = new URL(address)
      withError.searchParams.set('error', 'access_denied')
      withError.searchParams.set('state', 'of-no-login-00000000000000000000000000000000')
      for (const cancelled of [address.href, withError.href]) {
        const linked = await followCallback(context, browser, cancelled, context.beforePortal)
        if (linked.status === 404) throw new ReportedElsewhere('there is no page at cancel_url')
        const typed = await browser.newTab().visit(cancelled, context.beforePortal)
        expect(
          await context.isSignedIn(browser),
          'After a visit to cancel_url, the visitor is no longer signed in.',
          typed,
        )
      }
    },
  },
  {
    id: 'second-login-fails-keeps-session',
    title:
      'If a signed-in visitor begins another login, and this login fails before the exchange, the visitor stays signed in',
    rule: 'PG-04',
    why: 'The session of the first login is still valid. A visitor who declines the second login, or goes back to the first tab, does not want to be signed out.',
    fix: 'Replace the session only in the answer to a successful callback. In the answer to a failed callback and in the answer at cancel_url, delete only the cookie of the failed login.',
    needs: ['page'],
    async run(context) {
      for (const [what, fail] of failedSecondLogins) {
        const { browser } = await context.signedIn()
        const begun = await context.visitUntilPortal(browser.newTab(), context.settings.login)
        if (begun.stoppedAt === undefined)
          throw new NotApplicable('the client does not begin a login for a signed-in visitor')
        if (!(await context.isSignedIn(browser.copy())))
          throw new NotApplicable('the client ends the session when a new login begins')
        const start = readStart(begun)
        const known = context.arrived('exchange').length
        const address = fail(context, start, await context.authorize(start))
        // If the visitor is already signed in at the portal, the portal redirects at once, and the browser sends Strict
        // cookies with the callback.
        const page = await browser.newTab().visit(address.href, context.beforePortal)
        // If the client accepts this callback, another check reports the mistake.
        if ((await context.codeExchanges()).length > known) continue
        expect(await context.isSignedIn(browser), `After ${what}, the visitor is no longer signed in.`, page)
      }
    },
  },
  {
    id: 'state-signed-in-browser',
    title: "The client refuses an attacker's callback in the browser of a signed-in visitor",
    rule: 'CL-21',
    why: "If the client skips the state check for signed-in visitors, an attacker can sign these visitors in to the attacker's account.",
    fix: 'Compare the state of every callback with the logins that this browser has begun, even if the visitor is signed in.',
    needs: ['page'],
    async run(context) {
      const { browser, person } = await context.signedIn()
      const attacker = await context.otherPerson()
      const begun = await context.startLogin(context.browser())
      const callback = await context.authorize(begun, attacker)
      const before = (await context.codeExchanges()).length
      const typed = await browser.newTab().visit(callback.href, context.beforePortal)
      const page = await followCallback(context, browser, callback, context.beforePortal)
      expect(
        (await context.codeExchanges()).length === before,
        "The client exchanged the attacker's code.",
        typed,
        page,
      )
      expect(
        !(await context.isSignedIn(browser, { person: attacker })),
        'The visitor is now signed in as the attacker.',
        page,
      )
      expect(await context.isSignedIn(browser, { person }), 'The visitor is no longer signed in.', page)
    },
  },
  {
    id: 'exchange-failure-keeps-session',
    title: 'When the exchange of a second login fails, the visitor stays signed in',
    rule: 'UP-06',
    why: 'If a failure of the portal ends a valid session, the visitor must sign in again for no reason. Clients often delete the old session before the exchange.',
    fix: 'Replace the session only after you have checked the token response.',
    needs: ['page'],
    async run(context) {
      for (const [fault, what, options] of [
        ['exchange-400', 'is answered with status 400', {}],
        // The portal gives this answer to the second exchange of a code, for example after a broken connection.
        ['exchange-400', 'is answered with the error invalid_grant', { error: 'invalid_grant' }],
        ['exchange-503', 'is answered with status 503', {}],
        ['exchange-reset', 'ends with a connection reset', {}],
        ['exchange-state-other', 'returns another state', {}],
        ['exchange-access-token-null', 'returns no access token', {}],
      ] as const) {
        const { browser } = await context.signedIn()
        const start = await context.visitUntilPortal(browser, context.settings.login)
        if (start.stoppedAt === undefined)
          throw new NotApplicable('the client does not begin a login for a signed-in visitor')
        if (!(await context.isSignedIn(browser.copy())))
          throw new NotApplicable('the client ends the session when a new login begins')
        const callback = await context.authorize(readStart(start))
        await context.order(fault, { times: 3, options })
        const page = await browser.newTab().visit(callback.href, context.beforePortal)
        const isMet = (await context.codeExchanges()).some(step => step.fault?.name === fault)
        await context.dropFaults()
        if (!isMet) throw new Undecided('The client made no exchange for the callback.')
        expect(
          await context.isSignedIn(browser),
          `After an exchange that ${what}, the visitor is no longer signed in.`,
          page,
        )
      }
    },
  },
]

/** Returns the address to which the portal sends the browser after a login that fails before an exchange. */
type FailedLogin = (context: CheckContext, start: Start, callback: URL) => URL

const failedSecondLogins: [what: string, fail: FailedLogin][] = [
  ['a second login that the visitor declined', declinedCallback],
  [
    'a second login whose callback has an error',
    (_context, { state }, callback) => errorCallback(callback, { error: 'server_error', state: state ?? '' }),
  ],
  [
    'a second login whose callback is for another client',
    callbackWith(query => query.set('client_id', '00000000-0000-4000-8000-000000000000')),
  ],
  [
    'a second login whose callback comes from another issuer',
    callbackWith(query => query.set('iss', 'https://evil.example')),
  ],
  ['a second login whose callback has no code', callbackWith(query => query.delete('code'))],
  ['a second login whose callback has two codes', callbackWith(query => query.append('code', 'A'.repeat(30)))],
  ['a second login whose callback has no subject', callbackWith(query => query.delete('subject'))],
]

/** Returns a failed login whose callback has other parameters. */
function callbackWith(change: (query: URLSearchParams) => void): FailedLogin {
  return (_context, _start, callback) => {
    change(callback.searchParams)
    return callback
  }
}

const forgeries: [what: string, change: (query: URLSearchParams) => void][] = [
  [
    'without any parameter',
    query => {
      for (const name of [...query.keys()]) query.delete(name)
    },
  ],
  ['without a state', query => query.delete('state')],
  ['with an empty state', query => query.set('state', '')],
  ['without a code', query => query.delete('code')],
  ['for another client', query => query.set('client_id', '00000000-0000-4000-8000-000000000000')],
  ['with a repeated state', query => query.append('state', 'of-no-login')],
  ['with a repeated code', query => query.append('code', 'another')],
  ['from another issuer', query => query.set('iss', 'https://evil.example')],
  ['with an unknown state', query => query.set('state', 'of-no-login-00000000000000000000000000000000')],
  [
    'with an error',
    query => {
      query.delete('code')
      query.set('error', 'access_denied')
      query.set('state', 'of-no-login')
    },
  ],
  [
    'with the error login_required',
    query => {
      query.delete('code')
      query.set('error', 'login_required')
    },
  ],
]

function cookiesFor(context: CheckContext, browser: Browser, { href }: URL): { cookie?: string } {
  const cookie = cookieHeader(context, browser, href)
  return cookie ? { cookie } : {}
}
