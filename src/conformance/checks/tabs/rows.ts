// One visitor in several tabs and windows, and one client in several processes.

import { type Row, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, expectServed } from '../../findings.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { created, openCreateForm } from '../../steps/create-form.ts'
import { describeScript, mayGoOnByScript } from '../../steps/page-content.ts'
import { expiredSession, renewalIn } from '../../steps/sessions.ts'
import { signOut } from '../../steps/sign-out.ts'

/** Two logins in one browser, both at the point where the portal sends the browser back. */
async function beginTwo(context: CheckContext) {
  const { browser, callback: first } = await beginLogin(context)
  const second = await context.authorize(await context.startLogin(browser.newTab()))
  return { browser, first, second }
}

export const tabs: Row[] = [
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
        const before = (await context.exchanges()).length
        const early = await followCallback(context, browser, order === 'first' ? first : second)
        expect(
          (await context.exchanges()).length === before + 1,
          `With two logins begun, the ${order} does not work: ${describePage(early)}.`,
          early,
        )
        const late = await followCallback(context, browser, order === 'first' ? second : first)
        expect(
          (await context.exchanges()).length === before + 2,
          `After it the other one does not work: ${describePage(late)}.`,
          late,
        )
        expect(await context.isSignedIn(browser), 'Nobody is signed in after both.')
      }
    },
  },
  {
    id: 'tabs-one-declined',
    title: 'A login that is declined in one tab does not affect the one in another',
    rule: 'CL-06',
    why: 'Each tab has a login of its own.',
    fix: 'Delete only the data of the declined login.',
    needs: ['page'],
    async run(context) {
      const browser = context.browser()
      const declined = await context.startLogin(browser)
      const callback = await context.authorize(await context.startLogin(browser.newTab()))
      const cancelUrl = declined.url.searchParams.get('cancel_url')
      if (!cancelUrl || !URL.canParse(cancelUrl))
        throw new Undecided('The start has no address for visitors who decline.')
      await followCallback(context, browser, cancelUrl)
      const page = await followCallback(context, browser, callback)
      expect(await context.isSignedIn(browser), `The other login ends with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'tabs-five-logins',
    title: 'The first of five unfinished logins can still be finished',
    rule: 'many-tabs',
    why: 'A browser that restores its windows opens all of them, and each leads to the login.',
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
    title: 'An unfinished login does not keep the next one from working',
    rule: 'CL-06',
    why: 'People close the tab, press Back, and start again.',
    fix: 'Begin each login from scratch, whatever an older one has left.',
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
    why: 'A link to the login is in bookmarks and other tabs. If it shows an error, the visitor is locked out.',
    fix: 'Let a login replace the existing session.',
    needs: ['page'],
    async run(context) {
      const { browser } = await context.signedIn()
      const start = await context.visitUntilPortal(browser, context.settings.login)
      expect(start.status > 0 && start.status < 400, `The login path is answered with ${describePage(start)}.`, start)
      if (start.stoppedAt) {
        const callback = await context.authorize({ url: new URL(start.stoppedAt), state: undefined, page: start })
        const page = await followCallback(context, browser, callback)
        expect(page.status > 0 && page.status < 400, `The login ends with ${describePage(page)}.`, page)
      }
      expect(await context.isSignedIn(browser), 'Afterwards nobody is signed in.')
      // The portal knows the visitor and sends the browser back at once, so no other site has started this navigation.
      const page = await browser.visit(context.url(context.settings.login))
      expect(
        page.status > 0 && page.status < 400,
        `The login without a stop at the portal ends with ${describePage(page)}.`,
        page,
      )
      expect(await context.isSignedIn(browser), 'Afterwards nobody is signed in.')
    },
  },
  {
    id: 'tabs-other-visitor',
    title: 'If somebody else signs in through the address of the login, they replace the visitor who was signed in',
    rule: 'CL-20',
    why: 'The portal knows them and asks nothing. No other site started the navigation, so the browser sends the old session with the callback.',
    fix: 'Let every login replace the session that the request carries.',
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
        `It ends with ${describePage(page)}, as the earlier visitor.`,
        page,
      )
      expect(!(await context.isSignedIn(browser, { person })), 'The earlier visitor is still signed in.', page)
    },
  },
  {
    id: 'tabs-callback-again',
    title: 'A callback that arrives again for the visitor whom it signed in causes no server error and ends no session',
    rule: 'CL-29',
    why: 'Browsers send it again when a connection breaks, and people find it in their history.',
    fix: 'Lead the visitor on to the page, or say that this login is done.',
    needs: ['page'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await followCallback(context, browser, callback)
      if (!(await context.isSignedIn(browser))) throw new Undecided('A plain login does not work.')
      for (let time = 0; time < 2; time++) {
        const page = await followCallback(context, browser, callback)
        expectServed(page, `The second delivery is answered with ${describePage(page)}.`)
      }
      expect(await context.isSignedIn(browser), 'Afterwards nobody is signed in.')
    },
  },
  {
    id: 'tabs-reload-after-login',
    title: 'Reloading the page after a login stays signed in and exchanges nothing again',
    rule: 'CL-28',
    why: 'Reload counts like the navigation before it: after a redirect from the portal the browser does not send a Strict cookie then either.',
    fix: 'Answer the callback with a page that goes on by itself, or use a Lax cookie. Keep the callback out of the history.',
    needs: ['page'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      const landed = await followCallback(context, browser, callback)
      if (new URL(landed.url).pathname === callback.pathname && mayGoOnByScript(landed))
        throw new Undecided(describeScript(landed, context.settings))
      const before = (await context.exchanges()).length
      const page = await browser.reload({ stopAt: url => url.origin === context.platform.portalUrl })
      expect((await context.exchanges()).length === before, 'The code is exchanged again.', page)
      expect(
        page.stoppedAt === undefined && page.status === landed.status,
        `Reload leads to ${page.stoppedAt ? 'the login' : describePage(page)}.`,
        page,
      )
    },
  },
  {
    id: 'tabs-back-after-login',
    title: 'Back after a login breaks nothing',
    rule: 'CL-28',
    why: 'People press Back, and a callback that is requested again has a used code.',
    fix: 'Keep the callback out of the history. If the signed-in visitor requests it again, answer with the page that they wanted.',
    needs: ['page'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await followCallback(context, browser, callback)
      if (!(await context.isSignedIn(browser))) throw new Undecided('A plain login does not work.')
      await browser.visit(context.url('/'))
      const before = (await context.exchanges()).length
      const page = await browser.back({ stopAt: url => url.origin === context.platform.portalUrl })
      expectServed(page, `Back is answered with ${describePage(page)}.`)
      expect((await context.exchanges()).length === before, 'Back exchanges a code again.', page)
      expect(await context.isSignedIn(browser), 'After Back nobody is signed in.')
    },
  },
  {
    id: 'tabs-signed-out-meanwhile',
    title: 'A form that is sent after signing out in another tab changes nothing',
    rule: 'CK-13',
    why: 'The visitor has signed out, but the form still names them.',
    fix: 'Check the session before the form.',
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
    title: 'Two visitors at the same time each see only their own data',
    rule: 'visitors-apart',
    why: 'Data that a server keeps for one request must not reach another.',
    fix: 'Keep the session with the request, never in a variable of the module.',
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
    id: 'replica-login',
    title: 'A login that begins at one instance can be finished at another',
    rule: 'CK-12',
    why: 'A load balancer sends each request to any replica, so every replica must be able to take any step.',
    fix: 'Keep the login in a sealed cookie whose key all instances have, or in a store that they share.',
    needs: ['replica', 'page'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      const page = await followCallback(context, browser, atReplica(context, callback))
      expect(await context.isSignedIn(browser), `The callback is answered with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'replica-session',
    title: 'A visitor who is signed in at one instance is signed in at another',
    rule: 'CK-12',
    why: 'A load balancer sends each request to any replica, so every replica must be able to take any step.',
    fix: 'Keep the session in a sealed cookie whose key all instances have, or in a store that they share.',
    needs: ['replica', 'page'],
    async run(context) {
      const { browser } = await context.signedIn()
      expect(
        await context.isSignedIn(browser, { origin: context.settings.replica! }),
        'Nobody is signed in at the other instance.',
      )
      expect(await context.isSignedIn(browser), 'Afterwards nobody is signed in at the first instance.')
    },
  },
  {
    id: 'replica-sign-out',
    title: 'A visitor who signs out at one instance is signed out at another',
    rule: 'CK-12',
    why: 'Otherwise the session goes on at the instance that gets the next request.',
    fix: 'End the session in the cookie or in the shared store.',
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
    id: 'replica-refresh',
    title: 'Two instances that renew at the same time keep the visitor signed in',
    rule: 'CK-12',
    why: 'A refresh token counts once. The loser of the race must not end the session of the winner.',
    fix: 'Do not end a session because the portal refuses a refresh token that was replaced a moment ago.',
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
      expect(await context.isSignedIn(browser), 'Afterwards nobody is signed in.')
    },
  },
  {
    id: 'restart-session',
    title: 'A session survives a restart of the client',
    rule: 'survives-restart',
    why: 'Every new version is a restart. Without this it signs everybody out.',
    fix: 'Keep the session in a sealed cookie with a key from the settings, or in a separate store.',
    needs: ['start', 'page'],
    isAlone: true,
    longestMs: 120_000,
    async run(context) {
      const { browser } = await context.signedIn()
      await context.clientProcess!.restart()
      expect(await context.isSignedIn(browser), 'After the restart nobody is signed in.')
    },
  },
  {
    id: 'restart-login',
    title: 'An unfinished login survives a restart of the client',
    rule: 'survives-restart',
    why: 'Visitors may spend minutes at the portal while a new version starts.',
    fix: 'Keep the login in a sealed cookie with a key from the settings, or in a separate store.',
    needs: ['start', 'page'],
    isAlone: true,
    longestMs: 120_000,
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await context.clientProcess!.restart()
      const page = await followCallback(context, browser, callback)
      expect(await context.isSignedIn(browser), `The callback is answered with ${describePage(page)}.`, page)
    },
  },
]

function atReplica({ settings }: CheckContext, address: URL): string {
  return settings.replica + address.pathname + address.search
}
