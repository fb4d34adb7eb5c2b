// Checks whether the form for a new application keeps the typed values after a refusal. Also checks the field for the
// group.
import type { Page } from '../../browser/browser.ts'
import type { Control, Form, Values } from '../../browser/form.ts'
import { type Check, type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect } from '../../findings.ts'
import { makeGroup, shareGroup } from '../../steps/applications.ts'
import {
  created,
  dataOf,
  fill,
  findCreateForm,
  type OpenForm,
  openFormIn,
  submitCreate,
} from '../../steps/create-form.ts'
import { runsScript } from '../../steps/page-content.ts'

const needs: Check['needs'] = ['create', 'page']

const textTypes = ['text', 'url', 'search', 'tel', 'textarea', 'select-one', 'email']
const markup = `Marker"'></option></select></datalist><img src=x onerror=conformance()>`

/**
 * The refusals of the API. Each entry has the end of the fault's name, and the words for the refusal in the title of
 * the check.
 */
const refusals: [fault: string, what: string][] = [
  ['422-fields', 'the API refuses a field (422)'],
  ['403', 'the API does not allow the visitor to create the application (403)'],
  ['404', 'the API does not find the group (404)'],
  ['503', 'the API is down (503)'],
]

/** Makes a value for every field of the form. `redirect` is the value for redirect URIs. */
function typeEverywhere({ form, values }: OpenForm, groupId: string, redirect: string): Values {
  const typed = form.controls.flatMap((control): [string, string][] => {
    const value = textFor(control, groupId, redirect)
    return value === undefined ? [] : [[control.name, value]]
  })
  return { ...values, ...Object.fromEntries(typed) }
}

function textFor({ name, type, values, choices }: Control, groupId: string, redirect: string): string | undefined {
  if (!textTypes.includes(type)) return undefined
  if (choices) return choices.includes(groupId) ? groupId : choices.findLast(choice => choice !== values[0])
  if (/group/i.test(name)) return groupId
  if (/redirect/i.test(name)) return redirect
  if (type === 'email') return 'typed@conformance.test'
  if (type === 'url' || /ur[il]/i.test(name)) return `https://typed.example/${name}`
  return /scope/i.test(name) ? 'typed-scope' : `Typed into ${name}`
}

/** The names of the fields whose typed value is not in the form that the client shows again. */
function lostIn(again: Form, typed: Values): string[] {
  const shown = new Map(again.fields.map(([name, value]) => [name, plain(value)]))
  return Object.entries(typed).flatMap(([name, value]) => (shown.get(name) === plain(`${value}`) ? [] : name))
}

const plain = (text: string) => text.replaceAll('\r\n', '\n').trim()

/** Types into every field, sends the form, and fails if the refused form comes back without one of the values. */
async function expectAllKept(
  context: CheckContext,
  { fault, redirect = 'https://typed.example/callback' }: { fault?: string; redirect?: string },
) {
  const { browser, person } = await context.signedIn()
  const groupId = await makeGroup(context, person, 'The second group')
  const open = await openFormIn(context, browser, person)
  const typed = typeEverywhere(open, groupId, redirect)
  if (fault) await context.order(fault, { times: 5 })
  const page = await browser.submit(open.page, open.form, typed)
  if ((await created(context, person)).length > 0) throw new NotApplicable('the client does not refuse such a form')
  const again = findCreateForm(page)
  // Other checks report that the form is missing.
  if (!again) throw new NotApplicable(`the answer, ${describePage(page)}, does not contain the form`)
  const lost = lostIn(again, typed)
  expect(
    lost.length === 0,
    `The client shows the form again without the typed values of these fields: ${lost.join(', ')}.`,
    page,
  )
}

const why = 'Visitors may not notice that a field is empty again, or they have to type a long text twice.'
const fix =
  'After a refusal, fill in the form with every value that the visitor sent. This includes textareas, select lists and fields without an error.'

