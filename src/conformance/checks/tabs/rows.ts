// One visitor in several tabs and windows, one client in several processes.

import { type Row, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, expectServed } from '../../findings.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { created, openCreateForm } from '../../steps/create-form.ts'
import { describeScript, mayGoOnByScript } from '../../steps/page-content.ts'
import { expiredSession, renewalIn } from '../../steps/sessions.ts'
import { signOut } from '../../steps/sign-out.ts'

/** Two logins of one browser that have come as far as the way back. */
async function beginTwo(context: CheckContext) {
  const { browser, callback: first } = await beginLogin(context)
  const second = await context.authorize(await context.startLogin(browser.newTab()))
  return { browser, first, second }
}

export const tabs: Row[] = [
  {
    id: 'tabs-parallel-logins',
    title: 'Two tabs can sign in at the same time, whichever comes back first',
    rule: 'CL-06',
    why: 'Whoever opens two pages of an ended session begins two logins.',
    fix: 'Keep what belongs to a login under a name of its own, such as a cookie with part of the state.',
    needs: ['page'],
    async run(context) {
      for (const order of ['first', 'second'] as const) {
        const { browser, first, second } = await beginTwo(context)
        const before = (await context.exchanges()).length
        const early = await followCallback(context, browser, order === 'first' ? first : second)
        expect(
          (await context.exchanges()).length === before + 1,
          `With two logins begun, the ${order} is not finished: ${describePage(early)}.`,
          early,
        )
        const late = await followCallback(context, browser, order === 'first' ? second : first)
        expect(
          (await context.exchanges()).length === before + 2,
          `After it the other one is not: ${describePage(late)}.`,
          late,
        )
        expect(await context.isSignedIn(browser), 'Nobody is signed in after both.')
      }
    },
  },
  {
    id: 'tabs-one-declined',
    title: 'A login that is declined in one tab does not spoil the one in another',
    rule: 'CL-06',
    why: 'Each tab has a login of its own.',
    fix: 'Drop what belongs to the declined login alone.',
    needs: ['page'],
    async run(context) {
      const browser = context.browser()
      const declined = await context.startLogin(browser)
      const callback = await context.authorize(await context.startLogin(browser.newTab()))
      const cancelUrl = declined.url.searchParams.get('cancel_url')
      if (!cancelUrl || !URL.canParse(cancelUrl)) throw new Undecided('The start has no address for those who decline.')
      await followCallback(context, browser, cancelUrl)
      const page = await followCallback(context, browser, callback)
      expect(await context.isSignedIn(browser), `The other login ends with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'tabs-five-logins',
    title: 'The first of five logins that were begun can still be finished',
    rule: 'many-tabs',
    why: 'A browser that restores its windows opens them all, and each leads to the login.',
    fix: 'Keep at least the last five logins that have begun.',
    needs: ['page'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      for (let tab = 0; tab < 4; tab++) await context.startLogin(browser.newTab())
      const page = await followCallback(context, browser, callback)
      expect(await context.isSignedIn(browser), `It ends with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'tabs-login-left',
    title: 'A login that was left does not keep the next one from working',
    rule: 'CL-06',
    why: 'People close the tab, press Back, and start again.',
    fix: 'Begin each login anew, whatever is left of an older one.',
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
    title: 'Whoever is signed in can sign in again',
    rule: 'CL-20',
    why: 'A link to the login is in bookmarks and on other tabs; an answer with an error locks the visitor out.',
    fix: 'Let a login replace the session that is there.',
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
      expect(await context.isSignedIn(browser), 'After it nobody is signed in.')
      // The portal knows the visitor and sends them back at once: nothing of another site has begun this.
      const page = await browser.visit(context.url(context.settings.login))
      expect(
        page.status > 0 && page.status < 400,
        `Without a stop at the portal it ends with ${describePage(page)}.`,
        page,
      )
      expect(await context.isSignedIn(browser), 'After that nobody is signed in.')
    },
  },
  {
    id: 'tabs-other-visitor',
    title: 'Somebody else who signs in with the login’s address takes the place of who was there',
    rule: 'CL-20',
    why: 'The portal knows them and asks nothing, no other site has begun it, and so the old session comes along with the callback.',
    fix: 'Make every login replace the session that comes with it.',
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
        `It ends with ${describePage(page)}, as the one before.`,
        page,
      )
      expect(!(await context.isSignedIn(browser, { person })), 'The one before is still signed in.', page)
    },
  },
  {
    id: 'tabs-callback-again',
    title:
      'The callback, delivered again to the one who is signed in by it, is no error of the server and ends no session',
    rule: 'CL-29',
    why: 'A browser sends it again where the connection broke, and people find it in their history.',
    fix: 'Lead the visitor on to the page, or say that this login is done.',
    needs: ['page'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await followCallback(context, browser, callback)
      if (!(await context.isSignedIn(browser))) throw new Undecided('A plain login does not work.')
      for (let time = 0; time < 2; time++) {
        const page = await followCallback(context, browser, callback)
        expectServed(page, `It is answered with ${describePage(page)}.`)
      }
      expect(await context.isSignedIn(browser), 'After it nobody is signed in.')
    },
  },
  {
    id: 'tabs-reload-after-login',
    title: 'Reloading the page after a login stays signed in and exchanges nothing again',
    rule: 'CL-28',
    why: 'Reload keeps how the page was come to: after a redirect from the portal a Strict cookie is not sent on it either.',
    fix: 'Answer the callback with a page that goes on by itself, or take a Lax cookie; and keep the callback out of the history.',
    needs: ['page'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      const landed = await followCallback(context, browser, callback)
      if (new URL(landed.url).pathname === callback.pathname && mayGoOnByScript(landed))
        throw new Undecided(describeScript(landed))
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
    why: 'People press Back; a callback that is asked for again has a code that is spent.',
    fix: 'Keep the callback out of the history, and answer a second delivery to the one who is signed in with the page that they are after.',
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
    why: 'Whoever signed out is no longer there, and the form says who they were.',
    fix: 'Check the session before the form.',
    needs: ['create', 'logout'],
    async run(context) {
      const open = await openCreateForm(context)
      await signOut(context, open.browser.newTab())
      const page = await open.browser.submit(open.page, open.form, open.values)
      expectServed(page, `It is answered with ${describePage(page)}.`)
      expect((await created(context, open.person)).length === 0, 'It was created.')
    },
  },
  {
    id: 'tabs-two-visitors',
    title: 'Two visitors at the same time see each their own',
    rule: 'visitors-apart',
    why: 'What a server keeps for one request must not reach another.',
    fix: 'Keep the session with the request, and never in a variable of the module.',
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
      expect(await context.isSignedIn(browser, { person: other }), 'The second visitor is not themselves.')
      expect(await context.isSignedIn(first.browser, { person: first.person }), 'The first visitor is not themselves.')
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
    why: 'A load balancer sends each request where there is room, so any replica has to take any step.',
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
    title: 'Whoever is signed in at one instance is signed in at another',
    rule: 'CK-12',
    why: 'A load balancer sends each request where there is room, so any replica has to take any step.',
    fix: 'Keep the session in a sealed cookie whose key all instances have, or in a store that they share.',
    needs: ['replica', 'page'],
    async run(context) {
      const { browser } = await context.signedIn()
      expect(await context.isSignedIn(browser, { origin: context.settings.replica! }), 'Nobody is signed in there.')
      expect(await context.isSignedIn(browser), 'After it nobody is signed in at the first.')
    },
  },
  {
    id: 'replica-sign-out',
    title: 'Whoever signs out at one instance is signed out at another',
    rule: 'CK-12',
    why: 'Otherwise the session lives on where the next request goes.',
    fix: 'End the session in the cookie or in the store that all share.',
    needs: ['replica', 'page', 'logout'],
    async run(context) {
      const { browser, page } = await context.signedIn()
      await signOut(context, browser, page)
      expect(
        !(await context.isSignedIn(browser, { origin: context.settings.replica! })),
        'They are still signed in there.',
      )
    },
  },
  {
    id: 'replica-refresh',
    title: 'Two instances that renew at the same time keep the visitor signed in',
    rule: 'CK-12',
    why: 'One refresh token serves once; the loser of the race must not end the session of the winner.',
    fix: 'Take a refusal of a refresh token that has just been replaced for no end.',
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
      expect(await context.isSignedIn(browser), 'After it nobody is signed in.')
    },
  },
  {
    id: 'restart-session',
    title: 'A session outlives a restart of the client',
    rule: 'survives-restart',
    why: 'Every new version is a restart, and signs everybody out otherwise.',
    fix: 'Keep the session in a sealed cookie with a key of the settings, or in a store of its own.',
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
    title: 'A login that has begun outlives a restart of the client',
    rule: 'survives-restart',
    why: 'People stand at the portal for minutes while a new version starts.',
    fix: 'Keep the login in a sealed cookie with a key of the settings, or in a store of its own.',
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
