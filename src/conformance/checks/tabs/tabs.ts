// Checks with several tabs, several visitors at once, and several instances of a client.
import { randomUUID } from 'node:crypto'
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import { type Browser, noRedirects } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, ReportedElsewhere } from '../../check.ts'
import { type CheckContext, type Start, startIn } from '../../context.ts'
import { describePage, expect, expectServed, expectSignedIn, fail, setCookiesOf, statusOf } from '../../findings.ts'
import type { Person } from '../../platform.ts'
import { isAcceptedCall, isRenewal } from '../../platform-calls.ts'
import { withQuery } from '../../steps/addresses.ts'
import { openPagesAbout, openWithApplication, ownForm, sendForm } from '../../steps/application-pages.ts'
import { makeApplication } from '../../steps/applications.ts'
import { beginLogin, errorCallback, followCallback, requireSignedIn } from '../../steps/callback.ts'
import { created, formAtReplica, openCreateForm, secretOf, submitCreate } from '../../steps/create-form.ts'
import { declinedCallback, findCancelUrl, requireCancelUrl } from '../../steps/declined-login.ts'
import { endIfScripted } from '../../steps/page-content.ts'
import { forgetRenewal, grantedIn } from '../../steps/renewals.ts'
import {
  endToken,
  expiredSession,
  renewalIn,
  requireFaultyExchange,
  shortLifeOrder,
  visitPage,
} from '../../steps/sessions.ts'
import { signOut } from '../../steps/sign-out.ts'
import { formsAtOnce } from './forms-at-once.ts'
import { restarts } from './restarts.ts'

/** Begins two logins in one browser, and returns the callbacks of both logins. */
async function beginTwo(context: CheckContext) {
  const { browser, callback: first } = await beginLogin(context)
  const second = await context.authorize(await context.startLogin(browser.newTab()))
  return { browser, first, second }
}

/** More unfinished logins than a client keeps for one browser. */
const manyLogins = 30

/**
 * Begins many logins in one browser, and then two more. Each of these two begins more than a second after the login
 * before it, because some clients store the start of a login in whole seconds. Returns undefined if the page behind the
 * login begins no login.
 */
async function beginMany(
  context: CheckContext,
  path: string,
): Promise<{ browser: Browser; beforeLast: Start; last: Start } | undefined> {
  const browser = context.browser()
  const begin = async () => {
    if (path === context.settings.login) return context.startLogin(browser.newTab())
    return startIn(await context.visitUntilPortal(browser.newTab(), path))
  }
  for (let count = 0; count < manyLogins; count++) if (!(await begin())) return undefined
  await context.pause(1100)
  const beforeLast = await begin()
  await context.pause(1100)
  const last = await begin()
  return beforeLast && last && { browser, beforeLast, last }
}

/** What happens in another tab during a login: another login fails, or a forged callback arrives. */
const failedTabs: [
  what: string,
  fail: (context: CheckContext, tab: Browser, start: Start, callback: URL) => Promise<unknown>,
][] = [
  [
    'a login that the visitor declined',
    (context, tab, start) => followCallback(context, tab, declinedCallback(context, start)),
  ],
  [
    'a callback with an error',
    (context, tab, { state = '' }, callback) =>
      followCallback(context, tab, errorCallback(callback, { error: 'access_denied', state })),
  ],
  [
    'a callback for another client',
    (context, tab, _start, callback) =>
      followCallback(context, tab, withParameter(callback, 'client_id', randomUUID())),
  ],
  [
    'a callback with an unknown state',
    (context, tab, _start, callback) => followCallback(context, tab, withParameter(callback, 'state', randomUUID())),
  ],
  [
    'a callback with an error and no state',
    (context, tab, _start, callback) =>
      followCallback(context, tab, errorCallback(callback, { error: 'server_error' })),
  ],
  [
    'an exchange that the portal answered with status 503',
    async (context, tab, { state }, callback) => {
      const drop = await context.order('exchange-503', { state })
      await followCallback(context, tab, callback)
      await drop()
    },
  ],
]

function withParameter(callback: URL, name: string, value: string): URL {
  const url = new URL(callback)
  url.searchParams.set(name, value)
  return url
}

/** Signs a visitor in, and begins the login of a second visitor in the same browser, up to the callback. */
async function beginSecondLogin(context: CheckContext) {
  const { browser, person } = await context.signedIn()
  const other = await context.otherPerson()
  const callback = await context.authorize(await context.startLogin(browser), other)
  return { browser, person, other, callback }
}

