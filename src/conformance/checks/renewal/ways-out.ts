// Checks that a visitor can sign in again or sign out even if the tokens of the session do not work.
import type { Browser, Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import { type CheckContext, readStart } from '../../context.ts'
import { describePage, expect } from '../../findings.ts'
import { isRenewal } from '../../platform-calls.ts'
import { followCallback } from '../../steps/callback.ts'
import { endIfScripted, isErrorPage } from '../../steps/page-content.ts'
import { renewUnder } from '../../steps/renewals.ts'
import { offersLogin, visitPage } from '../../steps/sessions.ts'
import { offersSignOut } from '../../steps/sign-out.ts'
import { tokensOf } from '../../tokens.ts'

const needs: CheckDefinition['needs'] = ['page']

/** Faults after which a later renewal can succeed. */
const temporaryFaults = ['refresh-503', 'refresh-reset']

/**
 * Makes the renewals of a session fail, and returns the page of the client. Ends the check if it is not an error page.
 */
async function failedPage(context: CheckContext, fault: string) {
  const renewing = await renewUnder(context, fault, {}, 'always')
  if (!isErrorPage(renewing.page)) throw new NotApplicable('the client shows no error page after a failed renewal')
  return renewing
}

/**
 * Opens the login path, and stops before the portal. Fails if the client does not redirect to the portal. `when` begins
 * the sentence in the finding.
 */
async function openPortal(context: CheckContext, browser: Browser, when: string): Promise<Page> {
  const page = await context.visitUntilPortal(browser, context.settings.login)
  if (page.stoppedAt === undefined) endIfScripted(page, context.settings)
  expect(
    page.stoppedAt !== undefined,
    `${when}, the login path led to ${describePage(page)}, and not to the portal.`,
    page,
  )
  return page
}

export const waysOut: CheckDefinition[] = [
  {
    id: 'refresh-failed-way-out',
    title: 'If a renewal fails temporarily, the error page offers to sign in again or to sign out',
    rule: 'way-out-after-failed-renewal',
    why: 'The session does not end, so every page of the visitor shows the same error until the portal works again. If this page has neither a sign-in link nor a sign-out form, the visitor cannot leave the session.',
    fix: 'Put a link to the login path and the sign-out form on the error page, and keep the session.',
    needs,
    async run(context) {
      for (const fault of temporaryFaults) {
        const { page } = await failedPage(context, fault)
        await context.dropFaults()
        expect(
          offersLogin(context, page) || offersSignOut(context, page),
          `With the fault ${fault}, the visitor got ${describePage(page)}, which offers neither to sign in nor to sign out.`,
          page,
        )
      }
    },
  },
  {
    id: 'refresh-failed-sign-out',
    title: 'If a renewal fails temporarily, the error page has a sign-out form or link',
    rule: 'PG-21',
    why: 'The session continues, and the visitor may want to leave the computer while the portal does not work.',
    fix: 'Use the layout of the other pages for error pages, too. The visitor is signed in as long as the browser has a refresh token, so show the sign-out form or link.',
    needs: ['page', 'logout'],
    async run(context) {
      const { page } = await failedPage(context, 'refresh-503')
      expect(offersSignOut(context, page), 'The error page has no sign-out form or link.', page)
    },
  },
  {
    id: 'refresh-failed-login',
    title: 'If a renewal fails temporarily, the visitor can sign in again',
    rule: 'way-out-after-failed-renewal',
    why: 'Some clients load the session before every request. If loading the session fails, such a client also shows the error at the login path or at the callback, and the visitor cannot sign in again.',
    fix: 'Handle the login path and the callback without loading the session. Neither of them needs the tokens of an earlier session.',
    needs,
    async run(context) {
      for (const fault of temporaryFaults) {
        const { browser } = await renewUnder(context, fault, {}, 'always')
        const page = await openPortal(context, browser, `With the fault ${fault}`)
        // The fault belongs to the first login, so it does not affect the new session.
        const landed = await followCallback(context, browser, await context.authorize(readStart(page)))
        expect(
          await context.isSignedIn(browser),
          `With the fault ${fault}, a new login ended with ${describePage(landed)}, and the visitor is not signed in.`,
          landed,
        )
        await context.dropFaults()
      }
    },
  },
  {
    id: 'refused-tokens-way-out',
    title: 'If the API also refuses the new access token of a renewal, the visitor can sign in again',
    rule: 'way-out-after-refusal',
    why: 'The client has no other token to try. If its page does not offer to sign in, or if the login path leads a visitor with a session cookie back to this page, the visitor sees the same error again and again.',
    fix: 'If the API refuses the new token, too, end the session, and show a page with a link to the login path. Do not redirect to the login, because the redirects could repeat without end.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      await context.order('api-401', { times: 'always' })
      const visit = await visitPage(context, browser)
      if (context.timesMet('api-401') === 0) throw new Undecided('The client did not call the API.')
      const renewal = visit.steps.find(isRenewal)
      if (!renewal || !tokensOf(renewal)) throw new NotApplicable('the client does not renew after a 401 answer')
      if (!isErrorPage(visit.page) && !offersLogin(context, visit.page)) endIfScripted(visit.page, context.settings)
      expect(
        offersLogin(context, visit.page),
        `The visit ended with ${describePage(visit.page)}, which does not offer to sign in.`,
        visit.page,
      )
      await openPortal(context, browser, 'While the API refused all tokens of the session')
    },
  },
]
