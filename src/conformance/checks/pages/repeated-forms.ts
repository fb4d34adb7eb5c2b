// Checks that send a form again: to another instance of the client, or after a restart. Two checks send the form for a
// new client secret again.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import { type CheckDefinition, NotApplicable, ReportedElsewhere, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, expectServed } from '../../findings.ts'
import { type ApplicationForm, changesSince, ownForm, sendForm, typedInto } from '../../steps/application-pages.ts'
import { followCallback } from '../../steps/callback.ts'
import { created, formAtReplica, openCreateForm, openFormIn, submitCreate } from '../../steps/create-form.ts'
import { type OpenForms, openForms, reopen } from '../../steps/every-form.ts'

const fix =
  'Keep the ids of all forms that were processed in a store that all instances share. If there is no such store, read the list before each creation, and look for an application that has the same values and was created after the form was opened.'

const secretRule = {
  rule: 'secret-once',
  why: 'Only the two newest secrets of an application are valid. If one form creates two secrets, the secret that the application uses stops working at once.',
  fix: 'Give each form a one-time id. If a second request has the same id, answer with the result of the first request.',
  needs: ['page'],
} satisfies Partial<CheckDefinition>

export const repeatedForms: CheckDefinition[] = [
  {
    id: 'create-once-on-replica',
    title:
      'If one instance has created an application, and the same form then arrives at another instance, the client does not create a second application',
    rule: 'PG-15',
    why: 'Browsers repeat a POST when the connection breaks, and people send a form again. A load balancer can send the second request to another instance.',
    fix,
    needs: ['replica', 'page', 'create'],
    async run(context) {
      const open = await openCreateForm(context)
      await submitCreate(context, open)
      const { answer } = await sendForm(context, open.browser, formAtReplica(context, open), ownForm(context))
      const steps = await created(context, open.person)
      expect(steps.length === 1, `The two instances created ${steps.length} applications.`, answer, ...steps)
      // The other instance must accept a new form. Otherwise it may have refused the old form for another reason.
      const fresh = await openFormIn(context, open.browser.newTab(), open.person)
      await sendForm(context, fresh.browser, formAtReplica(context, fresh), ownForm(context))
      if ((await created(context, open.person)).length !== 2)
        throw new ReportedElsewhere('the other instance refuses every form that the first instance issued')
    },
  },
  {
    id: 'create-once-after-restart',
    title:
      'If a form has created an application, and the same form arrives again after a restart of the client, the client does not create a second application',
    rule: 'form-once-after-restart',
    why: 'A restart can break the connection before the answer arrives. The browser may then send the form again.',
    fix,
    needs: ['process', 'page', 'create'],
    isAlone: true,
    longestMs: 120_000,
    async run(context) {
      const open = await openCreateForm(context)
      await submitCreate(context, open)
      await context.restartClient()
      if (!(await context.isSignedIn(open.browser))) {
        const tab = open.browser.newTab()
        await followCallback(context, tab, await context.authorize(await context.startLogin(tab), open.person))
      }
      const page = await open.browser.newTab().submit(open.page, open.form, open.values)
      const steps = await created(context, open.person)
      expect(
        steps.length === 1,
        `Before and after the restart, the form created ${steps.length} applications.`,
        page,
        ...steps,
      )
      // A new form must still work. Otherwise the client may have refused the old form for another reason.
      const fresh = await openFormIn(context, open.browser.newTab(), open.person)
      await fresh.browser.submit(fresh.page, fresh.form, fresh.values)
      if ((await created(context, open.person)).length !== 2)
        throw new Undecided('After the restart, the client creates no application, even with a new form.')
    },
  },
  {
    id: 'secret-once',
    title: 'If a visitor sends the same form for a new client secret twice, the client creates only one secret',
    ...secretRule,
    async run(context) {
      const { open, found, first } = await createSecret(context, 1)
      const again = await open.browser.newTab().submit(found.page, found.form, typedInto(found), context.beforePortal)
      await context.platform.settle()
      const steps = newSecrets(context, open)
      expect(
        steps.length === first.length,
        'The visitor sent the same form again, and the client created another secret.',
        again,
        ...steps,
      )
      expectServed(again, `The client answered the second request with ${describePage(again)}.`)
    },
  },
  {
    id: 'secret-once-at-once',
    title: 'If the same form for a new client secret arrives three times at once, the client creates only one secret',
    ...secretRule,
    async run(context) {
      const { first } = await createSecret(context, 3)
      expect(first.length === 1, `The client created ${first.length} secrets.`, ...first)
    },
  },
]

/** Returns the API calls that created a secret for this application, oldest first. */
function newSecrets(context: CheckContext, { id }: OpenForms): LabStep[] {
  return context
    .arrived('api')
    .filter(
      ({ request, response }) =>
        request.method === 'POST' && request.url.startsWith(`/apps/v1/${id}/refreshSecret`) && response.status === 201,
    )
}

/**
 * Sends the form that creates a new application secret this many times at once. Ends the check if the client has no
 * such form.
 */
async function createSecret(
  context: CheckContext,
  times: number,
): Promise<{ open: OpenForms; found: ApplicationForm; first: LabStep[] }> {
  const open = await openForms(context)
  for (const form of open.forms) {
    const found = await reopen(open.browser, form)
    if (!found) continue
    const send = () => open.browser.newTab().submit(found.page, found.form, typedInto(found), context.beforePortal)
    const before = context.arrived('api')
    await Promise.all(Array.from({ length: times }, send))
    await changesSince(context, open.person, before)
    const first = newSecrets(context, open)
    if (first.length > 0) return { open, found, first }
  }
  throw new NotApplicable('no page about an application has a form that creates a new secret')
}
