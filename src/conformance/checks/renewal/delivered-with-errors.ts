// Checks that the client stores the new tokens of a renewal even if its answer to the visitor is an error page or a
// refused form.
import { noRedirects } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, ReportedElsewhere } from '../../check.ts'
import { describePage } from '../../findings.ts'
import { isRenewal } from '../../platform-calls.ts'
import {
  changeName,
  nameField,
  openEditForm,
  openPagesAbout,
  openWithApplication,
  readName,
} from '../../steps/application-pages.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { type OpenForm, openFormIn } from '../../steps/create-form.ts'
import { forgetRenewal, grantedIn } from '../../steps/renewals.ts'
import { expiredSession } from '../../steps/sessions.ts'
import { expectNewToken, expectStored, renewAtEach, renewedThenRefused } from './new-tokens.ts'

const needs: CheckDefinition['needs'] = ['page']

const why =
  'If an error occurs, many frameworks answer with a new page, without the cookies that the code has already set. If the client then loses the new refresh token, it sends the old refresh token again. The portal then revokes all tokens, and the session ends.'
const fix =
  'After every renewal, set the new cookies in the answer to the browser, whatever the status of this answer is. For example, set them in a hook that runs for every answer.'

/** A path that no client has. */
const unknownPath = '/not-there-conformance'

/** Faults with which the API refuses a new application. */
const refusedForms = ['create-404', 'create-409', 'create-422']

export const deliveredWithErrors: CheckDefinition[] = [
  {
    id: 'refresh-delivered-with-not-found',
    title: 'The client stores the new tokens of a renewal even if the visitor has opened a page that does not exist',
    rule: 'RF-09',
    why,
    fix,
    needs,
    longestMs: 90_000,
    async run(context) {
      const application = await openWithApplication(context)
      const { person, id } = application
      const about = (await openPagesAbout(context, application)).slice(1, 4).map(({ url }) => url)
      const below = `${context.url(context.settings.page)}${unknownPath}`
      const urls = [...about, below, context.url(unknownPath)]
      const renewed = await renewAtEach(context, person, urls, async () => {
        const token = await context.platform.tokenOf(person)
        await context.platform.callApi(token, 'DELETE', `/apps/v1/${id}`)
      })
      if (renewed.length === 0) throw new NotApplicable('no page that does not exist renews the session')
      await forgetRenewal(context)
      for (const { browser, opened } of renewed) await expectStored(context, browser, opened)
    },
  },
  {
    id: 'refresh-delivered-with-busy-api',
    title: 'The client stores the new tokens of a renewal even if the API then answers with 429 or 503',
    rule: 'RF-09',
    why,
    fix,
    needs,
    longestMs: 120_000,
    async run(context) {
      const browsers = []
      for (const fault of ['list-429', 'list-503']) {
        // The sessions belong to two people, because expiredSession makes all access tokens of a person invalid.
        const person = await context.otherPerson()
        browsers.push(await renewedThenRefused(context, () => expiredSession(context, person), fault))
        await context.dropFaults()
      }
      await forgetRenewal(context)
      for (const browser of browsers) await expectStored(context, browser)
    },
  },
  {
    id: 'refresh-delivered-with-refused-form',
    title:
      'If the client renews the session for a form, and the API then refuses the form with 404, 409 or 422, the client stores the new tokens',
    rule: 'RF-09',
    why,
    fix,
    needs: ['page', 'create'],
    longestMs: 90_000,
    async run(context) {
      const person = await context.person()
      const forms: { open: OpenForm; fault: string; state: string | undefined }[] = []
      for (const fault of refusedForms) {
        const { browser, start, callback } = await beginLogin(context)
        await followCallback(context, browser, callback)
        forms.push({ open: await openFormIn(context, browser, person), fault, state: start.state })
      }
      await context.platform.endAccessTokens(person)
      let judged = 0
      for (const { open, fault, state } of forms) {
        // The fault does not affect the first call: the API answers this call with 401, because the token is no longer
        // valid.
        await context.order(fault, { times: 'always', state })
        const { steps } = await context.during(() =>
          open.browser.submit(open.page, open.form, open.values, noRedirects),
        )
        const isMet = context.timesMet(fault) > 0
        await context.dropFaults()
        const renewal = steps.find(isRenewal)
        if (!renewal || !isMet) continue
        judged++
        await expectNewToken(context, open.browser, grantedIn(renewal))
      }
      if (judged === 0) throw new NotApplicable('the client does not renew for the form')
    },
  },
  {
    id: 'refresh-delivered-with-overtaken-form',
    title:
      'If the client renews the session for the edit form, and somebody else has changed the application, the client stores the new tokens',
    rule: 'RF-09',
    why,
    fix,
    needs,
    async run(context) {
      const application = await openWithApplication(context)
      const { browser, person } = application
      const { page, form } = await openEditForm(context, application)
      await changeName(context, application, 'Changed by somebody else')
      await context.platform.endAccessTokens(person)
      const typedName = 'Changed by conformance'
      const typed = { [nameField(form)]: typedName }
      const { result: answer, steps } = await context.during(() => browser.submit(page, form, typed, noRedirects))
      const renewal = steps.find(isRenewal)
      if (!renewal)
        throw new NotApplicable(`the client does not renew for the form, and answers with ${describePage(answer)}`)
      await expectNewToken(context, browser, grantedIn(renewal))
      if ((await readName(context, application)) === typedName)
        throw new ReportedElsewhere('the form overwrites the other change')
    },
  },
]
