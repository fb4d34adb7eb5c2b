// Checks on the form that creates a group. Many clients protect the forms about applications, and forget this form.
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import { describePage, expect, expectServed } from '../../findings.ts'
import { changesSince, filledFields, sendForm } from '../../steps/application-pages.ts'
import { expectNoPost, isOrdinary } from '../../steps/every-form.ts'
import { foreignFormHeaders, forgeriesOf } from '../../steps/forged-forms.ts'
import { openGroupForm, requireWorkingGroupForm } from '../../steps/group-form.ts'

const needs: CheckDefinition['needs'] = ['page']

export const groupForm: CheckDefinition[] = [
  {
    id: 'group-form-forged',
    title: 'If another site sends the form for a new group, the client creates no group',
    rule: 'PG-01',
    why: 'With such a form, any website can create groups on behalf of the visitor until the visitor can create no more.',
    fix: 'Check the origin of every POST in one function before all routes.',
    needs,
    async run(context) {
      const { browser, person } = await context.signedIn()
      const { form, values } = await openGroupForm(context, browser)
      const attacker = await context.otherPerson()
      const { browser: other } = await context.signedIn({ person: attacker })
      const { form: attackers } = await openGroupForm(context, other)
      for (const forged of forgeriesOf(form, attackers))
        for (const headers of foreignFormHeaders(context)) {
          const before = context.arrived('api')
          const sent = { ...forged, fields: filledFields(forged, values) }
          const { answer } = await sendForm(context, browser, sent, headers)
          const changes = await changesSince(context, person, before)
          expect(changes.length === 0, 'The client carried out the forged form.', answer, ...changes)
        }
      await requireWorkingGroupForm(context, browser, person)
    },
  },
  {
    id: 'group-form-no-session',
    title: 'If the form for a new group arrives after the session has ended, the visitor sees that nothing was created',
    rule: 'PG-14',
    why: 'If the client only redirects to the login path or to another page, the visitor believes that the group exists.',
    fix: 'Answer with a page that says that nothing was created and has a link to the login path. Or show this message after the login.',
    needs,
    async run(context) {
      const { browser, person } = await context.signedIn()
      await requireWorkingGroupForm(context, browser, person)
      const { page: opened, form, values } = await openGroupForm(context, browser)
      const left = browser.copy()
      for (const { name } of left.cookies.list(context.url('/'))) left.cookies.delete(name)
      const before = context.arrived('api')
      const page = await left.submit(opened, form, values)
      const changes = await changesSince(context, person, before)
      expect(changes.length === 0, 'The client processed the form.', page, ...changes)
      // If the portal asks for the password, the suite cannot see the page after the login.
      if (page.url.startsWith(context.platform.portalUrl) || page.status >= 400) return
      expectServed(page, `The form was answered with ${describePage(page)}.`)
      const typed = Object.values(values)[0]
      const isKept = page.forms.some(({ fields }) => fields.some(([, text]) => text === typed))
      expect(
        isKept || !(await isOrdinary(context, page, left)),
        `The form led to ${describePage(page)}, which says nothing about the form.`,
        page,
      )
    },
  },
  {
    id: 'group-form-reload',
    title: 'If a visitor creates a group and reloads the next page, the browser does not send the form again',
    rule: 'PG-16',
    why: 'If the client answers the POST with a page, the browser sends the POST again on reload, and the client creates a second group.',
    fix: 'Answer every successful POST with 303 to another page.',
    needs,
    async run(context) {
      const { browser, person } = await context.signedIn()
      const answer = await requireWorkingGroupForm(context, browser, person)
      if (answer.status >= 400) throw new NotApplicable(`the form was answered with ${describePage(answer)}`)
      expectNoPost(answer, 'The form for a new group')
    },
  },
]
