// Checks on renewals of an access token: when the client renews, and whether the visitor stays signed in.
import { guidanceOf } from '../../../sandbox/lab/explain/guidance.ts'
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import type { Page } from '../../browser/browser.ts'
import { type CheckDefinition, ReportedElsewhere, Undecided } from '../../check.ts'
import { describePage, expect, expectServed, expectWithFix } from '../../findings.ts'
import { isAcceptedCall, isRenewal } from '../../platform-calls.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { openFormIn } from '../../steps/create-form.ts'
import { grantedIn } from '../../steps/renewals.ts'
import { expiredSession, renewalIn, visitPage } from '../../steps/sessions.ts'
import { cookiesOf } from '../../steps/set-cookies.ts'
import { signOut } from '../../steps/sign-out.ts'
import { tokensOf } from '../../tokens.ts'
import { deliveredWithErrors } from './delivered-with-errors.ts'
import { failures } from './failures.ts'
import { forForms } from './for-forms.ts'
import { newTokens } from './new-tokens.ts'
import { parallel } from './parallel.ts'
import { request } from './request.ts'
import { waysOut } from './ways-out.ts'

const needs: CheckDefinition['needs'] = ['page']

export const renewal: CheckDefinition[] = [
  {
    id: 'refresh-works',
    title: 'A visitor stays signed in when the access token expires',
    rule: 'refresh-used',
    why: 'The portal issues a refresh token so that the visitor can stay signed in. Visitors can lose their work if they have to sign in again.',
    fix: 'When the access token has expired, send grant_type=refresh_token and the refresh token from the token response.',
    needs,
    async run(context) {
      const { browser, page: landed } = await expiredSession(context)
      const { page, steps } = await visitPage(context, browser)
      const cookies = cookiesOf(landed.trail).filter(({ cookie }) => !cookie.isDeletion && cookie.value.length > 200)
      const hasEnded = cookies.length > 1 && cookies.every(({ cookie: { maxAge } }) => (maxAge ?? 3600) < 60)
      expectWithFix(
        hasEnded
          ? 'Give the cookie that contains the refresh token a longer Max-Age than expires_in, such as 14 days.'
          : adviceForRenewal(page, steps),
        steps.some(isAcceptedCall),
        `${hasEnded ? 'All session cookies, including the cookie with the refresh token, expire together with the access token. ' : ''}The visit ended with ${page.stoppedAt ? 'a redirect to the portal' : describePage(page)}.`,
        page,
        ...steps,
      )
    },
  },
  {
    id: 'refresh-without-state',
    title: 'After a successful renewal, the visitor is still signed in',
    rule: 'RF-08',
    why: 'The answer to a renewal has no state, because the request had none. If a client requires a state, it signs the visitor out.',
    fix: 'Do not compare the state in the answer to a renewal. Compare it only in a callback and in the answer to an exchange.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      const { page, steps } = await visitPage(context, browser)
      grantedIn(renewalIn(context, { page, steps }))
      expect(
        steps.some(isAcceptedCall),
        `The portal answered with new tokens, but the client answered the visitor with ${describePage(page)}.`,
        page,
        ...steps,
      )
    },
  },
  {
    id: 'refresh-state-optional',
    title: 'If the answer to a renewal has no state, the visitor stays signed in',
    rule: 'RF-08',
    why: 'A portal does not have to send a state in the answer to a renewal, because no browser takes part in this call. If a client requires a state, it signs the visitor out.',
    fix: 'Do not compare the state in the answer to a renewal. Compare it only in a callback and in the answer to an exchange.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order('refresh-state-missing')
      const { page, steps } = await visitPage(context, browser)
      renewalIn(context, { page, steps })
      expect(steps.some(isAcceptedCall), `The visit ended with ${describePage(page)}.`, page, ...steps)
    },
  },
  {
    id: 'refresh-not-too-often',
    title: 'If the access token is still valid for half an hour, the client does not renew it',
    rule: 'RF-10',
    why: 'If the client renews for every page, every page waits for the portal, and the renewals of several tabs interfere with each other.',
    fix: 'Renew when the token has expired, or a few seconds before it expires.',
    needs,
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await context.order('exchange-expires-in', { options: { value: 1800 } })
      await followCallback(context, browser, callback)
      for (let visit = 0; visit < 3; visit++) await visitPage(context, browser)
      const renewals = context.arrived('refresh')
      expect(
        renewals.length === 0,
        `During the login and three visits, the client renewed the token ${renewals.length} times.`,
        ...renewals,
      )
    },
  },
  {
    id: 'refresh-no-storm',
    title: 'If new tokens expire within seconds, one page does not cause endless renewals',
    rule: 'RF-10',
    why: 'Some clients renew a token some time before it expires. If each new token lives for a shorter time than this, such a client renews again and again, and never shows the page.',
    fix: 'Renew at most once for a request, and use the new token.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order('refresh-expires-in', { options: { value: 1 }, times: 4 })
      const { page, steps } = await visitPage(context, browser)
      renewalIn(context, { page, steps })
      const renewals = steps.filter(isRenewal)
      expect(
        renewals.length <= 2,
        `For one page, the client made ${renewals.length} renewals.`,
        ...renewals.slice(0, 4),
      )
      expectServed(page, `The request for the page was answered with ${describePage(page)}.`)
    },
  },
  {
    id: 'refresh-short-tokens',
    title: 'If access tokens expire after two minutes or less, the client does not renew on every visit',
    rule: 'RF-10',
    why: 'Some clients renew a token some time before it expires. If a token lives for a shorter time than this, every request causes a renewal.',
    fix: 'Renew when the token has expired, or a short time before it expires. This short time must be a small fraction of expires_in.',
    needs,
    async run(context) {
      for (const value of [120, 60, 45]) {
        const { browser, callback } = await beginLogin(context)
        await context.order('exchange-expires-in', { options: { value } })
        await context.order('refresh-expires-in', { times: 'always', options: { value } })
        const known = context.arrived('refresh').length
        const began = performance.now()
        await followCallback(context, browser, callback)
        const visits = 4
        for (let visit = 0; visit < visits; visit++) await visitPage(context, browser)
        const tookMs = performance.now() - began
        if (tookMs > 10_000) throw new Undecided('The visits took longer than ten seconds.')
        const renewals = context.arrived('refresh').slice(known)
        expect(
          renewals.length < visits,
          `expires_in was ${value}, and during ${visits} visits within a few seconds, the client made ${renewals.length} renewals.`,
          ...renewals.slice(0, 4),
        )
      }
    },
  },
  {
    id: 'refresh-not-on-errors',
    title: 'If the API answers with 404, 429 or 500, the client does not renew the access token',
    rule: 'RF-10',
    why: 'These answers do not mean that the token is invalid. Each renewal makes the visitor wait, and adds load to the platform.',
    fix: 'Renew only when the access token has expired, or after a 401 from the API.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      const unmet: string[] = []
      // After a 500 or 429 answer, a client may make no calls for a while. The check therefore tests 404 first and 429
      // last.
      for (const fault of ['api-404', 'api-500', 'api-429']) {
        await context.order(fault, { times: 'always' })
        const { steps } = await visitPage(context, browser)
        if (context.timesMet(fault) === 0) unmet.push(fault)
        await context.dropFaults()
        const renewals = steps.filter(isRenewal)
        expect(renewals.length === 0, `After the fault ${fault}, the client renewed the token.`, ...renewals)
      }
      if (unmet.length > 0)
        throw new Undecided(`The fault ${unmet.join(' or ')} did not affect any API call from the client.`)
    },
  },
  {
    id: 'refresh-not-elsewhere',
    title: 'While the access token is valid, a form, a login or a sign-out does not cause a renewal',
    rule: 'RF-10',
    why: 'Each renewal makes the visitor wait, adds load to the portal, and can disturb the requests of another tab.',
    fix: 'Renew only when the access token has expired, or after a 401 from the API.',
    needs,
    async run(context) {
      const { create, logout, login } = context.settings
      const judge = async (what: string) => {
        await context.platform.settle(300)
        const renewals = context.arrived('refresh')
        expect(renewals.length === 0, `${what}, the client renewed a valid access token.`, ...renewals)
      }
      const { browser, page: landed } = await context.signedIn()
      await browser.visit(context.url('/'))
      await judge('On the start page')
      await context.visitUntilPortal(browser.newTab(), login)
      await judge('At the start of a login')
      if (create) {
        const open = await openFormIn(context, browser, await context.person())
        await browser.submit(open.page, open.form, open.values)
        await judge('For a form')
      }
      if (logout) {
        await signOut(context, browser, landed)
        await judge('At the sign-out')
      }
    },
  },
  {
    id: 'refresh-not-from-other-site',
    title: 'While the access token is valid, a link from another site does not cause a renewal',
    rule: 'RF-10',
    why: 'Browsers do not send Strict cookies with a link from another site. If only the session cookie is Strict, the client sees a refresh token without a session, and renews a valid access token. Each link in an e-mail then makes the visitor wait, and replaces the tokens that other tabs are using.',
    fix: 'Give the session cookie and the refresh cookie the same SameSite value. If this value is Strict, and a navigation from another site arrives without a session cookie, answer it once with a meta refresh to the same path. Look at the refresh token only in the request that follows.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      const { otherSite } = context.platform
      const from = await browser.visit(otherSite.url(otherSite.page('<a href="/">Go</a>')))
      const { result: page, steps } = await context.during(() =>
        browser.newTab().visit(context.url(context.settings.page), { from, ...context.beforePortal }),
      )
      const renewals = steps.filter(isRenewal)
      expect(renewals.length === 0, 'The client renewed a valid access token.', page, ...renewals)
      if (!steps.some(isAcceptedCall)) throw new ReportedElsewhere('the link does not open the page')
      // Ends the check if the client never renews a session.
      renewalIn(context, await visitPage(context, (await expiredSession(context)).browser))
    },
  },
  ...request,
  ...newTokens,
  ...deliveredWithErrors,
  ...parallel,
  ...failures,
  ...forForms,
  ...waysOut,
]

