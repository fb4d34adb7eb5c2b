// Checks on renewals that several tabs or browsers need at the same time.
import type { Browser } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect } from '../../findings.ts'
import { isAcceptedCall, isRenewal } from '../../platform-calls.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { expiredSession, newTabs, renewalIn, visitAtOnce, visitPage } from '../../steps/sessions.ts'
import { tokensSentIn } from '../../tokens.ts'

const needs: CheckDefinition['needs'] = ['page']

/** Loads the page behind the login in several tabs at once. Fails if a tab does not show the page. */
async function expectPageInTabs(context: CheckContext, browser: Browser, count: number): Promise<void> {
  const { pages, page, steps } = await visitAtOnce(context, newTabs(browser, count))
  renewalIn(context, { page, steps })
  for (const shown of pages)
    expect(
      shown.status === 200 && !shown.stoppedAt,
      `One tab got ${shown.stoppedAt ? 'a redirect to the portal' : describePage(shown)}.`,
      shown,
    )
  expect(await context.isSignedIn(browser), `After the ${count} visits, the visitor is not signed in.`)
}

export const parallel: CheckDefinition[] = [
  {
    id: 'refresh-parallel',
    title: 'If ten tabs load at once with an expired token, every tab shows the visitor as signed in',
    rule: 'RF-02',
    why: 'A browser that restores ten tabs sends ten requests at once, each with the same old cookie.',
    fix: 'Let all requests with the same refresh token share one renewal and its answer.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      await expectPageInTabs(context, browser, 10)
    },
  },
  {
    id: 'refresh-parallel-after-401',
    title: 'If five tabs load at once and the API refuses their access token, every tab shows the visitor as signed in',
    rule: 'RF-02',
    why: 'The portal can make an access token invalid before it expires. If the browser then sends several requests at once, each of them needs a renewal, and all have the same refresh token.',
    fix: 'Let all requests with the same refresh token share one renewal and its answer, whatever caused the renewal.',
    needs,
    async run(context) {
      const { browser, person } = await context.signedIn()
      await context.platform.endAccessTokens(person)
      await expectPageInTabs(context, browser, 5)
    },
  },
  {
    id: 'refresh-single-flight',
    title: 'If six tabs load at once and a seventh tab loads a short time later, the client makes only one renewal',
    rule: 'RF-03',
    why: 'A refresh token is valid only once. For ten seconds after a renewal, the portal still accepts the old refresh token and returns the same new token. After that, a renewal with the old refresh token ends the session.',
    fix: 'Let all requests with the same refresh token share one renewal, and remember its answer for a few seconds.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      const late = browser.copy()
      // Uses two different pages of the client.
      const paths = [context.settings.page, context.settings.create || context.settings.page]
      const { result: page, steps } = await context.during(async () => {
        await Promise.all(newTabs(browser, 6).map((tab, index) => context.visitUntilPortal(tab, paths[index % 2]!)))
        await context.pause(100)
        return context.visitUntilPortal(late, context.settings.page)
      })
      renewalIn(context, { page, steps })
      const renewals = steps.filter(isRenewal)
      expect(renewals.length === 1, `The client made ${renewals.length} renewals.`, ...renewals.slice(0, 4))
    },
  },
  {
    id: 'refresh-single-flight-slow',
    title:
      'If twelve tabs load one after the other while the portal needs one second for the renewal, the client makes only one renewal',
    rule: 'RF-03',
    why: 'A refresh token is valid only once. For ten seconds after a renewal, the portal still accepts the old refresh token and returns the same new token. After that, a renewal with the old refresh token ends the session.',
    fix: 'Let all requests with the same refresh token share one renewal until its answer has arrived. If the client has several processes, they need a shared lock.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order('refresh-late', { times: 20, options: { seconds: 1 } })
      // If all requests arrived at the same moment, one process of the client could get all of them.
      const { result: pages, steps } = await context.during(() =>
        Promise.all(
          newTabs(browser, 12).map(async (tab, at) => {
            await context.pause(at * 40)
            return context.visitUntilPortal(tab, context.settings.page)
          }),
        ),
      )
      renewalIn(context, { page: pages[0]!, steps })
      const renewals = steps.filter(isRenewal)
      expect(renewals.length === 1, `The client made ${renewals.length} renewals.`, ...renewals.slice(0, 4))
    },
  },
  {
    id: 'refresh-single-flight-after-401',
    title: 'If five tabs load at once and the API refuses their access token, the client makes only one renewal',
    rule: 'RF-03',
    why: 'A renewal replaces the refresh token. The portal accepts the old refresh token for ten more seconds. After that, a renewal with the old refresh token ends the session.',
    fix: 'Let all requests with the same refresh token share one renewal, and remember its answer for a few seconds, whatever caused the renewal.',
    needs,
    async run(context) {
      const { browser, person } = await context.signedIn()
      await context.platform.endAccessTokens(person)
      await context.order('refresh-late', { times: 20, options: { seconds: 0.5 } })
      const { page, steps } = await visitAtOnce(context, newTabs(browser, 5), 1000)
      renewalIn(context, { page, steps })
      const renewals = steps.filter(isRenewal)
      expect(renewals.length === 1, `The client made ${renewals.length} renewals.`, ...renewals.slice(0, 4))
    },
  },
  {
    id: 'refresh-of-two-sessions',
    title: 'If a person is signed in with two browsers, the client renews the two sessions separately',
    rule: 'renewal-of-one-session',
    why: 'If both sessions share one renewal, both use the same new tokens, and the refresh token of one session is lost. When the person then signs out in one browser, the other session ends, too.',
    fix: 'Let requests share a renewal only if they have the same refresh token. The id of the visitor is not enough.',
    needs,
    async run(context) {
      const browsers: Browser[] = []
      for (let session = 1; session <= 2; session++) {
        const { browser, start, callback } = await beginLogin(context)
        await followCallback(context, browser, callback)
        browsers.push(browser)
        // Makes the two renewals overlap.
        await context.order('refresh-late', { times: 2, options: { seconds: 0.3 }, state: start.state })
      }
      /** The access tokens that the next page of each browser uses. */
      const readTokens = async () => {
        const tokens: Set<unknown>[] = []
        for (const browser of browsers) {
          const { steps } = await visitPage(context, browser)
          tokens.push(new Set(steps.filter(isAcceptedCall).flatMap(tokensSentIn)))
        }
        return tokens
      }
      const isShared = ([first, second]: Set<unknown>[]) => [...first!].some(token => second!.has(token))
      const before = await context.during(readTokens)
      if (isShared(before.result)) throw new NotApplicable('all sessions of a person use the same tokens')
      const usual = before.steps.filter(isAcceptedCall).length
      await context.platform.endAccessTokens(await context.person())
      const { pages, steps } = await visitAtOnce(context, browsers)
      renewalIn(context, { page: pages.find(({ status }) => status === 0) ?? pages[0]!, steps })
      const renewals = steps.filter(isRenewal)
      // Perhaps the client uses the tokens of the other session only for this one page.
      const calls = steps.filter(isAcceptedCall)
      const used = new Set(calls.flatMap(tokensSentIn))
      const areServed = pages.every(({ status, stoppedAt }) => status === 200 && stoppedAt === undefined)
      expect(
        !areServed || usual < 2 || calls.length < usual || used.size > 1,
        'The client made one renewal for two sessions, and called the API for both sessions with the same access token.',
        ...renewals,
        ...calls.slice(0, 4),
      )
      expect(
        !isShared(await readTokens()),
        'The client made one renewal for two sessions, and both sessions now use the tokens from this renewal.',
        ...renewals,
      )
    },
  },
]
