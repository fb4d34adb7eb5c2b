// Checks on renewals that the client needs for a form.
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, fail, failWithFix, waitedMs } from '../../findings.ts'
import { isRenewal } from '../../platform-calls.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { isCreation, openCreateForm, openFormIn, submitCreate } from '../../steps/create-form.ts'
import { isBareFailure } from '../../steps/page-content.ts'
import { expectBack } from '../../steps/renewals.ts'
import { asksToSignIn, endToken, renewalIn, shortLifeOrder, visitPage } from '../../steps/sessions.ts'

/**
 * Opens the form for a new application, makes the API refuse the access token, orders the fault for the renewal, and
 * then sends the form. Ends the check if the client makes no renewal for the form.
 */
async function renewForForm(context: CheckContext, fault: string, options: Record<string, unknown>) {
  const { browser, form, page: shown, values, person } = await openCreateForm(context)
  await context.platform.endAccessTokens(person)
  await context.order(fault, { times: 'always', options })
  const { result: page, steps } = await context.during(() => browser.submit(shown, form, values, context.beforePortal))
  const renewal = renewalIn(context, { page, steps })
  return { browser, person, page, steps, renewal, renewals: steps.filter(isRenewal) }
}

export const forForms: CheckDefinition[] = [
  {
    id: 'refresh-for-form',
    title:
      'If the access token has expired when a visitor sends a form, the client renews the session, and the form is not lost',
    rule: 'refresh-used',
    why: 'The access token can expire while the visitor fills in a form. Without a renewal, the visitor has to sign in again before the client accepts the form.',
    fix: 'Renew the session in the function that reads it, for every request method.',
    needs: ['page', 'create'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      const person = await context.person()
      await context.order('exchange-expires-in', shortLifeOrder)
      const drop = await context.order('refresh-expires-in', { ...shortLifeOrder, times: 'always' })
      await followCallback(context, browser, callback)
      const typed = 'Typed before the renewal'
      const open = await openFormIn(context, browser, person, typed)
      await drop()
      await endToken(context, person)
      const copy = browser.copy()
      const { result: page, steps } = await context.during(() => browser.submit(open.page, open.form, open.values))
      const renewal = steps.find(isRenewal)
      if (renewal) {
        // It is also correct if the client shows the form again, for example because it has no session when the form
        // arrives.
        const texts = [page.body, ...page.forms.flatMap(({ fields }) => fields.map(([, value]) => value))]
        const isKept = texts.some(text => text.includes(typed))
        if (isKept || renewal.response.status !== 200 || steps.some(isCreation)) return
        await submitCreate(context, await openCreateForm(context))
        failWithFix(
          'Bind a form to the id of the visitor or to the session. A renewal changes the access token, so do not compute any value in the form from the access token.',
          `The client renewed the session for the form, but then created nothing, and answered with ${describePage(page)}. This page does not contain the typed text.`,
          page,
          renewal,
        )
      }
      renewalIn(context, await visitPage(context, copy))
      fail(
        `The client did not renew the token for the form, and answered with ${describePage(page)}. When the browser requests a page, the client renews the token.`,
        page,
      )
    },
  },
  {
    id: 'refresh-kept-for-form',
    title:
      'If the client must renew the tokens to process a form, and the renewal fails temporarily, the visitor gets a page, and the session does not end',
    rule: 'RF-05',
    why: 'The refresh token is still valid, so a later renewal can succeed. Clients often have separate code for forms.',
    fix: 'Let every request renew through the same function. After a failure of the portal, keep the cookies, and answer with a page that offers to try again.',
    needs: ['page', 'create'],
    longestMs: 90_000,
    async run(context) {
      // If the API has refused the token, some clients renew the session for a form, but ask the visitor to sign in if
      // the browser requests a page.
      const { browser, person } = await context.signedIn()
      await context.platform.endAccessTokens(person)
      renewalIn(context, await visitPage(context, browser))
      for (const fault of ['refresh-503', 'refresh-reset']) {
        const renewing = await renewForForm(context, fault, {})
        const { page } = renewing
        expect(
          page.status > 0 && !isBareFailure(page),
          `With the fault ${fault}, the client answered the form with ${describePage(page)}.`,
          page,
        )
        await expectBack(context, renewing, `After a form whose renewal had the fault ${fault}`)
      }
    },
  },
  {
    id: 'refresh-dropped-for-form',
    title: 'If the portal refuses the refresh token while a visitor sends a form, the client offers to sign in',
    rule: 'RF-05',
    why: 'The portal can end the session while the visitor types. If the client shows an error each time, the visitor cannot sign in again.',
    fix: 'After invalid_grant, end the session that has the refused refresh token, and offer to sign in, even in the answer to a form. Do not delete the cookies of a newer session.',
    needs: ['page', 'create'],
    async run(context) {
      const { browser, page } = await renewForForm(context, 'refresh-400', { error: 'invalid_grant' })
      expect(page.status > 0 && page.status < 500, `The client answered the form with ${describePage(page)}.`, page)
      const next = await visitPage(context, browser)
      expect(
        asksToSignIn(context, page) || asksToSignIn(context, next.page),
        `The form and the next visit ended with ${describePage(page)} and ${describePage(next.page)}. Neither page offers to sign in.`,
        page,
        next.page,
      )
      const renewals = context.arrived('refresh')
      expect(
        renewals.length <= 1,
        `The client sent the refused refresh token ${renewals.length} times.`,
        ...renewals.slice(0, 3),
      )
    },
  },
  {
    id: 'refresh-slow-for-form',
    title: 'If the portal does not answer a renewal for a form, the visitor gets a page within fifteen seconds',
    rule: 'UP-03',
    why: 'Visitors do not wait longer than fifteen seconds, and every waiting request uses memory. Clients often have separate code for forms.',
    fix: 'Give every call to the portal a deadline of a few seconds, whatever request causes the call.',
    needs: ['page', 'create'],
    longestMs: 90_000,
    async run(context) {
      const { browser, form, page: shown, values, person } = await openCreateForm(context)
      await context.platform.endAccessTokens(person)
      await context.order('refresh-never', { times: 5 })
      const page = await browser.submit(shown, form, values, context.beforePortal)
      // The sandbox records the renewal only when the client closes the connection.
      await context.platform.settle(2000)
      if (context.timesMet('refresh-never') === 0) throw new NotApplicable('the client does not renew for the form')
      const seconds = Math.round(waitedMs(page) / 1000)
      expect(page.status > 0, `There was no answer: ${page.error}.`, page)
      expect(seconds <= 15, `The answer took ${seconds} seconds.`, page)
    },
  },
]
