// Checks whether sessions and tokens end on time, and how many calls and how much memory the client needs.
import { type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, fail, statusOf } from '../../findings.ts'
import { isAwaitedCall, isCallWithToken } from '../../platform-calls.ts'
import { filledFields, openPagesAbout, openWithApplication, ownForm } from '../../steps/application-pages.ts'
import { makeApplication, makeGroup } from '../../steps/applications.ts'
import { beginLogin, cookieHeader, followCallback, typedAddress } from '../../steps/callback.ts'
import { openCreateForm, openFormIn, submitCreate } from '../../steps/create-form.ts'
import { endIfScripted } from '../../steps/page-content.ts'
import { asksToSignIn, expiredSession, requireFaultyExchange, visitPage } from '../../steps/sessions.ts'
import { tokensOf, tokensSentIn } from '../../tokens.ts'
import { usageOf } from './usage.ts'

const needs: CheckDefinition['needs'] = ['page']

/** The lifetime of the short sessions in these checks, in seconds. */
const shortLife = 2

/** How many unfinished logins the check begins. If the client is slow, the check begins fewer. */
const mostLogins = 1000
const loginsMs = 4000
const atOnce = 16

/**
 * The limit for additional memory. A client that keeps a few KB for each unfinished login for a while stays below it.
 */
const mostGrowthMb = 100
const mostConnections = 60

/** Whether the client calls the platform with the token if a request for the page contains the cookies. */
async function isTaken(
  context: CheckContext,
  cookie: string,
  token: unknown,
  page = context.settings.page,
): Promise<boolean> {
  const { steps } = await context.during(() => context.request(page, { headers: { cookie, ...typedAddress } }))
  return steps.some(step => isCallWithToken(step) && tokensSentIn(step).includes(token))
}

