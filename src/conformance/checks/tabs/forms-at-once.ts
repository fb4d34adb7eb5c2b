// Checks forms that several visitors send at the same time.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import { type CheckDefinition, ReportedElsewhere } from '../../check.ts'
import { expect } from '../../findings.ts'
import { created, isCreation, type OpenForm, openCreateForm, openFormIn, secretOf } from '../../steps/create-form.ts'

const [firstName, secondName] = ['Sent by the first visitor', 'Sent by the second visitor']

export const formsAtOnce: CheckDefinition[] = [
  {
    id: 'tabs-forms-at-once',
    title:
      'If two visitors send forms at the same time, the client uses the token of each visitor only for the form of this visitor',
    rule: 'visitors-apart',
    why: 'If the handler of a form keeps the visitor in an object that several requests use, the application of one visitor is created with the token of another visitor.',
    fix: 'Keep the visitor of a request in a local variable or in the request object. Never keep it in a field of a handler, a controller or a module.',
    needs: ['page', 'create'],
    isAlone: true,
    longestMs: 60_000,
    async run(context) {
      const first = await openCreateForm(context, firstName)
      const { browser, person } = await context.signedIn({ person: await context.otherPerson() })
      const second = await openFormIn(context, browser, person, secondName)
      // Makes the API answer late, so that the client handles both forms at the same time.
      for (const place of ['list', 'groups', 'create'])
        await context.order(`${place}-late`, { times: 'always', state: undefined, options: { seconds: 0.5 } })
      const { result: pages, steps } = await context.during(async () => {
        const sending = send(first)
        await context.pause(150)
        return Promise.all([sending, send(second)])
      })
      await context.dropFaults()
      const creations = steps.filter(isCreation)
      for (const [name, { person }] of [
        [firstName, first],
        [secondName, second],
      ] as const) {
        const wrong = creations.find(step => hasName(step, name) && step.about.userId !== person.id)
        expect(
          wrong === undefined,
          'Two visitors sent forms at the same time. The client sent the application of one visitor with the token of the other visitor.',
          ...(wrong ? [wrong] : []),
        )
      }
      const [ofFirst, ofSecond] = [await created(context, first.person), await created(context, second.person)]
      if (ofFirst.length === 0 || ofSecond.length === 0)
        throw new ReportedElsewhere('one of the forms creates no application')
      expectNoSecretOf(ofSecond, pages[0])
      expectNoSecretOf(ofFirst, pages[1])
    },
  },
]

function send({ browser, page, form, values }: OpenForm) {
  return browser.submit(page, form, values)
}

/** Whether the call contains this application name. */
function hasName({ request }: LabStep, name: string): boolean {
  return JSON.stringify(request.body).includes(name)
}

function expectNoSecretOf(creation: LabStep[], page: Awaited<ReturnType<typeof send>>): void {
  expect(
    !page.body.includes(secretOf(creation)),
    'Two visitors sent forms at the same time. The page of one visitor shows the secret of the other visitor.',
    page,
  )
}
