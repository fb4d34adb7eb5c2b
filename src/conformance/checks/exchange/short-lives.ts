// Tests a login whose token response has an expires_in of less than one second.
import type { Page } from '../../browser/browser.ts'
import type { CheckDefinition } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, fail } from '../../findings.ts'
import { isAcceptedCall, isRenewal } from '../../platform-calls.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { expectNoRenewal } from '../../steps/renewals.ts'
import {
  asksToSignIn,
  expiredSession,
  openSession,
  renewalIn,
  requireFaultyExchange,
  visitPage,
} from '../../steps/sessions.ts'
import { cookiesOf } from '../../steps/set-cookies.ts'
import { orderTokenResponse } from '../../steps/token-responses.ts'

const rule = {
  rule: 'short-lifetime',
  fix: 'Round expires_in down, but to at least one second. Or refuse the token response with a page that says that the login failed.',
  needs: ['page'],
} satisfies Partial<CheckDefinition>

export const shortLives: CheckDefinition[] = [
  {
    id: 'token-answer-half-second-cookies',
    title:
      'If a token response without a refresh token has an expires_in of half a second, the answer that begins the session does not delete the cookie of this session',
    ...rule,
    why: 'If the client rounds the lifetime down to 0, the browser deletes the cookie at once. The visitor is not signed in, and does not learn why.',
    async run(context) {
      const usual = await openSession(context)
      const names = new Set(usual.cookies.map(({ cookie }) => cookie.name))
      const page = await loginWithoutRefreshToken(context)
      // A client may refuse this token response.
      if (page.status >= 400) return
      for (const { cookie, exchange } of cookiesOf(page.trail)) {
        // To delete a cookie, a client sets no value or a short one, such as "deleted".
        const isNew = names.has(cookie.name) && cookie.value.length >= 16
        expect(
          !(isNew && cookie.isDeletion),
          `The session cookie ${cookie.name} has a new value, and a Max-Age or Expires with which the browser deletes it at once.`,
          exchange,
        )
      }
    },
  },
  {
    id: 'token-answer-half-second-renewed',
    title:
      'If a token response with a refresh token has an expires_in of half a second, the client renews the session once, and then uses the new tokens',
    ...rule,
    why: 'With the refresh token, the client can continue the session. If the short lifetime also ends the cookie with the refresh token, the visitor is signed out. If it also applies to the next access token, the client renews at each request.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await context.order('exchange-expires-in-fraction')
      const landed = await followCallback(context, browser, callback)
      await requireFaultyExchange(context)
      // A client may refuse this token response.
      if (landed.status >= 400 || asksToSignIn(context, landed)) return
      await context.pause(1200)
      const first = await visitPage(context, browser)
      if (!first.steps.some(isAcceptedCall)) {
        // Ends the check if the client never renews a session.
        renewalIn(context, await visitPage(context, (await expiredSession(context)).browser))
        const got = first.page.stoppedAt ? 'a redirect to the portal' : describePage(first.page)
        fail(
          `When the access token had expired, the visitor got ${got}. With an expires_in of two seconds, the client renews the session.`,
          landed,
          first.page,
        )
      }
      if (!first.steps.some(isRenewal)) return
      const next = await visitPage(context, browser)
      expectNoRenewal(context, next.steps, next.page)
    },
  },
]

/**
 * Runs a login with a token response that has an expires_in of half a second and no refresh token. Returns the page
 * after the login.
 */
async function loginWithoutRefreshToken(context: CheckContext): Promise<Page> {
  const { browser, start, callback } = await beginLogin(context)
  await orderTokenResponse(context, start, { expires_in: 0.5 })
  const page = await followCallback(context, browser, callback, context.beforePortal)
  await requireFaultyExchange(context)
  return page
}