/**
 * Says how to fix a client whose API calls all failed during a visit. The advice depends on the result of the renewal.
 */
function adviceForRenewal(page: Page, steps: LabStep[]): string {
  const renewal = steps.findLast(isRenewal)
  const isRefused = steps.some(({ kind, response }) => kind === 'api' && response.status === 401)
  if (renewal && (renewal.response.status !== 200 || !tokensOf(renewal))) {
    const fix = renewal.reason ? ` ${guidanceOf(renewal.reason).fix}` : ''
    return `The client sent a renewal, and the portal refused it with status ${renewal.response.status}.${fix}`
  }
  if (renewal && isRefused)
    return 'The renewal worked, but the client called the API with the old access token. Use the new access token for the same visit.'
  if (renewal)
    return 'The renewal worked, but the client made no API call with the new token. See the output of the client, and the cookies that it set.'
  if (isRefused)
    return 'The API refused the access token with 401. Renew with grant_type=refresh_token and the refresh token, and then repeat the API call once.'
  if (page.status === 0 || page.status >= 500)
    return 'The client failed before it sent a renewal. Its output can show why. When the Max-Age of a cookie has passed, the browser no longer sends the cookie. So keep the refresh token in its own cookie with a longer Max-Age, or on the server.'
  return 'When the access token has expired, or its cookie is gone, send grant_type=refresh_token and the refresh token from the token response. Keep the refresh token in its own cookie, which lives longer than the access token. If the server keeps the tokens, let the session cookie live longer than the access token.'
}
