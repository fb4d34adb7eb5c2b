// One visitor in several tabs and windows, and one client in several processes.

import { randomUUID } from 'node:crypto'
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import type { Browser } from '../../browser/browser.ts'
import type { Form } from '../../browser/form.ts'
import { type CheckDefinition, Failed, NotApplicable, Undecided } from '../../check.ts'
import type { CheckContext, Start } from '../../context.ts'
import { describePage, expect, expectServed, statusOf } from '../../findings.ts'
import { otherLoopback } from '../../other-site.ts'
import type { Person } from '../../platform.ts'
import { describeExchange } from '../../report/describe.ts'
import { filledFields, openPagesAbout, openWithApplication, ownForm, sendForm } from '../../steps/application-pages.ts'
import { makeApplication } from '../../steps/applications.ts'
import { beginLogin, errorCallback, followCallback } from '../../steps/callback.ts'
import { created, type OpenForm, openCreateForm, openFormIn, secretOf, submitCreate } from '../../steps/create-form.ts'
import { describeScript, mayGoOnByScript } from '../../steps/page-content.ts'
import { endToken, expiredSession, renewalIn, visitPage } from '../../steps/sessions.ts'
import { signOut } from '../../steps/sign-out.ts'

/** Begins two logins in one browser, and returns the callbacks of both. */
async function beginTwo(context: CheckContext) {
  const { browser, callback: first } = await beginLogin(context)
  const second = await context.authorize(await context.startLogin(browser.newTab()))
  return { browser, first, second }
}

