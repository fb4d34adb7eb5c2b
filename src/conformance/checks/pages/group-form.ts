// Checks on the form that creates a group. Many clients protect the forms about applications, and forget this form.
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import { describePage, expect, expectServed } from '../../findings.ts'
import { isAtOrigin } from '../../steps/addresses.ts'
import { changesSince, isWrite } from '../../steps/application-pages.ts'
import { expireSession } from '../../steps/ended-sessions.ts'
import { expectNoPost, isOrdinary } from '../../steps/every-form.ts'
import { openWorkingGroupForm } from '../../steps/group-form.ts'
import { asksToSignIn } from '../../steps/sessions.ts'

const needs: CheckDefinition['needs'] = ['page']

export const groupForm: CheckDefinition[] = [
  {
    id: 'group-form-no-session',
    title: 'If the form for a new group arrives after the session has ended, the visitor sees that nothing was created',
    rule: 'PG-14',
    why: 'If the client only redirects to the login path or to another page, the visitor believes that the group exists.',
    fix: 'Answer with a page that says that nothing was created and has a link to the login path. Or show this message after the login.',
    needs,
    async run(context) {
      const { browser, person, page: opened, form, values } = await openWorkingGroupForm(context)
      const left = browser.copy()
      await expireSession(context, left)
      const before = context.arrived('api')
      const page = await left.submit(opened, form, values)
      const changes = await changesSince(context, person, before)
      expect(changes.length === 0, 'The client processed the form.', page, ...changes)
      // If the portal asks for the password, the suite cannot see the page after the login.
      if (isAtOrigin(page.url, context.platform.portalUrl) || page.status >= 400) return
      expectServed(page, `The form was answered with ${describePage(page)}.`)
      const typed = Object.values(values)[0]
      const isKept = page.forms.some(({ fields }) => fields.some(([, text]) => text === typed))
      expect(
        isKept || !(await isOrdinary(context, page, left, opened)),
        `The form led to ${describePage(page)}, which says nothing about the form.`,
        page,
      )
    },
  },
  {
    id: 'group-form-failed',
    title: 'If the API fails to create a group (503), the visitor sees that the group was not created',
    rule: 'UP-06',
    why: 'If the client does not look at the status of the answer, the visitor believes that the group exists.',
    fix: 'Look at the status of every answer from the API. If the status is not 201, show a page that says that the group was not created.',
    needs,
    async run(context) {
      const { browser, page: opened, form, values } = await openWorkingGroupForm(context)
      await context.order('api-503', { times: 1 })
      const { result: page, steps } = await context.during(() => browser.newTab().submit(opened, form, values))
      await context.dropFaults()
      if (!steps.some(step => isWrite(step) && step.fault?.name === 'api-503'))
        throw new NotApplicable('the client makes another API call before it creates the group')
      expect(page.status > 0, `The form was answered with ${describePage(page)}.`, page)
      if (page.status >= 400) return
      expect(
        !(await isOrdinary(context, page, browser, opened)),
        `The API answered the creation with status 503. The form led to ${describePage(page)}, which says nothing about this.`,
        page,
      )
    },
  },
  {
    id: 'group-form-refused-kept',
    title: 'When the API refuses a new group (422), the client shows the form again with the typed name',
    rule: 'form-kept',
    why: 'A visitor who has to type everything again makes mistakes, or gives up.',
    fix: 'Show the form again with status 422, and with the name that the visitor sent. Use the same code as for new applications.',
    needs,
    async run(context) {
      const { browser, page: opened, form } = await openWorkingGroupForm(context)
      const field = form.controls.find(({ type }) => type === 'text')!.name
      const typed = `Typed by "conformance" & 'others'`
      await context.order('make-group-422-fields', { times: 1 })
      const { result: page, steps } = await context.during(() =>
        browser.newTab().submit(opened, form, { [field]: typed }),
      )
      await context.dropFaults()
      if (!steps.some(step => step.fault))
        throw new NotApplicable('the form for a new group makes no call that creates a group')
      expect(
        page.forms.some(({ fields }) => fields.some(([name, text]) => name === field && text === typed)),
        `The API refused the group with 422. The visitor got ${describePage(page)}, without the typed name in the form.`,
        page,
      )
    },
  },
  {
    id: 'group-form-401',
    title:
      'If the API refuses the access token when a visitor sends the form for a new group, the client renews the tokens or offers the login',
    rule: 'UP-14',
    why: 'An access token can become invalid before it expires. A visitor who sees another error does not know that a new login helps.',
    fix: 'Handle a 401 answer in the one function that makes all API calls: renew the tokens once, and if this does not help, offer the login.',
    needs,
    async run(context) {
      const { browser, person, page: opened, form, values } = await openWorkingGroupForm(context)
      await context.platform.endAccessTokens(person)
      const page = await browser.newTab().submit(opened, form, values, context.beforePortal)
      await context.platform.settle()
      expect(page.status > 0, `The form was answered with ${describePage(page)}.`, page)
      expect(
        context.arrived('refresh').length > 0 || asksToSignIn(context, page),
        `The client did not renew the session. The visitor got ${describePage(page)}, which does not offer to sign in.`,
        page,
      )
    },
  },
  {
    id: 'group-form-reload',
    title: 'If a visitor creates a group and reloads the next page, the browser does not send the form again',
    rule: 'PG-16',
    why: 'If the client answers the POST with a page, the browser sends the POST again on reload. The client then creates a second group.',
    fix: 'Answer every successful POST with 303 to another page.',
    needs,
    async run(context) {
      const { answer } = await openWorkingGroupForm(context)
      if (answer.status >= 400) throw new NotApplicable(`the form was answered with ${describePage(answer)}`)
      expectNoPost(answer, 'The form for a new group')
    },
  },
]
