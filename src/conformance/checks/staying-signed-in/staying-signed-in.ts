// Checks what happens when the access token has expired, or when the API refuses it. In some cases the session must
// continue, and in other cases it must end.
import { type CheckDefinition, Undecided } from '../../check.ts'
import { describePage, expect, waitedMs } from '../../findings.ts'
import { isRenewal } from '../../platform-calls.ts'
import { leadsTo } from '../../steps/addresses.ts'
import { followCallback } from '../../steps/callback.ts'
import { expectCallEnds } from '../../steps/hanging-calls.ts'
import { asksToSignIn, expiredSession, ownCookies, renewalIn, visitAtOnce, visitPage } from '../../steps/sessions.ts'

const needs: CheckDefinition['needs'] = ['page']

/** Faults of a renewal. After each of them, a later renewal can succeed. */
const forNow: [fault: string, what: string][] = [
  ['503', 'with status 503'],
  ['500', 'with status 500'],
  ['429', 'with status 429'],
  ['reset', 'by resetting the connection'],
  ['html', 'with an HTML page from a proxy'],
  ['cut', 'by resetting the connection in the middle of the answer'],
]

export const stayingSignedIn: CheckDefinition[] = [
  {
    id: 'expired-session-answers',
    title: 'If the access token has expired, a page shows its content, or offers to sign in',
    rule: 'login-works',
    why: 'The access token of every session expires after expires_in seconds. A visitor who then sees an error does not know that a new login helps.',
    fix: 'Renew the token, or redirect to the login path. Never answer with an error.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      const { page } = await visitPage(context, browser)
      expect(page.status > 0 && page.status < 500, `The client answered with ${describePage(page)}.`, page)
      expect(page.error === undefined, `The browser got no page: ${page.error}.`, page)
    },
  },
  ...forNow.map(
    ([fault, what]): CheckDefinition => ({
      id: `refresh-kept-on-${fault}`,
      title: `If the portal answers a renewal ${what}, the session does not end`,
      rule: 'RF-05',
      why: 'The refresh token is still valid, so a later renewal can succeed. Only a permanent refusal may end the session.',
      fix: 'Keep the cookies, and answer with a page that offers to try again.',
      needs,
      async run(context) {
        const { browser } = await expiredSession(context)
        await context.order(`refresh-${fault}`)
        const { page, steps } = await visitPage(context, browser)
        expect(page.status > 0, `There was no answer: ${page.error}.`, page)
        renewalIn(context, { page, steps })
        // Tries several times, because the client may remember for a while that the portal was down.
        const end = performance.now() + 15_000
        let isBack = await context.isSignedIn(browser)
        while (!isBack && performance.now() < end) {
          await context.pause(3000)
          isBack = await context.isSignedIn(browser)
        }
        expect(isBack, 'Although the portal works again, the visitor is no longer signed in.', page)
      },
    }),
  ),
  {
    id: 'refresh-dropped-on-invalid-grant',
    title:
      'If the portal refuses a refresh token with invalid_grant, the client does not send this token again, and offers to sign in',
    rule: 'RF-05',
    why: 'The refused refresh token never works again, so each visit would make a useless call to the portal.',
    fix: 'Delete the refresh token after invalid_grant, and redirect to the login path.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order('refresh-400', { times: 'always', options: { error: 'invalid_grant' } })
      const first = await visitPage(context, browser)
      const refusal = renewalIn(context, first)
      if (!String(refusal.response.body).includes('invalid_grant'))
        throw new Undecided('The portal did not refuse the refresh token with invalid_grant.')
      const visits = [first, await visitPage(context, browser), await visitPage(context, browser)]
      const renewals = visits.flatMap(({ steps }) => steps.filter(isRenewal))
      expect(
        renewals.length <= 1,
        `Three visits sent the refused refresh token ${renewals.length} times.`,
        ...renewals.slice(0, 3),
      )
      expect(
        first.page.status > 0 && first.page.status < 500,
        `The client answered the first visit with ${describePage(first.page)}.`,
        first.page,
      )
      const pages = visits.map(({ page }) => page)
      expect(
        pages.some(page => asksToSignIn(context, page)),
        `Three visits ended with ${pages.map(describePage).join(', ')}. No page offers to sign in.`,
        ...pages,
      )
    },
  },
  {
    id: 'refresh-slow',
    title:
      'If the portal never answers a renewal, the visitor gets a page within fifteen seconds, and the client ends the call',
    rule: 'UP-03',
    why: 'Visitors do not wait longer than fifteen seconds, and every waiting request uses memory.',
    fix: 'Give every call to the portal a deadline of a few seconds. When the deadline passes, close the connection of the call.',
    needs,
    longestMs: 90_000,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order('refresh-never')
      const { page } = await visitPage(context, browser)
      const seconds = Math.round(waitedMs(page) / 1000)
      // The sandbox records the renewal only when the client closes the connection.
      await context.platform.settle(2000)
      expect(page.status > 0, `There was no answer: ${page.error}.`, page)
      if (context.timesMet('refresh-never') === 0) renewalIn(context, { page, steps: context.arrived('refresh') })
      expect(seconds <= 15, `The page took ${seconds} seconds.`, page)
      await expectCallEnds(context, 'refresh', 'refresh-never')
    },
  },
  {
    id: 'refresh-once-on-401',
    title: 'If the API refuses an access token, the client renews it at most once for each page',
    rule: 'UP-14',
    why: 'If the API also refuses the new token, a third token does not help. Each additional renewal makes the visitor wait and adds load to the platform.',
    fix: 'Renew once, and repeat the API call once. If the API also refuses this call, redirect to the login path.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      await context.order('api-401', { times: 'always' })
      const { page, steps } = await visitPage(context, browser)
      const renewals = steps.filter(isRenewal)
      expect(renewals.length <= 1, `One page made ${renewals.length} renewals.`, ...renewals.slice(0, 4))
      expect(page.error === undefined, `The browser got no page: ${page.error}.`, page)
    },
  },
  {
    id: 'api-401-says-so',
    title: 'If the API refuses the access token, the visitor gets an error page, or a page that offers to sign in',
    rule: 'UP-14',
    why: 'Visitors who see an empty page believe that their data is lost.',
    fix: 'Redirect to the login, or answer with 401 and a link to sign in.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      await context.order('api-401', { times: 'always' })
      const { page, steps } = await visitPage(context, browser)
      if (!steps.some(({ response }) => response.status === 401))
        throw new Undecided('The client did not call the API.')
      const ways = [...page.links.map(({ url }) => url), ...page.forms.map(({ action }) => action)]
      const login = context.url(context.settings.login)
      const saysSo = page.stoppedAt !== undefined || page.status >= 400 || ways.some(url => leadsTo(url, login))
      expect(saysSo, `The client answered with ${describePage(page)}, which does not offer to sign in.`, page)
    },
  },
  {
    id: 'refresh-not-on-403',
    title: 'If the API answers 403, the client does not renew the token and does not end the session',
    rule: 'UP-14',
    why: 'Status 403 means that the visitor is not allowed to make this call. The token is valid, and a new token would have the same rights.',
    fix: 'Renew or sign out only after a 401 answer.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      await context.order('api-403', { times: 1 })
      const { page, steps } = await visitPage(context, browser)
      if (!steps.some(({ response }) => response.status === 403))
        throw new Undecided('The client did not call the API.')
      const renewals = steps.filter(isRenewal)
      expect(renewals.length === 0, 'The client renewed the token.', ...renewals)
      expect(page.stoppedAt === undefined, 'The page redirects to the portal.', page)
      expect(await context.isSignedIn(browser), 'The visitor is no longer signed in.')
    },
  },
  {
    id: 'refresh-keeps-visitor',
    title:
      'If the sessions of two visitors are renewed at the same time, neither visitor gets the session of the other visitor',
    rule: 'visitors-apart',
    why: 'If the requests of two visitors share a renewal, one visitor sees the data of the other visitor.',
    fix: 'Let requests share a renewal only if they have the same refresh token.',
    needs,
    async run(context) {
      const people = [await context.person(), await context.otherPerson()]
      // Makes both renewals slow, because otherwise the renewals of a fast client would not overlap.
      const late = { times: 20, options: { seconds: 1 } }
      const first = await expiredSession(context, people[0])
      const drops = [await context.order('refresh-late', late)]
      const second = await expiredSession(context, people[1])
      drops.push(await context.order('refresh-late', late))
      const visits = await visitAtOnce(context, [first.browser, second.browser])
      for (const drop of drops) await drop()
      renewalIn(context, visits)
      const calls = visits.steps.filter(({ kind, response }) => kind === 'api' && response.status < 400)
      const callers = new Set(calls.map(({ about }) => about.userId))
      const areShown = visits.pages.every(({ status, stoppedAt }) => status === 200 && stoppedAt === undefined)
      expect(
        !areShown || calls.length < 2 || callers.size > 1,
        'The client called the API for both visitors with the access token of one visitor.',
        ...visits.pages,
        ...calls,
      )
      expect(
        !(await context.isSignedIn(first.browser, { person: second.person })),
        'The first visitor is now signed in as the second visitor.',
      )
      expect(
        !(await context.isSignedIn(second.browser, { person: first.person })),
        'The second visitor is now signed in as the first visitor.',
      )
      expect(
        await context.isSignedIn(first.browser, { person: first.person }),
        'The first visitor is no longer signed in.',
      )
      expect(
        await context.isSignedIn(second.browser, { person: second.person }),
        'The second visitor is no longer signed in.',
      )
    },
  },
  {
    id: 'session-cookies-after-refresh',
    title: 'The number of cookies does not grow with each renewal',
    rule: 'few-small-cookies',
    why: 'If each renewal adds a cookie, the Cookie header grows. Servers refuse headers of more than about 16 KB, and the visitor then sees only an error.',
    fix: 'Set the new cookies with the same names and paths as the old cookies.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      const before = ownCookies(context, browser).length
      renewalIn(context, await visitPage(context, browser))
      const after = ownCookies(context, browser).length
      // Allows two more cookies, because the renewal may restore cookies that had expired before.
      expect(after <= before + 2, `The browser had ${before} cookies before the renewal, and has ${after} now.`)
    },
  },
  {
    id: 'session-cookies-after-logins',
    title: 'The number of cookies does not grow with each login',
    rule: 'few-small-cookies',
    why: 'If each login adds a cookie and no answer deletes it, the Cookie header grows. Servers refuse headers of more than about 16 KB, and the visitor then sees only an error.',
    fix: 'Set the cookies of a new session with the same names and paths as the cookies of the old session, and delete the cookie of a login after its callback.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      const before = ownCookies(context, browser).length
      for (let login = 0; login < 4; login++) {
        const callback = await context.authorize(await context.startLogin(browser))
        await followCallback(context, browser, callback)
      }
      const names = ownCookies(context, browser)
      expect(
        names.length <= before + 2,
        `The browser had ${before} cookies after the first login. After four more logins it has ${names.length}: ${names.join(', ')}.`,
      )
    },
  },
]