/** Ways in which a login fails in another tab, or a forged callback arrives there. */
const failedTabs: [
  what: string,
  fail: (context: CheckContext, tab: Browser, start: Start, callback: URL) => Promise<unknown>,
][] = [
  [
    'a login that the visitor declined',
    (context, tab, { url, state = '' }) => {
      const cancelled = new URL(url.searchParams.get('cancel_url') ?? '/', context.settings.client)
      cancelled.searchParams.set('error', 'access_denied')
      cancelled.searchParams.set('state', state)
      return followCallback(context, tab, cancelled)
    },
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

export const tabs: CheckDefinition[] = [
  {
    id: 'tabs-parallel-logins',
    title: 'Two tabs can sign in at the same time, in any order',
    rule: 'CL-06',
    why: 'A visitor who opens two pages after the session has ended begins two logins.',
    fix: 'Keep the data of each login under its own name, such as a cookie with a part of the state in its name.',
    needs: ['page'],
    async run(context) {
      for (const order of ['first', 'second'] as const) {
        const { browser, first, second } = await beginTwo(context)
        const before = (await context.codeExchanges()).length
        const early = await followCallback(context, browser, order === 'first' ? first : second)
        expect(
          (await context.codeExchanges()).length === before + 1,
          `After two logins began in one browser, the ${order} login does not work: ${describePage(early)}.`,
          early,
        )
        const late = await followCallback(context, browser, order === 'first' ? second : first)
        expect(
          (await context.codeExchanges()).length === before + 2,
          `After the ${order} login, the other login does not work: ${describePage(late)}.`,
          late,
        )
        expect(await context.isSignedIn(browser), 'Nobody is signed in after both logins.')
      }
    },
  },
  {
    id: 'tabs-one-declined',
    title: 'A visitor who declines a login in one tab can finish a login in another tab',
    rule: 'CL-06',
    why: 'Each tab has a separate login. A visitor who declines one of them has not declined the other.',
    fix: 'When a visitor declines, delete only the data of the declined login.',
    needs: ['page'],
    async run(context) {
      const browser = context.browser()
      const declined = await context.startLogin(browser)
      const callback = await context.authorize(await context.startLogin(browser.newTab()))
      const cancelUrl = declined.url.searchParams.get('cancel_url')
      if (!cancelUrl || !URL.canParse(cancelUrl)) throw new Undecided('The redirect to the portal has no cancel_url.')
      await followCallback(context, browser, cancelUrl)
      const page = await followCallback(context, browser, callback)
      expect(await context.isSignedIn(browser), `The other login ends with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'tabs-one-failed',
    title: 'When a login fails in one tab in any way, the visitor can finish a login in another tab',
    rule: 'CL-06',
    why: 'Each tab has a separate login. Any website can also send the visitor to a forged callback while a login runs.',
    fix: 'Delete only the data of the login whose state the callback contains, and nothing for an unknown state.',
    needs: ['page'],
    async run(context) {
      for (const [what, fail] of failedTabs) {
        const { browser, start, callback } = await beginLogin(context)
        const other = await context.authorize(await context.startLogin(browser.newTab()))
        await fail(context, browser.newTab(), start, callback)
        const page = await followCallback(context, browser, other)
        expect(
          await context.isSignedIn(browser),
          `After ${what}, the other login ends with ${describePage(page)}.`,
          page,
        )
      }
    },
  },
  {
    id: 'tabs-five-logins',
    title: 'A visitor can still finish the first of five begun logins',
    rule: 'many-tabs',
    why: 'A browser that restores its windows opens all tabs at once, and each tab begins a login.',
    fix: 'Keep at least the five latest logins.',
    needs: ['page'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      for (let tab = 0; tab < 4; tab++) await context.startLogin(browser.newTab())
      const page = await followCallback(context, browser, callback)
      expect(await context.isSignedIn(browser), `The first login ends with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'tabs-login-left',
    title: 'After an unfinished login, the next login works',
    rule: 'CL-06',
    why: 'People close the tab, press Back, and start again. They must not have to delete cookies before they can sign in.',
    fix: 'Begin each login with new values, and ignore the cookies of older logins.',
    needs: ['page'],
    async run(context) {
      const browser = context.browser()
      await context.startLogin(browser)
      const page = await followCallback(context, browser, await context.authorize(await context.startLogin(browser)))
      expect(await context.isSignedIn(browser), `The second login ends with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'tabs-login-while-signed-in',
    title: 'A visitor who is signed in can sign in again',
    rule: 'CL-20',
    why: 'Visitors open a link to the login from a bookmark or another tab. A visitor who is signed in does not expect an error there.',
    fix: 'Begin a login even if there is a session, and replace the session after the callback.',
    needs: ['page'],
    async run(context) {
      const { browser } = await context.signedIn()
      const start = await context.visitUntilPortal(browser, context.settings.login)
      expect(start.status > 0 && start.status < 400, `The login path answered with ${describePage(start)}.`, start)
      if (start.stoppedAt) {
        const callback = await context.authorize({ url: new URL(start.stoppedAt), state: undefined, page: start })
        const page = await followCallback(context, browser, callback)
        expect(page.status > 0 && page.status < 400, `The login ends with ${describePage(page)}.`, page)
      }
      expect(await context.isSignedIn(browser), 'Nobody is signed in after these requests.')
      // This time the portal knows the visitor and redirects at once. The browser then sends SameSite=Strict cookies with
      // the callback, because the client's own page began the navigation.
      const page = await browser.visit(context.url(context.settings.login))
      expect(
        page.status > 0 && page.status < 400,
        `The login without a form at the portal ends with ${describePage(page)}.`,
        page,
      )
      expect(await context.isSignedIn(browser), 'Nobody is signed in after these requests.')
    },
  },
  {
    id: 'tabs-other-visitor',
    title: 'When another user signs in by the login path, this user replaces the visitor who was signed in',
    rule: 'CL-20',
    why: 'The portal knows the other user and redirects at once. The browser then sends the old session cookies with the callback.',
    fix: 'Let every login replace the session whose cookies the callback contains.',
    needs: ['page'],
    async run(context) {
      const { browser, person } = await context.signedIn()
      const other = await context.otherPerson()
      const { portalUrl } = context.platform
      browser.cookies.delete(undefined, portalUrl)
      browser.cookies.set(portalUrl, `${other.portalCookie}; Path=/; Secure; HttpOnly; SameSite=Lax`)
      const page = await browser.visit(context.url(context.settings.login))
      expect(
        await context.isSignedIn(browser, { person: other }),
        `The login of the other user ends with ${describePage(page)}, and this user is not signed in.`,
        page,
      )
      expect(!(await context.isSignedIn(browser, { person })), 'The earlier visitor is still signed in.', page)
    },
  },
  {
    id: 'tabs-other-visitor-without-refresh-token',
    title: 'If the login of another user brings no refresh token, the earlier visitor does not come back later',
    rule: 'CL-20',
    why: 'If the client keeps the refresh token of the earlier visitor, the next renewal signs the other user in as the earlier visitor.',
    fix: 'At each login, replace or delete every cookie of the earlier session, also if the token response has no refresh token.',
    needs: ['page'],
    async run(context) {
      const { browser, person } = await context.signedIn()
      const other = await context.otherPerson()
      const callback = await context.authorize(await context.startLogin(browser), other)
      // The token response has no refresh token.
      await context.order('exchange-short-session', { options: { seconds: 2 } })
      await followCallback(context, browser, callback)
      if (!(await context.isSignedIn(browser, { person: other })))
        throw new NotApplicable('the client signs nobody in without a refresh token')
      await endToken(context, other)
      const page = await context.visitUntilPortal(browser, context.settings.page)
      expect(
        !(await context.isSignedIn(browser, { person })),
        'After the access token of the other user has expired, the earlier visitor is signed in again.',
        page,
      )
    },
  },
  {
    id: 'tabs-callback-again',
    title:
      'When a visitor who is signed in sends the used callback again, the client answers with a page and keeps the session',
    rule: 'CL-29',
    why: 'Browsers repeat a callback when a connection breaks, and people open it from their history.',
    fix: 'Redirect the visitor to the page behind the login, or show a page that says that this login has ended.',
    needs: ['page'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await followCallback(context, browser, callback)
      if (!(await context.isSignedIn(browser))) throw new Undecided('A plain login does not work.')
      for (let time = 0; time < 2; time++) {
        const page = await followCallback(context, browser, callback)
        expectServed(page, `The repeated callback was answered with ${describePage(page)}.`)
      }
      expect(await context.isSignedIn(browser), 'Nobody is signed in after these requests.')
    },
  },
  {
    id: 'tabs-callback-typed-again',
    title: 'When a visitor who is signed in opens the used callback from the history, the visitor stays signed in',
    rule: 'CL-29',
    why: 'A browser sends Strict cookies with an address that is typed or opened from the history. A client that then deletes the session signs the visitor out without a reason.',
    fix: 'Answer a repeated callback without deleting the session cookies, and keep the session on the server.',
    needs: ['page'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await followCallback(context, browser, callback)
      if (!(await context.isSignedIn(browser))) throw new Undecided('A plain login does not work.')
      const stopAt = (url: URL) => url.origin === context.platform.portalUrl
      const other = new URL(callback)
      other.searchParams.set('code', 'A'.repeat(30))
      for (const [what, address] of [
        ['the used callback', `${callback}`],
        ['the used callback again', `${callback}`],
        ['the used callback with another code', `${other}`],
      ] as const) {
        // Stops before the portal, which would sign the visitor in again without a question.
        const page = await browser.newTab().visit(address, { stopAt })
        expectServed(page, `${what} was answered with ${describePage(page)}.`)
        expect(await context.isSignedIn(browser), `After ${what}, the visitor is no longer signed in.`, page)
      }
    },
  },
  {
    id: 'tabs-reload-after-login',
    title:
      'When a visitor reloads the page after the login, the visitor stays signed in and the client makes no second exchange',
    rule: 'CL-28',
    why: 'A browser treats Reload like the navigation before it: after a redirect from the portal, Reload does not send Strict cookies either.',
    fix: 'Answer the callback with a page with a meta refresh, or use a Lax cookie. The history must not contain the callback.',
    needs: ['page'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      const landed = await followCallback(context, browser, callback)
      if (new URL(landed.url).pathname === callback.pathname && mayGoOnByScript(landed))
        throw new Undecided(describeScript(landed, context.settings))
      const before = (await context.codeExchanges()).length
      const page = await browser.reload({ stopAt: url => url.origin === context.platform.portalUrl })
      expect((await context.codeExchanges()).length === before, 'The client exchanged the code again.', page)
      expect(
        page.stoppedAt === undefined && page.status === landed.status,
        `Reload opens ${page.stoppedAt ? 'the login' : describePage(page)}.`,
        page,
      )
    },
  },
  {
    id: 'tabs-back-after-login',
    title:
      'When a visitor presses Back after the login, the visitor stays signed in and the client makes no second exchange',
    rule: 'CL-28',
    why: 'Back can open the callback again, although the client has already used its code.',
    fix: 'Leave the callback by a redirect or a meta refresh, so that the history does not contain it. If a signed-in visitor requests the callback again, redirect to the page behind the login.',
    needs: ['page'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await followCallback(context, browser, callback)
      if (!(await context.isSignedIn(browser))) throw new Undecided('A plain login does not work.')
      await browser.visit(context.url('/'))
      const before = (await context.codeExchanges()).length
      const page = await browser.back({ stopAt: url => url.origin === context.platform.portalUrl })
      expectServed(page, `Back is answered with ${describePage(page)}.`)
      expect((await context.codeExchanges()).length === before, 'After Back, the client exchanged a code again.', page)
      expect(await context.isSignedIn(browser), 'After Back nobody is signed in.')
    },
  },
  {
    id: 'tabs-signed-out-meanwhile',
    title: 'A form creates no application after the visitor has signed out in another tab',
    rule: 'CK-13',
    why: 'The open form still belongs to the visitor who has signed out. The next person at the browser could send it in the name of this visitor.',
    fix: 'Check the session before you read the form.',
    needs: ['create', 'logout'],
    async run(context) {
      const open = await openCreateForm(context)
      await signOut(context, open.browser.newTab())
      const page = await open.browser.submit(open.page, open.form, open.values)
      expectServed(page, `The form is answered with ${describePage(page)}.`)
      expect((await created(context, open.person)).length === 0, 'The application was created.')
    },
  },
  {
    id: 'tabs-two-visitors',
    title: 'Two visitors who use the client at the same time see only their own data',
    rule: 'visitors-apart',
    why: 'A client that keeps the session in a shared variable mixes the data of two visitors.',
    fix: 'Keep the session in the object of the request, never in a variable of the module.',
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
    id: 'tabs-other-visitors-pages',
    title: 'A page about an application, and the form with the groups, show nothing of another visitor',
    rule: 'visitors-apart',
    why: 'A client that remembers an answer of the API by its address alone shows the answer to a visitor who may not see it.',
    fix: 'Keep no answer of the API for other visitors, or make the id of the visitor a part of its key.',
    needs: ['page'],
    async run(context) {
      const secret = `Plan ${randomUUID().slice(0, 8)}`
      const owner = await openWithApplication(context, { name: secret })
      const pages = await openPagesAbout(context, owner)
      const { create } = context.settings
      if (create) pages.push(await owner.browser.visit(context.url(create)))
      const reader = await context.signedIn({ person: await context.otherPerson() })
      for (const { url } of pages) {
        const page = await reader.browser
          .newTab()
          .visit(url, { stopAt: ({ origin }) => origin !== context.settings.client })
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
    title: 'When two visitors load many pages at once, each page shows only the data of its visitor',
    rule: 'visitors-apart',
    why: 'A client that keeps a token or an answer in a shared variable mixes two visitors only if their requests overlap.',
    fix: 'Give each call its own headers and its own answer. Never keep a token in an object that several requests use, such as the default headers of an HTTP library. Share a running call only between requests of the same visitor.',
    needs: ['page'],
    isAlone: true,
    longestMs: 120_000,
    async run(context) {
      const [first, second] = [await loadedOnce(context), await loadedOnce(context, await context.otherPerson())]
      if (!(first.isNamed && second.isNamed) && first.perPage + second.perPage === 0)
        throw new NotApplicable('the page shows no application and does not ask for the list of applications')
      await loadTogether(context, first, second)
      await loadTogether(context, first, second)
      // In a fast client, the calls overlap only if the API answers late.
      await context.order('list-late', { times: 'always', state: undefined, options: { seconds: 0.2 } })
      await loadTogether(context, first, second)
    },
  },
  {
    id: 'replica-login',
    title: 'A visitor can begin a login at one instance and finish it at another instance',
    rule: 'CK-12',
    why: 'A load balancer sends each request to any instance of the client, so every instance must know the logins and sessions of all instances.',
    fix: 'Keep the login in a sealed cookie with the same key at all instances, or in a shared store.',
    needs: ['replica', 'page'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      const page = await followCallback(context, browser, atReplica(context, callback))
      expect(await context.isSignedIn(browser), `The callback is answered with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'replica-session',
    title: 'After a sign-in at one instance, the visitor is signed in at every instance',
    rule: 'CK-12',
    why: 'A load balancer sends each request to any instance of the client, so every instance must know the logins and sessions of all instances.',
    fix: 'Keep the session in a sealed cookie with the same key at all instances, or in a shared store.',
    needs: ['replica', 'page'],
    async run(context) {
      const { browser } = await context.signedIn()
      expect(
        await context.isSignedIn(browser, { origin: context.settings.replica! }),
        'The visitor who signed in at the first instance is not signed in at the second instance.',
      )
      expect(
        await context.isSignedIn(browser),
        'After a visit of the second instance, the visitor is no longer signed in at the first instance.',
      )
    },
  },
  {
    id: 'replica-keeps-cookies',
    title: 'Answers of another instance keep the session and the unfinished login of the browser',
    rule: 'CK-12',
    why: 'A load balancer sends each request to any instance. An instance that deletes every cookie that it does not know ends the logins and sessions of all others.',
    fix: 'Use the same keys or the same store at all instances, and delete a cookie only if you know that it has ended.',
    needs: ['replica', 'page'],
    async run(context) {
      const { login, page, callback: callbackPath, replica } = context.settings
      const { browser: visitor } = await context.signedIn()
      const { browser, start, callback } = await beginLogin(context)
      const { pathname } = new URL(start.url.searchParams.get('cancel_url') ?? '/', context.settings.client)
      const stopAt = ({ origin }: URL) => origin === context.platform.portalUrl
      const paths = ['/', page, '/not-there-conformance', pathname, `${callbackPath}?code=a&state=of-no-login-000`]
      for (const path of paths) {
        await visitor.newTab().visit(context.url(path, replica), { stopAt })
        expect(
          await context.isSignedIn(visitor),
          `After a visit of ${path} at the other instance, the visitor is no longer signed in.`,
        )
      }
      for (const path of [...paths.filter(path => path !== page), login])
        await browser.newTab().visit(context.url(path, replica), { stopAt })
      const end = await followCallback(context, browser, callback)
      expect(
        await context.isSignedIn(browser),
        `After visits of the other instance, a begun login ends with ${describePage(end)}.`,
        end,
      )
    },
  },
  {
    id: 'replica-sign-out',
    title: 'A visitor who signs out at one instance is signed out at every instance',
    rule: 'CK-12',
    why: 'If only one instance knows that the visitor has signed out, the session continues at the instance that gets the next request.',
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
    title: 'If one instance shows a form and another instance receives it, the application is created',
    rule: 'CK-12',
    why: 'A load balancer sends the form to any instance. If only one instance knows the form, every other instance loses the typed text.',
    fix: 'Seal the id of the form with the key that all instances have, or keep it in a shared store.',
    needs: ['replica', 'page', 'create'],
    async run(context) {
      const open = await openCreateForm(context)
      const { answer } = await sendForm(context, open.browser, formAt(context, open), ownForm(context))
      if ((await created(context, open.person)).length === 1) return
      await submitCreate(context, await openCreateForm(context))
      throw new Failed(`The other instance answered the form with status ${statusOf(answer)}, and created nothing.`, [
        describeExchange(answer),
      ])
    },
  },
  {
    id: 'replica-secret',
    title:
      'If one instance creates an application and another instance shows the next page, this page shows the secret',
    rule: 'CK-12',
    why: 'Each request can reach another instance. The API returns the secret only once, so a secret in the memory of one instance is lost for the visitor.',
    fix: 'Hand the secret over in a sealed cookie with the key that all instances have, or in a store that they share.',
    needs: ['replica', 'page', 'create'],
    async run(context) {
      const open = await openCreateForm(context)
      const answer = await open.browser.submit(open.page, open.form, open.values, undefined, { stopAt: () => true })
      const creations = await created(context, open.person)
      if (!answer.stoppedAt || creations.length === 0)
        throw new NotApplicable('the form creates nothing, or is not answered with a redirect')
      const page = await open.browser.visit(atReplica(context, new URL(answer.stoppedAt)))
      if (page.body.includes(secretOf(creations))) return
      const plain = await openCreateForm(context)
      const shown = await submitCreate(context, plain)
      const last = (await created(context, plain.person)).slice(-1)
      if (!shown.body.includes(secretOf(last)))
        throw new NotApplicable(
          'the page that follows the form does not show the secret, which create-shows-secret reports',
        )
      expect(false, 'The page of the other instance does not show the secret.', page)
    },
  },
  {
    id: 'replica-refresh',
    title: 'When two instances renew at the same time, the visitor stays signed in',
    rule: 'CK-12',
    why: 'A refresh token is valid once. If the instance whose renewal the portal refuses ends the session, the visitor is signed out although the other instance has renewed the session.',
    fix: 'When the portal refuses a refresh token that another instance has just replaced, keep the session cookies.',
    needs: ['replica', 'page'],
    async run(context) {
      const { browser } = await expiredSession(context)
      const before = new Set(context.arrived())
      const { page, replica } = context.settings
      const pages = await Promise.all(
        Array.from({ length: 6 }, (_, index) =>
          context.visitUntilPortal(browser.newTab(), context.url(page, index % 2 ? replica : undefined)),
        ),
      )
      await context.platform.settle()
      const seen = pages.find(({ status }) => status === 0) ?? pages[0]!
      renewalIn(context, { page: seen, steps: context.arrived().filter(step => !before.has(step)) })
      expect(await context.isSignedIn(browser), 'Nobody is signed in after these requests.')
    },
  },
  {
    id: 'restart-session',
    title: 'A session survives a restart of the client',
    rule: 'survives-restart',
    why: 'Every update restarts the client. A session that is only in memory ends with each restart.',
    fix: 'Keep the session in a sealed cookie with a key from the settings, or in a separate store.',
    needs: ['process', 'page'],
    isAlone: true,
    longestMs: 120_000,
    async run(context) {
      const { browser } = await context.signedIn()
      await context.clientProcess!.restart()
      expect(await context.isSignedIn(browser), 'After the restart the visitor is not signed in.')
    },
  },
  {
    id: 'restart-form',
    title: 'A form that was opened before a restart of the client creates the application',
    rule: 'survives-restart',
    why: 'Filling in the form can take minutes, and every update restarts the client. The visitor would lose the typed text.',
    fix: 'Seal the id of the form with a key from the settings, or keep it in a separate store.',
    needs: ['process', 'page', 'create'],
    isAlone: true,
    longestMs: 120_000,
    async run(context) {
      const open = await openCreateForm(context)
      await context.clientProcess!.restart()
      if (!(await context.isSignedIn(open.browser.copy())))
        throw new NotApplicable('the session does not survive the restart, which restart-session reports')
      const page = await open.browser.submit(open.page, open.form, open.values)
      if ((await created(context, open.person)).length === 1) return
      await submitCreate(context, await openFormIn(context, open.browser, open.person))
      throw new Failed(
        `After the restart the form was answered with ${describePage(page)}, and created nothing.`,
        page.trail.slice(-2).map(describeExchange),
      )
    },
  },
  {
    id: 'restart-login',
    title: 'An unfinished login survives a restart of the client',
    rule: 'survives-restart',
    why: 'A visitor can spend minutes at the portal, and the client may restart during this time.',
    fix: 'Keep the login in a sealed cookie with a key from the settings, or in a separate store.',
    needs: ['process', 'page'],
    isAlone: true,
    longestMs: 120_000,
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await context.clientProcess!.restart()
      const page = await followCallback(context, browser, callback)
      expect(await context.isSignedIn(browser), `The callback is answered with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'restart-other-settings',
    title: 'After a change of the client id or of the portal, the client refuses the callback of an earlier login',
    rule: 'login-of-these-settings',
    why: 'The login belongs to another client or another portal. An attacker who controls one of two portals could otherwise finish a login of the other (CL-24). This is advice, because clients that keep logins with a key from their settings seldom check it.',
    fix: 'Keep the address of the portal, the client id and the redirect URI with the state of the login, and compare them at the callback.',
    needs: ['process', 'page'],
    isAlone: true,
    restartsClient: true,
    longestMs: 120_000,
    async run(context) {
      const { portalUrl } = context.platform
      const { hostname } = new URL(portalUrl)
      const otherPortal = portalUrl.replace(hostname, otherLoopback(hostname))
      const begun = [
        { ...(await beginLogin(context)), setting: 'CLIENT_ID', value: randomUUID(), parameter: 'client_id' },
        { ...(await beginLogin(context)), setting: 'LOGIN_URL', value: otherPortal, parameter: 'iss' },
      ]
      const clientProcess = context.clientProcess!
      clientProcess.isStale = true
      try {
        for (const { browser, callback, setting, value, parameter } of begun) {
          await clientProcess.restart({ [setting]: value }).catch(() => {
            throw new NotApplicable(`the client does not start with another ${setting}`)
          })
          // The callback fits the new settings, so that only the binding of the login can refuse it.
          if (callback.searchParams.has(parameter)) callback.searchParams.set(parameter, value)
          const known = context.arrived('exchange').length
          const page = await followCallback(context, browser, callback)
          expect(
            (await context.codeExchanges()).length === known,
            `After a start with another ${setting}, the client exchanged the code of a login that had begun before.`,
            page,
          )
        }
      } finally {
        await clientProcess.restart()
        clientProcess.isStale = false
      }
    },
  },
]

interface Loaded {
  browser: Browser
  person: Person
  /** The name of the visitor's application. No other person has an application with this name. */
  application: string
  /** The page shows this name. */
  isNamed: boolean
  /** The number of calls of the list that one page makes. */
  perPage: number
}

/** Signs in a visitor, creates an application for this visitor, and loads the page once. */
async function loadedOnce(context: CheckContext, other?: Person): Promise<Loaded> {
  const { browser, person } = await context.signedIn(other ? { person: other } : {})
  const application = `Garden of ${person.firstName} in spring`
  await makeApplication(context, person, { name: application })
  const { page, steps } = await visitPage(context, browser)
  const perPage = steps.filter(step => isListFor(step, person)).length
  return { browser, person, application, isNamed: page.body.includes(application), perPage }
}

function isListFor({ kind, request, about }: LabStep, { id }: Person): boolean {
  return kind === 'api' && /^\/apps\/v1(\?|$)/.test(request.url) && about.userId === id
}

const pagesAtOnce = 20

/**
 * Loads many pages of both visitors at once. Fails if a page or a call of one visitor belongs to the other
 * visitor.
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
    expect(
      calls.length <= most,
      `A page of visitor ${other.person.firstName} was loaded with the token of visitor ${visitor.person.firstName}: ${pagesAtOnce} pages of ${visitor.person.firstName} can make ${most} calls of the list, but ${calls.length} calls with the token of ${visitor.person.firstName} arrived.`,
      ...(wrong ? [wrong.page] : []),
      ...calls.slice(-1),
    )
    // If the client loaded more pages than it made calls, some pages share the answer to one call.
    const isShared = steps.filter(({ kind }) => kind === 'api').length < visits.length
    const [owner, reader] = [visitor.person.firstName, other.person.firstName]
    expect(
      wrong === undefined,
      isShared
        ? `A page of visitor ${reader} shows the application of visitor ${owner}: it got the answer to a call for ${owner}.`
        : `A page of visitor ${reader} was loaded with the token of visitor ${owner}, and shows the application of ${owner}.`,
      ...(wrong ? [wrong.page] : []),
    )
  }
}

/** The filled form, with the address of the other instance. */
function formAt({ settings }: CheckContext, { form, values }: OpenForm): Pick<Form, 'action' | 'fields'> {
  const { pathname, search } = new URL(form.action)
  return { action: settings.replica + pathname + search, fields: filledFields(form, values) }
}

function atReplica({ settings }: CheckContext, address: URL): string {
  return settings.replica + address.pathname + address.search
}