export const typedValues: CheckDefinition[] = [
  {
    id: 'create-refused-all-fields',
    title: 'If a form has a wrong redirect URI, the client shows the form again with the values of all fields',
    rule: 'form-kept',
    why,
    fix,
    needs,
    run: context => expectAllKept(context, { redirect: 'ftp://not-allowed.example/' }),
  },
  ...refusals.map(
    ([fault, what]): CheckDefinition => ({
      id: `create-${fault}-all-fields`,
      title: `If ${what}, the client shows the form again with the values of all fields`,
      rule: 'form-kept',
      why,
      fix,
      needs,
      run: context => expectAllKept(context, { fault: `create-${fault}` }),
    }),
  ),
  {
    id: 'create-group-escapes',
    title: 'The form for a new application escapes the names of groups',
    rule: 'PG-07',
    why: 'Other people can invite the visitor into a group whose name contains markup.',
    fix: 'Let the template escape the name and the id of each group.',
    needs,
    async run(context) {
      const { browser, person } = await context.signedIn()
      await makeGroup(context, person, markup)
      const open = await openFormIn(context, browser, person)
      const redirect = Object.keys(open.values).find(name => /redirect/i.test(name))!
      const refused = await browser.submit(open.page, open.form, {
        ...open.values,
        [redirect]: 'ftp://not-allowed.example/',
      })
      const pages: Page[] = [open.page, refused].filter(({ body }) => body.includes('Marker'))
      if (pages.length === 0) throw new NotApplicable('the form does not show the names of groups')
      for (const page of pages)
        expect(!runsScript(page, 'conformance()'), 'The page contains the name of a group without escaping.', page)
    },
  },
  {
    id: 'create-own-group-preselected',
    title:
      'If the visitor is a member of several groups, the form for a new application does not preselect a group that somebody else created',
    rule: 'own-group-preselected',
    why: 'If visitors do not notice the preselected group, other people can change and remove their new application.',
    fix: 'Preselect the first group whose `data.status` is `maker`. If there is none, preselect no group: begin the list with an empty choice.',
    needs,
    async run(context) {
      const [person, withoutGroup, other] = [
        await context.person(),
        await context.otherPerson(),
        await context.otherPerson(),
      ]
      // In a list that is sorted by name, one of these groups comes first and the other comes last.
      const foreign = [
        await shareGroup(context, [other, person, withoutGroup], '00 Group of somebody else'),
        await shareGroup(context, [other, person, withoutGroup], 'zz Group of somebody else'),
      ]
      await context.platform.leaveOwnGroup(withoutGroup)
      for (const visitor of [person, withoutGroup]) {
        const { browser } = await context.signedIn({ person: visitor })
        const page = await browser.visit(context.url(context.settings.create))
        const form = findCreateForm(page)
        if (!form) throw new Undecided(`The form for a new application is missing: ${describePage(page)}.`)
        const controls = form.controls.filter(({ name, type }) => /group/i.test(name) && type !== 'hidden')
        if (controls.length === 0) throw new NotApplicable('the form has no field for the group')
        const [preselected] = controls.flatMap(({ values }) => values).filter(value => value !== '')
        if (preselected === undefined || preselected === visitor.groupId) continue
        expect(
          !foreign.includes(preselected),
          visitor === person
            ? 'The form preselects a group that somebody else created, although the visitor has created a group.'
            : 'The visitor has created no group. The form preselects a group that somebody else created.',
          page,
        )
        throw new NotApplicable('the options for the group do not have the ids of the groups as their values')
      }
    },
  },
  {
    id: 'create-without-groups',
    title: 'If the API does not return the list of groups, the form has a text field for the id of a group',
    rule: 'group-by-hand',
    why: 'Even without the list of groups, a visitor can create an application by typing the id of a group.',
    fix: 'Catch the failure of the call, and show a text field instead of the list.',
    needs,
    async run(context) {
      const { browser, person } = await context.signedIn()
      for (const fault of [
        'groups-503',
        'groups-500',
        'groups-403',
        'groups-404',
        'groups-429',
        'groups-reset',
        'groups-cut',
        'groups-html',
        'groups-half',
        'groups-empty',
        'groups-not-an-object',
      ]) {
        await context.order(fault, { times: 5 })
        const page = await browser.newTab().visit(context.url(context.settings.create))
        await context.platform.settle()
        await context.dropFaults()
        if (!context.arrived('api').some(step => step.fault?.name === fault))
          throw new NotApplicable('the form does not ask the API for groups')
        const form = findCreateForm(page)
        expect(form, `The page, ${describePage(page)}, has no form for a new application.`, page)
        const byHand = form.controls.filter(
          ({ name, type, choices }) => /group/i.test(name) && type !== 'hidden' && !choices,
        )
        const when = `When the API answers the call for the groups with the fault ${fault}`
        expect(byHand.length > 0, `${when}, the form has no text field for the id of a group.`, page)
        if (fault === 'groups-503') await expectTypedGroup(context, { browser, person, page, form }, byHand, when)
      }
    },
  },
]

/**
 * Types the id of the visitor's group into the form, and sends the form. Fails if the client does not create the
 * application in this group, for example because the field is for the name of a new group.
 */
async function expectTypedGroup(
  context: CheckContext,
  { browser, person, page, form }: Omit<OpenForm, 'values'>,
  fields: Control[],
  when: string,
): Promise<void> {
  const field = fields.find(({ name }) => /id$/i.test(name)) ?? fields[0]!
  const others = fields.filter(one => one !== field).map(({ name }) => [name, ''])
  const values = { ...fill(form, person), ...Object.fromEntries(others), [field.name]: person.groupId }
  const answer = await browser.submit(page, form, values, context.beforePortal)
  const [creation] = await created(context, person)
  if (!creation) await submitCreate(context, await openFormIn(context, browser, person))
  expect(
    creation && dataOf(creation).groupId === person.groupId,
    `${when}, a visitor types the id of a group into the field ${field.name}. The client creates ${creation ? 'the application in another group' : 'nothing'}.`,
    answer,
  )
}