async function leaveLogins(context: CheckContext): Promise<number> {
  const end = performance.now() + loginsMs
  let begun = 0
  const worker = async () => {
    while (begun < mostLogins && performance.now() < end) {
      begun++
      await context.request(context.settings.login, { headers: typedAddress })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return begun
}

export const time: CheckDefinition[] = [
  {
    id: 'time-session-ends-at-server',
    title: 'If a session has expired, the client no longer accepts the cookie of this session',
    rule: 'CK-07',
    why: 'Max-Age only tells the browser when to delete a cookie. If the client itself does not check the time, it accepts a copy of the cookie as long as the token works.',
    fix: 'Write the time at which the session ends into the sealed cookie or the store. At each request, compare this time with the current time.',
    needs,
    async run(context) {
      // Many clients check the end of the session separately on each page.
      const application = await openWithApplication(context)
      const pages = (await openPagesAbout(context, application)).slice(1, 4).map(({ url }) => url)
      if (context.settings.create) pages.push(context.settings.create)
      const { browser, callback } = await beginLogin(context)
      // With this fault, the token response has no refresh token. With a refresh token, the client could renew the
      // session.
      await context.order('exchange-short-session', { options: { seconds: shortLife } })
      await followCallback(context, browser, callback)
      const exchange = (await context.codeExchanges()).find(({ fault }) => fault)
      if (!exchange)
        throw new Undecided('The portal answered the exchange without the fault that this check had ordered.')
      const token = tokensOf(exchange)?.access_token
      const cookie = cookieHeader(context, browser, context.settings.page)
      if (!(await isTaken(context, cookie, token)))
        throw new Undecided('After this token response, the visitor is not signed in.')
      if (cookie === '')
        throw new Undecided('The client set no cookie for the session, so the check cannot send a copy.')
      await context.pause(shortLife * 1000 + 700)
      expect(
        !(await isTaken(context, cookie, token)),
        `expires_in was ${shortLife} seconds, but after this time, the client still accepts the same cookies and calls the API with the same token.`,
      )
      for (const page of pages)
        expect(
          !(await isTaken(context, cookie, token, page)),
          `expires_in was ${shortLife} seconds. After this time, the client refuses the same cookies at ${context.settings.page}, but accepts them at ${new URL(page, context.settings.client).pathname}, and calls the API with the same token.`,
        )
    },
  },
  {
    id: 'time-form-ends-at-server',
    title: 'If a form arrives with the cookie of an expired session, the client does not do what the form asks for',
    rule: 'CK-07',
    why: 'Many clients check the end of the session only in the function that shows a page. A form with a copy of the cookie can then still create applications.',
    fix: 'At each request, including forms, compare the end of the session with the current time.',
    needs: ['page', 'create'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      const person = await context.person()
      // With this fault, the token response has no refresh token. The session is longer than in the check above,
      // because opening the form takes some time.
      const seconds = 2 * shortLife
      await context.order('exchange-short-session', { options: { seconds } })
      await followCallback(context, browser, callback)
      const began = performance.now()
      const token = tokensOf((await context.codeExchanges())[0]!)?.access_token
      const open = await openFormIn(context, browser, person)
      const cookie = cookieHeader(context, browser, open.form.action)
      if (cookie === '' || performance.now() - began > (seconds - 1) * 1000)
        throw new Undecided('The form was not open before the session ended.')
      await context.pause(seconds * 1000 + 700)
      const { result: answer, steps } = await context.during(() =>
        context.request(open.form.action, {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded', cookie, ...ownForm(context) },
          body: `${new URLSearchParams(filledFields(open.form, open.values))}`,
        }),
      )
      const calls = steps.filter(step => step.kind === 'api' && tokensSentIn(step).includes(token))
      expect(
        calls.length === 0,
        `expires_in was ${seconds} seconds, but after this time, the client still accepts a form with the same cookies and calls the API with the same token.`,
        answer,
        ...calls,
      )
      await submitCreate(context, await openCreateForm(context))
    },
  },
  {
    id: 'time-token-ends-early',
    title: 'If the API refuses an access token before it expires, the client renews it or offers to sign in',
    rule: 'token-ends-early',
    why: 'The portal can revoke a token before it expires, and the clocks of two servers can differ. Only the API knows whether a token is still valid.',
    fix: 'If the API answers 401, the token is no longer valid, even if expires_in has not passed. Renew once, or redirect to the login path.',
    needs,
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await context.order('exchange-early-end-of-access-token', { options: { seconds: 1 } })
      await followCallback(context, browser, callback)
      await requireFaultyExchange(context)
      await context.pause(2300)
      const { page, steps } = await visitPage(context, browser)
      const calls = steps.filter(({ kind }) => kind === 'api' || kind === 'refresh')
      expect(page.status > 0 && page.status < 500, `The client answered with ${describePage(page)}.`, page, ...calls)
      expect(calls.length <= 8, `One visit makes ${calls.length} calls.`, page, ...calls.slice(0, 4))
      const [exchange] = context.arrived('exchange')
      const token = exchange && tokensOf(exchange)?.access_token
      if (steps.some(step => step.kind === 'api' && step.response.status < 400 && tokensSentIn(step).includes(token)))
        throw new Undecided('The API still accepts the token.')
      const isShown = steps.some(({ kind, response }) => kind === 'api' && response.status < 400)
      if (isShown || asksToSignIn(context, page)) return
      endIfScripted(page, context.settings)
      fail(`The visit ended with ${describePage(page)}, which does not offer to sign in.`, page, ...calls)
    },
  },
  {
    id: 'calls-of-a-page',
    title:
      'For a visitor with six applications and several groups, the client makes at most two platform calls for each page',
    rule: 'DO-14',
    why: 'If the client makes a call for each application, a few visitors with many applications can overload the platform and the client.',
    fix: 'Show only data from the answer that contains the list. Ask for a single application only on its own page, and keep the name of the visitor in the session.',
    needs,
    async run(context) {
      const { browser, person } = await context.signedIn()
      let id = ''
      for (let count = 1; count <= 6; count++) id = await makeApplication(context, person, { name: `Weather ${count}` })
      const { page, steps } = await visitPage(context, browser)
      const calls = steps.filter(isAwaitedCall)
      if (!calls.some(({ response }) => response.status < 400)) throw new Undecided('The page made no call.')
      expect(calls.length <= 2, `One visit made ${calls.length} calls.`, page, ...calls.slice(0, 6))
      // Also looks at a page about one application, and at the form with the groups.
      const urls = (await openPagesAbout(context, { browser, person, id })).slice(1).map(({ url }) => url)
      if (context.settings.create) urls.push(context.url(context.settings.create))
      for (let count = 1; count <= 4; count++) await makeGroup(context, person, `Group ${count}`)
      for (const url of urls) {
        const { result: one, steps } = await context.during(() => context.visitUntilPortal(browser.newTab(), url))
        const made = steps.filter(isAwaitedCall)
        expect(
          made.length <= 2 * one.trail.length,
          `A visit to one page made ${made.length} calls.`,
          one,
          ...made.slice(0, 6),
        )
      }
    },
  },
  {
    id: 'calls-after-expiry',
    title:
      'If the access token has expired, the client makes at most two calls for a page: the renewal and one API call',
    rule: 'DO-14',
    why: 'The visitor waits for the renewal, too. With more calls, the page is slow, and many visitors who come back at the same time overload the platform.',
    fix: 'After a renewal, make only the API call that the page needs most. Load all other data with the next request.',
    needs,
    async run(context) {
      const { browser, person } = await context.signedIn()
      const id = await makeApplication(context, person, { name: 'Weather' })
      const urls = new Set((await openPagesAbout(context, { browser, person, id })).map(({ url }) => url))
      if (context.settings.create) urls.add(context.url(context.settings.create))
      let judged = 0
      for (const url of urls) {
        const expired = await expiredSession(context, person)
        await context.platform.settle()
        const { result: page, steps } = await context.during(() => context.visitUntilPortal(expired.browser, url))
        // Does not count the request for the user's name, because simple clients use it to get the user's id, which
        // they need to read the groups.
        const made = steps.filter(step => isAwaitedCall(step) && step.kind !== 'me')
        // Leaves out pages on which the client renews only after a 401 answer, because the client may then send the
        // refused calls once more.
        if (made[0]?.kind !== 'refresh') continue
        judged++
        expect(
          made.length <= 2 * page.trail.length,
          `With an expired access token, a visit to one page made ${made.length} calls.`,
          page,
          ...made.slice(0, 6),
        )
      }
      if (judged === 0) throw new NotApplicable('the client does not renew before it calls the API')
    },
  },
  {
    id: 'calls-of-a-login',
    title: 'For a login, the client makes one exchange, and at most two other portal calls',
    rule: 'DO-14',
    why: 'The visitor waits for these calls, and many calls for each login overload the portal.',
    fix: "During the callback, send only the exchange, and one request for the visitor's name if you show this name.",
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      const page = await followCallback(context, browser, callback, context.beforePortal)
      await context.platform.settle()
      const calls = context.arrived('exchange', 'refresh', 'me')
      if (calls.length === 0) throw new Undecided('The client made no exchange.')
      expect(calls.length <= 3, `One login made ${calls.length} calls.`, page, ...calls.slice(0, 6))
    },
  },
  {
    id: 'time-left-logins',
    title: 'After a thousand unfinished logins, the client uses only a little more memory and a few more connections',
    rule: 'DO-10',
    why: 'Anyone can begin any number of logins without a password. If the client keeps each login in memory, it runs out of memory, and fails for all visitors.',
    fix: 'Keep each login in a sealed cookie. Or keep logins on the server, and limit their number and age. Reuse connections to the portal.',
    needs: ['process'],
    isAlone: true,
    async run(context) {
      const pid = context.clientProcess?.pid?.()
      if (pid === undefined || usageOf(pid) === undefined)
        throw new NotApplicable('the memory of a process can be read on Linux only')
      // Makes some requests first, because a program needs more memory during its first requests.
      for (let warmUp = 0; warmUp < 50; warmUp++)
        await context.request(context.settings.login, { headers: typedAddress })
      const before = usageOf(pid)
      const begun = await leaveLogins(context)
      await context.pause(300)
      const after = usageOf(pid)
      if (!before || !after) throw new Undecided('The process of the client ended during the measurement.')
      const grown = Math.round(after.megabytes - before.megabytes)
      expect(
        grown <= mostGrowthMb,
        `After ${begun} logins, the client uses ${grown} MB more memory than before (${Math.round(before.megabytes)} MB).`,
      )
      const open = after.connections - before.connections
      expect(
        open <= mostConnections,
        `After ${begun} logins, the client has ${open} more open connections than before.`,
      )
      const next = await context.request(context.settings.login, { headers: typedAddress })
      expect(
        statusOf(next) > 0 && statusOf(next) < 500,
        `The client answered the next login with status ${statusOf(next)}.`,
        next,
      )
    },
  },
]