export const tabs: CheckDefinition[] = [
  {
    id: 'tabs-parallel-logins',
    title: 'If a visitor begins logins in two tabs, both logins work, in whichever order the visitor finishes them',
    rule: 'CL-06',
    why: 'If a visitor opens two pages after the session has ended, two logins begin.',
    fix: 'Keep the data of each login separately, for example in a cookie whose name contains a part of the state.',
    needs: ['page'],
    async run(context) {
      for (const order of ['first', 'second'] as const) {
        const { browser, first, second } = await beginTwo(context)
        const before = (await context.codeExchanges()).length
        const early = await followCallback(context, browser, order === 'first' ? first : second)
        expect(
          (await context.codeExchanges()).length === before + 1,
          `After two logins began in one browser, the ${order} login ended with ${describePage(early)}, and the client made no exchange.`,
          early,
        )
        const late = await followCallback(context, browser, order === 'first' ? second : first)
        expect(
          (await context.codeExchanges()).length === before + 2,
          `After the ${order} login, the other login ended with ${describePage(late)}, and the client made no exchange.`,
          late,
        )
        expect(await context.isSignedIn(browser), 'Nobody is signed in after both logins.')
        const refused = (await context.codeExchanges()).find(({ response }) => response.status >= 400)
        expect(
          refused === undefined,
          `Two logins began in one browser, and the ${order} login was finished first. The portal refused the exchange of one login.`,
          ...(refused ? [refused] : []),
        )
      }
      const { browser, callback } = await beginLogin(context)
      for (let tab = 0; tab < 2; tab++) await context.startLogin(browser.newTab())
      const before = (await context.codeExchanges()).length
      const page = await followCallback(context, browser, callback)
      expect(
        (await context.codeExchanges()).length === before + 1,
        `After three logins began in one browser, the first login ended with ${describePage(page)}, and the client made no exchange.`,
        page,
      )
      // If the session has ended, a visit to the page behind the login also begins a login. Many clients have separate
      // code for such logins.
      const visitor = context.browser()
      const first = await context.visitUntilPortal(visitor, context.settings.page)
      const second = await context.visitUntilPortal(visitor.newTab(), context.settings.page)
      for (const begun of [first, second]) {
        const start = startIn(begun)
        if (!start) return
        const known = (await context.codeExchanges()).length
        const end = await followCallback(context, visitor, await context.authorize(start))
        expect(
          (await context.codeExchanges()).length === known + 1,
          `Two logins began in one browser at the page behind the login. One of them ended with ${describePage(end)}, and the client made no exchange.`,
          end,
        )
      }
    },
  },
  {
    id: 'tabs-one-declined',
    title: 'If a visitor declines a login in one tab, the visitor can still finish a login in another tab',
    rule: 'CL-06',
    why: 'Each tab has a separate login. A visitor who declines one login has not declined the other login.',
    fix: 'When a visitor declines, delete only the data of the declined login.',
    needs: ['page'],
    async run(context) {
      const browser = context.browser()
      const declined = await context.startLogin(browser)
      const callback = await context.authorize(await context.startLogin(browser.newTab()))
      await followCallback(context, browser, requireCancelUrl(context, declined))
      const page = await followCallback(context, browser, callback)
      expect(await context.isSignedIn(browser), `The other login ended with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'tabs-one-failed',
    title: 'If a login fails in one tab, for whatever reason, the visitor can still finish a login in another tab',
    rule: 'CL-06',
    why: 'Each tab has a separate login. While a login is pending, any website can also send the visitor to a forged callback.',
    fix: 'Delete only the data of the login whose state is in the callback. If the state is unknown, delete nothing.',
    needs: ['page'],
    async run(context) {
      for (const [what, fail] of failedTabs) {
        const { browser, start, callback } = await beginLogin(context)
        const other = await context.authorize(await context.startLogin(browser.newTab()))
        await fail(context, browser.newTab(), start, callback)
        const page = await followCallback(context, browser, other)
        expect(
          await context.isSignedIn(browser),
          `After ${what}, the other login ended with ${describePage(page)}.`,
          page,
        )
      }
    },
  },
  {
    id: 'tabs-five-logins',
    title: 'If a visitor has begun five logins, the visitor can still finish the first login',
    rule: 'many-tabs',
    why: 'A browser that restores its windows opens all tabs at once, and each tab begins a login.',
    fix: 'Keep at least the five latest logins.',
    needs: ['page'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      for (let tab = 0; tab < 4; tab++) await context.startLogin(browser.newTab())
      const page = await followCallback(context, browser, callback)
      expect(await context.isSignedIn(browser), `The first login ended with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'tabs-newest-logins',
    title: 'After a visitor has opened many tabs, the visitor can still finish the last login and the login before it',
    rule: 'CL-06',
    why: 'A client may keep only a few unfinished logins of a browser. If it forgets the newest login instead of the oldest, the login that the visitor has just begun fails at the callback.',
    fix: 'If a browser has too many unfinished logins, delete the login that began first. Compare exact times or a counter, because several logins can begin within one second.',
    needs: ['page'],
    longestMs: 120_000,
    async run(context) {
      const { login, page } = context.settings
      for (const path of [login, page])
        for (const which of ['last', 'second to last'] as const) {
          const begun = await beginMany(context, path)
          if (!begun) break
          const callback = await context.authorize(which === 'last' ? begun.last : begun.beforeLast)
          const end = await followCallback(context, begun.browser, callback)
          await expectSignedIn(
            context,
            begun.browser,
            `In one browser, ${manyLogins + 2} logins began at ${path}. The ${which} login ended with ${describePage(end)}, and nobody is signed in.`,
            end,
          )
        }
    },
  },
  {
    id: 'tabs-login-left',
    title: 'If a visitor did not finish a login, the next login works',
    rule: 'CL-06',
    why: 'People close the tab or press the Back button, and begin again. They should not need to delete cookies before they can sign in.',
    fix: 'Begin each login with new values, independent of the cookies of older logins.',
    needs: ['page'],
    async run(context) {
      const browser = context.browser()
      await context.startLogin(browser)
      const page = await followCallback(context, browser, await context.authorize(await context.startLogin(browser)))
      expect(await context.isSignedIn(browser), `The second login ended with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'tabs-login-while-signed-in',
    title: 'A visitor who is signed in can sign in again',
    rule: 'CL-20',
    why: 'Visitors open the login path from a bookmark or from another tab. A visitor who is already signed in does not expect an error.',
    fix: 'Begin a login even if the visitor has a session, and replace the session after the callback.',
    needs: ['page'],
    async run(context) {
      const { browser } = await context.signedIn()
      const start = await context.visitUntilPortal(browser, context.settings.login)
      expect(start.status > 0 && start.status < 400, `The login path answered with ${describePage(start)}.`, start)
      if (start.stoppedAt) {
        const callback = await context.authorize({ url: new URL(start.stoppedAt), state: undefined, page: start })
        const page = await followCallback(context, browser, callback)
        expect(page.status > 0 && page.status < 400, `The login ended with ${describePage(page)}.`, page)
      }
      expect(await context.isSignedIn(browser), 'Nobody is signed in after these requests.')
      // Signs in once more. Now the visitor is signed in at the portal, which redirects at once. The browser then sends
      // SameSite=Strict cookies with the callback, because the client's own page began the navigation.
      const page = await browser.visit(context.url(context.settings.login))
      expect(
        page.status > 0 && page.status < 400,
        `The login of a visitor with a portal session ended with ${describePage(page)}.`,
        page,
      )
      expect(await context.isSignedIn(browser), 'Nobody is signed in after these requests.')
    },
  },
  {
    id: 'tabs-other-visitor',
    title: 'If a second visitor signs in with the same browser, the client ends the session of the first visitor',
    rule: 'CL-20',
    why: "If the second visitor is already signed in at the portal, the portal redirects at once. The browser then sends the first visitor's session cookies with the callback.",
    fix: 'If a callback contains the cookies of a session, replace this session with the new session.',
    needs: ['page'],
    async run(context) {
      const { browser, person } = await context.signedIn()
      const other = await context.otherPerson()
      const { portalUrl } = context.platform
      browser.cookies.delete(undefined, portalUrl)
      browser.cookies.set(portalUrl, `${other.portalCookie}; Path=/; Secure; HttpOnly; SameSite=Lax`)
      const page = await browser.visit(context.url(context.settings.login))
      const isAtPortal = page.trail.some(({ request }) => context.isPortal(new URL(request.url)))
      if (!isAtPortal && (await context.isSignedIn(browser, { person })))
        throw new NotApplicable('the client does not begin a login for a visitor who is signed in')
      expect(
        await context.isSignedIn(browser, { person: other }),
        `The login of the second visitor ended with ${describePage(page)}, and this visitor is not signed in.`,
        page,
      )
      expect(!(await context.isSignedIn(browser, { person })), 'The first visitor is still signed in.', page)
    },
  },
  {
    id: 'tabs-other-visitor-without-refresh-token',
    title:
      'If a second visitor signs in and gets no refresh token, the first visitor is not signed in again when the second session ends',
    rule: 'CL-20',
    why: 'If the client keeps the refresh token of the first visitor, the next renewal signs the second visitor in as the first visitor.',
    fix: 'At each login, replace or delete every cookie of the previous session, even if the token response has no refresh token. Delete each cookie even if the request did not contain it: browsers do not send SameSite=Strict cookies with a callback.',
    needs: ['page'],
    async run(context) {
      const { browser, person, other, callback } = await beginSecondLogin(context)
      // With this fault, the token response has no refresh token.
      await context.order('exchange-short-session', { options: { seconds: 2 } })
      await followCallback(context, browser, callback)
      if (!(await context.isSignedIn(browser, { person: other })))
        throw new ReportedElsewhere('without a refresh token, the client does not sign anyone in')
      await endToken(context, other)
      const page = await context.visitUntilPortal(browser, context.settings.page)
      expect(
        !(await context.isSignedIn(browser, { person })),
        'After the access token of the second visitor has expired, the first visitor is signed in again.',
        page,
      )
    },
  },
  {
    id: 'tabs-other-visitor-expired',
    title:
      'If a second visitor signs in with the same browser, the renewal of the session does not sign in the first visitor',
    rule: 'CL-20',
    why: 'Browsers do not send SameSite=Strict cookies with a callback, so the client cannot see the cookies of the first visitor in this request. If these cookies have names of their own, they stay in the browser, and the next renewal can use the refresh token of the first visitor.',
    fix: 'Store in the session which refresh token belongs to it, or use the newest refresh cookie. At the first page after a login, delete all refresh cookies that do not belong to the session.',
    needs: ['page'],
    async run(context) {
      const { browser, person, other, callback } = await beginSecondLogin(context)
      await context.order('exchange-expires-in', shortLifeOrder)
      const { steps: first } = await context.during(() => followCallback(context, browser, callback))
      const isOther = first.some(step => isAcceptedCall(step) && step.about.userId === other.id)
      await endToken(context, other)
      const { page, steps } = await visitPage(context, browser)
      const isPerson = steps.some(step => isAcceptedCall(step) && step.about.userId === person.id)
      const said = 'After the access token of the second visitor has expired, the first visitor is signed in again.'
      // A client that uses the valid session of the first visitor makes no renewal.
      expect(!(isOther && isPerson), said, page, ...steps)
      const renewal = renewalIn(context, { page, steps })
      expect(!isPerson && !(await context.isSignedIn(browser, { person })), said, page, renewal)
    },
  },
  {
    id: 'tabs-other-visitor-first-page-late',
    title:
      'If a second visitor signs in with the same browser and opens the first page only after the access token has expired, the client does not sign in the first visitor',
    rule: 'CL-20',
    why: 'If the visitor closes the tab before the first page opens, the client cannot delete the old cookies. The browser then sends the refresh tokens of both visitors.',
    fix: 'If the browser sends several refresh cookies, use the newest one, and delete all others.',
    needs: ['page'],
    async run(context) {
      const { browser, person, other, callback } = await beginSecondLogin(context)
      await context.order('exchange-expires-in', shortLifeOrder)
      // Closes the tab before the callback page opens the next page.
      await followCallback(context, browser, callback, noRedirects)
      await requireFaultyExchange(context)
      await endToken(context, other)
      const visit = await visitPage(context, browser.newTab())
      const renewal = renewalIn(context, visit)
      const call = visit.steps.find(step => isAcceptedCall(step) && step.about.userId === person.id)
      expect(
        !call,
        'After the access token of the second visitor has expired, the first visitor is signed in again.',
        visit.page,
        renewal,
        ...(call ? [call] : []),
      )
    },
  },
  {
    id: 'tabs-callback-again',
    title: 'If a browser sends a used callback again, the client answers with a page, and the visitor stays signed in',
    rule: 'CL-29',
    why: 'A browser repeats a callback if the connection breaks, and people open callbacks from the browser history.',
    fix: 'Redirect the visitor to the page behind the login, or show a page that says that this login has ended.',
    needs: ['page'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await followCallback(context, browser, callback)
      await requireSignedIn(context, browser)
      for (let time = 0; time < 2; time++) {
        const page = await followCallback(context, browser, callback)
        expectServed(page, `The client answered the repeated callback with ${describePage(page)}.`)
      }
      expect(await context.isSignedIn(browser), 'Nobody is signed in after these requests.')
    },
  },
  {
    id: 'tabs-callback-typed-again',
    title: 'If a signed-in visitor opens a used callback from the browser history, the visitor stays signed in',
    rule: 'CL-29',
    why: 'If a visitor types an address or opens it from the history, the browser sends Strict cookies with the request. If the client then deletes the session, the visitor is signed out for no reason.',
    fix: 'If a callback arrives again, do not delete the session cookies, and do not end the session on the server.',
    needs: ['page'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await followCallback(context, browser, callback)
      await requireSignedIn(context, browser)
      const other = withParameter(callback, 'code', 'A'.repeat(30))
      for (const [what, address] of [
        ['the used callback', `${callback}`],
        ['the used callback again', `${callback}`],
        ['the used callback with another code', `${other}`],
      ] as const) {
        // Stops before the portal, because the portal would sign the visitor in again without asking for a password.
        const page = await browser.newTab().visit(address, context.beforePortal)
        expectServed(page, `The client answered ${what} with ${describePage(page)}.`)
        expect(await context.isSignedIn(browser), `After ${what}, the visitor is no longer signed in.`, page)
      }
    },
  },
  {
    id: 'tabs-reload-after-login',
    title:
      'If a visitor reloads the page after the login, the visitor stays signed in, and the client does not make a second exchange',
    rule: 'CL-28',
    why: 'A browser reloads a page in the same way as it opened the page. If the page came after a redirect from the portal, the browser does not send Strict cookies with the reload.',
    fix: 'Answer the callback with a page that has a meta refresh, or use a Lax cookie. The browser history must not contain the callback.',
    needs: ['page'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      const landed = await followCallback(context, browser, callback)
      if (new URL(landed.url).pathname === callback.pathname) endIfScripted(landed, context.settings)
      const before = (await context.codeExchanges()).length
      const page = await browser.reload(context.beforePortal)
      expect((await context.codeExchanges()).length === before, 'The client exchanged the code again.', page)
      expect(
        page.stoppedAt === undefined && page.status === landed.status,
        `The reload ended with ${page.stoppedAt ? 'a redirect to the portal' : describePage(page)}.`,
        page,
      )
    },
  },
  {
    id: 'tabs-back-after-login',
    title:
      'If a visitor presses the Back button after the login, the visitor stays signed in, and the client does not make a second exchange',
    rule: 'CL-28',
    why: 'The Back button can open the callback again, although the client has already used its code.',
    fix: 'Answer the callback with a redirect or a meta refresh, so that the address of the callback does not stay in the browser history. If a signed-in visitor requests the callback again, redirect to the page behind the login.',
    needs: ['page'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await followCallback(context, browser, callback)
      await requireSignedIn(context, browser)
      await browser.visit(context.url('/'))
      const before = (await context.codeExchanges()).length
      const page = await browser.back(context.beforePortal)
      expectServed(page, `The client answered the Back button with ${describePage(page)}.`)
      expect(
        (await context.codeExchanges()).length === before,
        'After the Back button, the client exchanged a code again.',
        page,
      )
      expect(await context.isSignedIn(browser), 'After the Back button, nobody is signed in.')
    },
  },
  {
    id: 'tabs-signed-out-meanwhile',
    title: 'If a visitor has signed out in another tab, a form that is still open does not create an application',
    rule: 'CK-13',
    why: "The open form belongs to the visitor who has signed out. The next person who uses the browser could send the form on this visitor's behalf.",
    fix: 'Check the session before you read the form.',
    needs: ['create', 'logout'],
    async run(context) {
      const open = await openCreateForm(context)
      await signOut(context, open.browser.newTab())
      const page = await open.browser.submit(open.page, open.form, open.values)
      expectServed(page, `The client answered the form with ${describePage(page)}.`)
      expect((await created(context, open.person)).length === 0, 'The application was created.')
      await submitCreate(context, await openCreateForm(context))
    },
  },
  {
    id: 'tabs-two-visitors',
    title: 'Two visitors who use the client at the same time see only their own data',
    rule: 'visitors-apart',
    why: 'If a client keeps the session in a shared variable, it mixes up the data of two visitors.',
    fix: 'Keep the session in the request object, never in a global variable.',
    needs: ['page'],
    async run(context) {
      const first = await context.signedIn()
      const other = await context.otherPerson()
      const browser = context.browser()
      await followCallback(context, browser, await context.authorize(await context.startLogin(browser), other))
      const before = new Set(context.arrived())
      await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          context.visitUntilPortal((index % 2 ? browser : first.browser).newTab(), context.settings.page),
        ),
      )
      await context.platform.settle()
      expect(
        await context.isSignedIn(browser, { person: other }),
        'The second visitor is not signed in with their own account.',
      )
      expect(
        await context.isSignedIn(first.browser, { person: first.person }),
        'The first visitor is not signed in with their own account.',
      )
      const calls = context.arrived('api', 'me').filter(step => !before.has(step))
      expect(
        calls.every(({ response }) => response.status < 500),
        'A call failed.',
        ...calls.slice(0, 2),
      )
    },
  },
  {
    id: 'tabs-two-browsers',
    title:
      'If two visitors sign in at the same time, each visitor is signed in with their own account and lands on their own page',
    rule: 'visitors-apart',
    why: 'If a client keeps the data of a login in a shared variable, it mixes up two visitors when their logins overlap.',
    fix: 'Keep the data of each login together with its state, in a cookie in this browser, or in a store that uses the state as the key.',
    needs: ['page'],
    async run(context) {
      const people = [await context.person(), await context.otherPerson(), await context.otherPerson()]
      const { login, page, returnTo } = context.settings
      const begun: { browser: Browser; person: Person; callback: URL; there: string }[] = []
      for (const [at, person] of people.entries()) {
        const browser = context.browser()
        const there = withQuery(page, `conformance=${at}`)
        const path = returnTo ? withQuery(login, { [returnTo]: there }) : login
        const callback = await context.authorize(await context.startLogin(browser, path), person)
        begun.push({ browser, person, callback, there })
      }
      // The login that began first ends last, because a shared variable contains the data of the login that began last.
      for (const { browser, person, callback, there } of [begun[1]!, begun[2]!, begun[0]!]) {
        const landed = await followCallback(context, browser, callback)
        if (!(await context.isSignedIn(browser, { person }))) {
          await context.signedIn()
          fail(
            `Three visitors signed in at the same time. One of them is not signed in, and the login ended with ${describePage(landed)}.`,
            landed,
          )
        }
        const other = begun.find(one => one.there !== there && landed.url === context.url(one.there))
        expect(!other, 'A visitor landed on the page from which another visitor began a login.', landed)
      }
      for (const { browser, person } of begun)
        for (const other of people)
          expect(
            (await context.isSignedIn(browser, { person: other })) === (other === person),
            other === person
              ? 'After the logins of other visitors, a visitor is no longer signed in.'
              : 'A visitor is signed in with the account of another visitor.',
          )
    },
  },
  {
    id: 'tabs-logins-at-once',
    title:
      'If the exchanges of several visitors run at the same time, each visitor is signed in with their own account',
    rule: 'visitors-apart',
    why: 'If a client keeps the tokens or the visitor of an exchange in a shared variable, one visitor gets the session of another visitor as soon as two exchanges overlap.',
    fix: 'Keep everything about a request in local variables or in the request object, never in a global variable or in an object that several requests use.',
    needs: ['page'],
    async run(context) {
      const people = [await context.person(), await context.otherPerson(), await context.otherPerson()]
      // In the first round, the exchange that begins last ends first. In the second round, all end at the same time.
      for (const delays of [
        [0.6, 0.4, 0.2],
        [0.3, 0.3, 0.3],
      ]) {
        const begun: { browser: Browser; person: Person; callback: URL }[] = []
        for (const [at, person] of people.entries()) {
          const browser = context.browser()
          const start = await context.startLogin(browser)
          begun.push({ browser, person, callback: await context.authorize(start, person) })
          if (start.state === undefined) continue
          await context.order('exchange-late', { state: start.state, options: { seconds: delays[at] } })
          await context.order('me-late', { state: start.state, options: { seconds: 0.2 } })
        }
        await Promise.all(begun.map(({ browser, callback }) => followCallback(context, browser, callback)))
        await context.dropFaults()
        for (const { browser, person } of begun) {
          for (const other of people.filter(one => one !== person))
            expect(
              !(await context.isSignedIn(browser, { person: other })),
              'A visitor is signed in with the account of another visitor.',
            )
          if (!(await context.isSignedIn(browser, { person }))) {
            await context.signedIn()
            fail('After three exchanges at the same time, a visitor is not signed in.')
          }
          const { page } = await visitPage(context, browser)
          const shown = people.find(one => one !== person && hasWord(page.body, one.firstName))
          expect(
            shown === undefined,
            `The page of one visitor shows the name of another visitor, ${shown?.firstName}.`,
            page,
          )
        }
      }
    },
  },
  {
    id: 'tabs-other-visitors-pages',
    title: "Neither a page about an application nor the form for a new application shows another visitor's data",
    rule: 'visitors-apart',
    why: 'If a client uses only the address of a call as the cache key, it can show the cached answer to a visitor who has no right to see it.',
    fix: 'Do not cache API answers. If you must cache them, make the id of the visitor part of the cache key.',
    needs: ['page'],
    async run(context) {
      const secret = `Plan ${randomUUID().slice(0, 8)}`
      const owner = await openWithApplication(context, { name: secret })
      const pages = await openPagesAbout(context, owner)
      const { create } = context.settings
      if (create) pages.push(await owner.browser.visit(context.url(create)))
      const reader = await context.signedIn({ person: await context.otherPerson() })
      for (const { url } of pages) {
        const page = await reader.browser.newTab().visit(url, context.beforeLeaving)
        const values = page.forms.flatMap(({ fields }) => fields.map(([, value]) => value))
        const text = [page.body, ...values].join('\n')
        expect(!text.includes(secret), 'The page shows an application of another visitor.', page)
        const others = context.platform.people.filter(({ id }) => id !== reader.person.id)
        expect(
          !others.some(({ groupId }) => text.includes(groupId)),
          'The page shows a group of another visitor.',
          page,
        )
      }
    },
  },
  {
    id: 'tabs-visitors-at-once',
    title: 'If two visitors load many pages at once, each page shows only the data of its own visitor',
    rule: 'visitors-apart',
    why: 'If a client keeps a token or an answer in a shared variable, it mixes up two visitors when their requests overlap.',
    fix: 'Use separate objects for the headers and the answer of each call. Never keep a token in an object that several requests use, such as the default headers of an HTTP library. Let requests share a call only if they are from the same visitor.',
    needs: ['page'],
    isAlone: true,
    longestMs: 120_000,
    async run(context) {
      const [first, second] = [await loadedOnce(context), await loadedOnce(context, await context.otherPerson())]
      if (!(first.isNamed && second.isNamed) && first.perPage + second.perPage === 0)
        throw new NotApplicable(
          'the page shows no application, and the client does not ask for the list of applications',
        )
      await loadTogether(context, first, second)
      await loadTogether(context, first, second)
      // Makes the API answer late, because otherwise the calls of a fast client do not overlap.
      await context.order('list-late', { times: 'always', state: undefined, options: { seconds: 0.2 } })
      await loadTogether(context, first, second)
    },
  },
  {
    id: 'replica-login',
    title: 'A visitor can begin a login at one instance and finish it at another instance',
    rule: 'CK-12',
    why: 'A load balancer can send each request to any instance of the client, so every instance must know all logins and sessions.',
    fix: 'Keep the login in a sealed cookie (with the same key at all instances) or in a shared store.',
    needs: ['replica', 'page'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      const page = await followCallback(context, browser, atReplica(context, callback))
      expect(await context.isSignedIn(browser), `The login ended with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'replica-session',
    title: 'If a visitor signs in at one instance, the visitor is signed in at every instance',
    rule: 'CK-12',
    why: 'A load balancer can send each request to any instance of the client, so every instance must know all logins and sessions.',
    fix: 'Keep the session in a sealed cookie (with the same key at all instances) or in a shared store.',
    needs: ['replica', 'page'],
    async run(context) {
      const { browser } = await context.signedIn()
      expect(
        await context.isSignedIn(browser, { origin: context.settings.replica! }),
        'The visitor who signed in at the first instance is not signed in at the second instance.',
      )
      expect(
        await context.isSignedIn(browser),
        'After a visit to the second instance, the visitor is no longer signed in at the first instance.',
      )
    },
  },
  {
    id: 'replica-keeps-cookies',
    title: 'If a browser visits another instance, the session and the unfinished login of this browser continue',
    rule: 'CK-12',
    why: 'A load balancer can send each request to any instance. If an instance deletes every cookie that it does not know, it ends the logins and sessions of all other instances.',
    fix: 'Use the same keys or the same store at all instances, and delete a cookie only if you know that its login or session has ended.',
    needs: ['replica', 'page'],
    async run(context) {
      const { login, page, callback: callbackPath, replica } = context.settings
      const { browser: visitor } = await context.signedIn()
      const { browser, start, callback } = await beginLogin(context)
      const cancelPath = findCancelUrl(context, start)?.pathname
      const paths = [
        '/',
        page,
        '/not-there-conformance',
        ...(cancelPath === undefined ? [] : [cancelPath]),
        withQuery(callbackPath, 'code=a&state=of-no-login-000'),
      ]
      for (const path of paths) {
        await visitor.newTab().visit(context.url(path, replica), context.beforePortal)
        expect(
          await context.isSignedIn(visitor),
          `After a visit to ${path} at the other instance, the visitor is no longer signed in.`,
        )
      }
      for (const path of [...paths.filter(path => path !== page), login])
        await browser.newTab().visit(context.url(path, replica), context.beforePortal)
      const end = await followCallback(context, browser, callback)
      expect(
        await context.isSignedIn(browser),
        `After visits to the other instance, a login that had begun before ended with ${describePage(end)}.`,
        end,
      )
    },
  },
  {
    id: 'replica-sign-out',
    title: 'If a visitor signs out at one instance, the visitor is signed out at every instance',
    rule: 'CK-12',
    why: 'If only one instance knows that the visitor has signed out, the session continues when another instance gets the next request.',
    fix: 'Delete the session cookie, or the session in the shared store.',
    needs: ['replica', 'page', 'logout'],
    async run(context) {
      const { browser, page } = await context.signedIn()
      await signOut(context, browser, page)
      expect(
        !(await context.isSignedIn(browser, { origin: context.settings.replica! })),
        'The visitor is still signed in at the other instance.',
      )
    },
  },
  {
    id: 'replica-form',
    title: 'If one instance shows a form and another instance receives the form, the client creates the application',
    rule: 'CK-12',
    why: 'A load balancer can send the form to any instance. If only one instance knows the form, another instance refuses it, and the typed text is lost.',
    fix: 'Seal the id of the form with a key that all instances have, or keep the id in a shared store.',
    needs: ['replica', 'page', 'create'],
    async run(context) {
      const open = await openCreateForm(context)
      const { answer } = await sendForm(context, open.browser, formAtReplica(context, open), ownForm(context))
      if ((await created(context, open.person)).length === 1) return
      await submitCreate(context, await openCreateForm(context))
      fail(`The other instance answered the form with status ${statusOf(answer)}, and created nothing.`, answer)
    },
  },
  {
    id: 'replica-secret',
    title:
      'If one instance creates an application and another instance shows the next page, this page shows the secret',
    rule: 'CK-12',
    why: 'Each request can reach a different instance. The API returns the secret only once. If only one instance has the secret in its memory, another instance cannot show it.',
    fix: 'Pass the secret on in a sealed cookie (with a key that all instances have) or in a shared store.',
    needs: ['replica', 'page', 'create'],
    async run(context) {
      const open = await openCreateForm(context)
      const answer = await open.browser.submit(open.page, open.form, open.values, noRedirects)
      const creations = await created(context, open.person)
      if (!answer.stoppedAt || creations.length === 0)
        throw new NotApplicable('the form creates nothing, or the client does not answer it with a redirect')
      const page = await open.browser.visit(atReplica(context, new URL(answer.stoppedAt)))
      if (page.body.includes(secretOf(creations))) return
      const plain = await openCreateForm(context)
      const shown = await submitCreate(context, plain)
      const last = (await created(context, plain.person)).slice(-1)
      if (!shown.body.includes(secretOf(last)))
        throw new ReportedElsewhere('the page that follows the form does not show the secret')
      fail('The page of the other instance does not show the secret.', page)
    },
  },
  {
    id: 'replica-refresh',
    title: 'If two instances renew the same session at the same time, the visitor stays signed in',
    rule: 'RF-04',
    why: 'A refresh token is valid only once, so the portal can refuse one of the two renewals. If the instance whose renewal was refused ends the session, the visitor is signed out, although the other instance has renewed the session.',
    fix: 'If the portal refuses a refresh token that another instance has just replaced, keep the session cookies.',
    needs: ['replica', 'page'],
    async run(context) {
      const { browser } = await expiredSession(context)
      const { page, replica } = context.settings
      const urls = Array.from({ length: 6 }, (_, index) => context.url(page, index % 2 ? replica : undefined))
      const { result: pages, steps } = await context.during(() =>
        Promise.all(urls.map(url => context.visitUntilPortal(browser.newTab(), url))),
      )
      renewalIn(context, { page: pages.find(({ status }) => status === 0) ?? pages[0]!, steps })
      expect(await context.isSignedIn(browser), 'Nobody is signed in after these requests.')
    },
  },
  {
    id: 'replica-refresh-refused',
    title:
      'If one instance renews a session, and the portal then refuses the renewal of another instance, the visitor stays signed in',
    rule: 'lost-renewal',
    why: 'The browser sends two requests at once, and two instances renew with the same refresh token. If the portal accepts only the first renewal, the second instance gets invalid_grant. If its answer deletes the session cookies, the browser loses the new cookies from the first instance. The sandbox usually accepts both renewals, so in this check it refuses the second one.',
    fix: 'After invalid_grant, delete only the cookie of the refused refresh token, not a newer one. If the name of the cookie contains a hash of the token, you can delete the cookie by its name. If the cookies have fixed names, do not delete them: set another cookie with a hash of the refused token, and from then on ignore a refresh token with this hash. If the server keeps the session, end it only if it still has the refused token.',
    needs: ['replica', 'page'],
    async run(context) {
      const { browser, person } = await expiredSession(context)
      const second = browser.copy()
      const { page: path, replica } = context.settings
      await context.order('refresh-expires-in', shortLifeOrder)
      const renewal = grantedIn(renewalIn(context, await visitPage(context, browser)))
      await context.order('refresh-401', { options: { error: 'invalid_grant' } })
      const { result: late, steps } = await context.during(() =>
        context.visitUntilPortal(second, context.url(path, replica)),
      )
      await context.dropFaults()
      const refused = steps.find(isRenewal)
      if (refused?.response.status !== 401)
        throw new NotApplicable('the second instance does not send the refresh token that has been replaced')
      // The browser gets the answer from the second instance last.
      for (const line of late.trail.flatMap(setCookiesOf)) browser.cookies.set(context.url('/'), line)
      const evidence = [late, renewal, refused]
      expect(
        await context.isSignedIn(browser),
        'After the answer from the second instance, the visitor is no longer signed in.',
        ...evidence,
      )
      await endToken(context, person)
      expect(
        await context.isSignedIn(browser),
        'After the answer from the second instance, the client cannot renew the session any more.',
        ...evidence,
      )
    },
  },
  {
    id: 'replica-renewed-elsewhere',
    title: 'If another instance has renewed a session, every instance uses the new refresh token',
    rule: 'CK-12',
    why: 'An instance that keeps sessions in its own memory does not notice that another instance has renewed a session. Later it sends the replaced refresh token, and the portal then ends the session.',
    fix: 'Keep sessions only where all instances see every change, such as in the cookie or in a shared store. Do not keep a copy in the memory of an instance.',
    needs: ['replica', 'page'],
    async run(context) {
      const { page: path, replica } = context.settings
      const renewTwice = async (firstOrigin: string | undefined) => {
        const { browser, person } = await expiredSession(context)
        await context.order('refresh-expires-in', shortLifeOrder)
        const { result: page, steps } = await context.during(() =>
          context.visitUntilPortal(browser, context.url(path, firstOrigin)),
        )
        grantedIn(renewalIn(context, { page, steps }))
        await endToken(context, person)
        await forgetRenewal(context)
        const { result: isSignedIn, steps: later } = await context.during(() => context.isSignedIn(browser))
        return { isSignedIn, evidence: [page, ...steps, ...later] }
      }
      const { isSignedIn, evidence } = await renewTwice(replica)
      if (isSignedIn) return
      if (!(await renewTwice(undefined)).isSignedIn)
        throw new ReportedElsewhere('the client cannot renew a session twice, even at one instance')
      fail(
        'After the other instance had renewed the session, the first instance could not renew it again.',
        ...evidence,
      )
    },
  },
  {
    id: 'replica-renews',
    title: 'If a visitor signs in at one instance, every instance can renew the session',
    rule: 'CK-12',
    why: 'A load balancer can send each request to any instance of the client. If only the instance of the login has the refresh token, the visitor has to sign in again as soon as the access token has expired.',
    fix: 'Keep the refresh token in a sealed cookie (with the same key at all instances) or in a store that all instances share.',
    needs: ['replica', 'page'],
    async run(context) {
      const { page, replica } = context.settings
      const { browser } = await expiredSession(context)
      const { result: shown, steps } = await context.during(() =>
        context.visitUntilPortal(browser, context.url(page, replica)),
      )
      if (steps.some(isAcceptedCall)) return
      const plain = await expiredSession(context)
      const visit = await visitPage(context, plain.browser)
      renewalIn(context, visit)
      if (!visit.steps.some(isAcceptedCall)) throw new ReportedElsewhere('the renewal does not work')
      fail(
        `After the access token had expired, the first instance renewed the session. The other instance answered with ${shown.stoppedAt ? 'a redirect to the portal' : describePage(shown)}.`,
        shown,
      )
    },
  },
  ...formsAtOnce,
  ...restarts,
]

interface Loaded {
  browser: Browser
  person: Person
  /** The name of the visitor's application. No other person has an application with this name. */
  application: string
  /** Whether the page shows the name of the application. */
  isNamed: boolean
  /** Whether the page shows the name of the visitor outside the name of the application. */
  isGreeted: boolean
  /** How many calls for the list the client makes for one page. */
  perPage: number
}

/** Signs a visitor in, creates an application for this visitor, and loads the page behind the login once. */
async function loadedOnce(context: CheckContext, other?: Person): Promise<Loaded> {
  const { browser, person } = await context.signedIn(other ? { person: other } : {})
  const application = `Garden of ${person.firstName} in spring`
  await makeApplication(context, person, { name: application })
  const { page, steps } = await visitPage(context, browser)
  const perPage = steps.filter(step => isListFor(step, person)).length
  const isGreeted = hasWord(page.body.replaceAll(application, ''), person.firstName)
  return { browser, person, application, isNamed: page.body.includes(application), isGreeted, perPage }
}

function hasWord(text: string, word: string): boolean {
  return text.split(/\W+/).includes(word)
}

function isListFor({ kind, request, about }: LabStep, { id }: Person): boolean {
  return kind === 'api' && /^\/apps\/v1(\?|$)/.test(request.url) && about.userId === id
}

const pagesAtOnce = 20

/**
 * Loads many pages for both visitors at once. Fails if a page shows data of the other visitor, or if the client loaded
 * a page with the token of the other visitor.
 */
async function loadTogether(context: CheckContext, first: Loaded, second: Loaded): Promise<void> {
  const before = context.platform.steps.length
  const visits = await Promise.all(
    Array.from({ length: 2 * pagesAtOnce }, async (_, index) => {
      const visitor = index % 2 ? second : first
      return { visitor, page: await context.visitUntilPortal(visitor.browser.newTab(), context.settings.page) }
    }),
  )
  await context.platform.settle()
  const steps = context.platform.steps.slice(before)
  for (const visitor of [first, second]) {
    const calls = steps.filter(step => isListFor(step, visitor.person))
    const most = pagesAtOnce * Math.max(1, visitor.perPage)
    const other = visitor === first ? second : first
    const wrong = visits.find(one => one.visitor === other && one.page.body.includes(visitor.application))
    const [owner, reader] = [visitor.person.firstName, other.person.firstName]
    expect(
      calls.length <= most,
      `A page sent to visitor ${reader} was loaded with the token of visitor ${owner}: ${pagesAtOnce} pages for ${owner} need at most ${most} calls for the list, but ${calls.length} calls with ${owner}'s token arrived.`,
      ...(wrong ? [wrong.page] : []),
      ...calls.slice(-1),
    )
    // If there are fewer calls than pages, some pages share the answer to one call.
    const isShared = steps.filter(({ kind }) => kind === 'api').length < visits.length
    expect(
      wrong === undefined,
      isShared
        ? `A page sent to visitor ${reader} shows the application of visitor ${owner}: it contains the answer to a call made with ${owner}'s token.`
        : `A page sent to visitor ${reader} was loaded with the token of visitor ${owner}, and shows the application of ${owner}.`,
      ...(wrong ? [wrong.page] : []),
    )
    const greeted = visits.find(one => one.visitor === other && hasWord(one.page.body, owner))
    expect(
      !visitor.isGreeted || greeted === undefined,
      `A page sent to visitor ${reader} shows the name of visitor ${owner}, whose page loaded at the same time.`,
      ...(greeted ? [greeted.page] : []),
    )
  }
}

function atReplica({ settings }: CheckContext, address: URL): string {
  return settings.replica + address.pathname + address.search
}
