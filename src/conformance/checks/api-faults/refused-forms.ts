// Checks what the visitor sees if the API refuses a form because of a field that the form does not have.
import type { Browser, Page } from '../../browser/browser.ts'
import type { Form, Values } from '../../browser/form.ts'
import { type CheckDefinition, ReportedElsewhere } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect } from '../../findings.ts'
import { nameField, openEditForm, openWithApplication } from '../../steps/application-pages.ts'
import { openCreateForm } from '../../steps/create-form.ts'
import { isOrdinary } from '../../steps/every-form.ts'
import { addsNoWord, expectAnswer, shownIn } from '../../steps/list-page.ts'

/** Forms have no field with this name, because the client itself fills in the envelope of the call. */
const otherField = 'context'
const refusal = { body: { error: { status: 422, message: { [otherField]: ['Not a valid URL.'] } } } }

/** The names must not contain digits, because shownIn replaces digits. */
const typedName = 'Refused because of another field'

const silent = {
  rule: 'UP-14',
  why: 'Some clients show each problem only beside its field. If the problem belongs to another field of the call, the form comes back without a word, and the visitor does not know that it was refused.',
  fix: 'Above the form, always say that the API has refused it. Also show there the problems that belong to no field of the form, or at least say that there is another problem.',
} as const

interface Sent {
  browser: Browser
  page: Page
  form: Form
  values: Values
}

export const refusedForms: CheckDefinition[] = [
  {
    id: 'create-422-other-field',
    title:
      'When the API refuses the form for a new application because of a field that the form does not have, the client says that the form was refused',
    ...silent,
    needs: ['page', 'create'],
    async run(context) {
      const open = await openCreateForm(context, typedName)
      await sendRefused(context, open, 'create-422-body')
    },
  },
  {
    id: 'edit-422-other-field',
    title:
      'When the API refuses the edit form because of a field that the form does not have, the client says that the form was refused',
    ...silent,
    needs: ['page'],
    async run(context) {
      const application = await openWithApplication(context)
      const { page, form } = await openEditForm(context, application)
      const values = { [nameField(form)]: typedName }
      await sendRefused(context, { browser: application.browser, page, form, values }, 'update-422-body')
    },
  },
]

/** Sends the form, and fails if the answer does not say that the form was refused. */
async function sendRefused(context: CheckContext, { browser, page, form, values }: Sent, fault: string): Promise<void> {
  await context.order(fault, { times: 5, options: refusal })
  const answer = await browser.newTab().submit(page, form, values)
  await context.platform.settle()
  const isMet = context.timesMet(fault) > 0
  await context.dropFaults()
  if (!isMet) throw new ReportedElsewhere('the form makes no such call')
  expectAnswer(answer)
  const isFormAgain = answer.forms.some(({ method, action }) => method === 'POST' && action === form.action)
  const isSilent = isFormAgain
    ? addsNoWord(wordsOf(answer), `${wordsOf(page)} ${Object.values(values).join(' ')}`)
    : answer.status < 400 && (await isOrdinary(context, answer, browser))
  expect(
    !isSilent,
    `The API refused the field “${otherField}”. The client answered with ${describePage(answer)}, which does not say that the form was refused.`,
    answer,
  )
}

const wordsOf = (page: Page) => `${shownIn(page)} ${page.title}`
