// Finds the client's form that creates an application, fills in the form, sends it, and reads the calls that reached
// the API.
import type { LabStep } from '../../sandbox/lab/record/recorded.ts'
import type { Browser, Page } from '../browser/browser.ts'
import type { Control, Form, Values } from '../browser/form.ts'
import { ReportedElsewhere, Undecided } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { describePage } from '../findings.ts'
import type { Person } from '../platform.ts'
import { fieldsOf } from '../tokens.ts'
import { filledFields } from './application-pages.ts'
import { credentialsOf } from './applications.ts'

export interface OpenForm {
  browser: Browser
  person: Person
  page: Page
  form: Form
  /** A value for each field that a person would fill in. */
  values: Values
}

let openedForms = 0

/**
 * Returns a name that no other form has. If a client gets equal values twice within a second, it may treat the second
 * form as a repetition of the first form, and create nothing.
 */
function newName(): string {
  openedForms++
  return `Created by conformance ${String(openedForms).padStart(4, '0')}`
}

/** Signs a visitor in, and opens the form on the page at --create. Ends the check if this page has no such form. */
export async function openCreateForm(context: CheckContext, name = newName()): Promise<OpenForm> {
  const { browser, person } = await context.signedIn()
  return openFormIn(context, browser, person, name)
}

/** Does the same as openCreateForm, but in a browser in which this person is already signed in. */
export async function openFormIn(
  context: CheckContext,
  browser: Browser,
  person: Person,
  name = newName(),
): Promise<OpenForm> {
  const page = await browser.visit(context.url(context.settings.create))
  const form = findCreateForm(page)
  if (!form)
    throw new Undecided(
      `${context.settings.create}, ${describePage(page)}, has no form with fields for a name and redirect URIs.`,
    )
  return { browser, person, page, form, values: fill(form, person, name) }
}

/** Finds the form that creates an application. */
export function findCreateForm({ forms }: Pick<Page, 'forms'>): Form | undefined {
  return forms.find(
    ({ method, controls }) =>
      method === 'POST' && typedField(controls, /^name$/i, /name/i) && typedField(controls, /redirect_?uri/i),
  )
}

/** Returns a value for each field of the form that a person would fill in. */
export function fill({ controls }: Form, person: Person, name = newName()): Values {
  const wanted: [RegExp[], string][] = [
    [[/^name$/i, /name/i], name],
    [[/^redirect_?uris?$/i, /redirect_?uri/i], 'https://created.example/callback'],
  ]
  const typed = wanted.flatMap(([patterns, value]) => {
    const field = typedField(controls, ...patterns)
    return field ? [[field.name, value]] : []
  })
  return { ...Object.fromEntries(typed), ...groupIn(controls, person) }
}

/** Returns the first control that has no choices and a matching name. Earlier patterns have precedence. */
export function typedField(controls: Control[], ...patterns: RegExp[]): Control | undefined {
  const typed = controls.filter(({ button, choices }) => !button && !choices)
  return patterns.map(pattern => typed.find(({ name }) => pattern.test(name))).find(field => field)
}

/** Returns the value for the field in which a person types or chooses a group. */
function groupIn(controls: Control[], { groupId }: Person): Values {
  const fields = controls.filter(({ name, type }) => /group/i.test(name) && type !== 'button' && type !== 'checkbox')
  const [first] = fields
  if (!first) return {}
  if (!first.choices) return { [first.name]: groupId }
  // Each radio button is a control with one choice.
  const choices = fields.flatMap(({ name, choices }) => (name === first.name && choices) || [])
  const choice = chooseGroup(choices, groupId)
  return choice === undefined ? {} : { [first.name]: choice }
}

/**
 * Returns the choice for this group, or undefined if there is nothing to choose. The value of a choice is not always
 * the id of the group: a client may use a number or a sealed id.
 */
export function chooseGroup(choices: string[], groupId: string): string | undefined {
  if (choices.includes(groupId)) return groupId
  const [first, ...others] = choices.filter(choice => choice !== '')
  if (others.length > 0)
    throw new Undecided('The form offers several groups, and the suite cannot tell which of them it must choose.')
  return first
}

/** Returns the filled-in form with the address of the other instance. */
export function formAtReplica({ settings }: CheckContext, { form, values }: OpenForm): Pick<Form, 'action' | 'fields'> {
  const { pathname, search } = new URL(form.action)
  return { action: settings.replica + pathname + search, fields: filledFields(form, values) }
}

/** Returns the fields into which a person types text. */
export const textFieldsOf = ({ controls }: Form): Control[] =>
  controls.filter(({ type }) => type === 'text' || type === 'textarea')

const isHidden = ({ type }: Control) => type === 'hidden'

/** Returns the form without its hidden fields. */
export function withoutHidden(form: Form): Form {
  const hidden = new Set(form.controls.filter(isHidden).map(({ name }) => name))
  return {
    ...form,
    fields: form.fields.filter(([name]) => !hidden.has(name)),
    controls: form.controls.filter(({ name }) => !hidden.has(name)),
  }
}

/**
 * Returns the visitor's form with the address and the hidden fields of the attacker's own form. An attacker on another
 * site knows only these. The result contains nothing else that could be a token of the visitor: neither the query of
 * the visitor's address, nor the names of the visitor's hidden fields. In `fields`, a visible field has the attacker's
 * value if the attacker's form has a field with the same name, because a token can be in a field that is not hidden.
 */
export function forge(own: Form, visitors: Form): Form {
  const typed = withoutHidden(visitors)
  const hidden = own.controls.filter(isHidden)
  const theirs = new Map(own.fields)
  return {
    ...typed,
    action: own.action,
    fields: [
      ...hidden.flatMap(({ name, values }) => values.map((value): [string, string] => [name, value])),
      ...typed.fields.map(([name, value]): [string, string] => [name, theirs.get(name) ?? value]),
    ],
    controls: [...hidden, ...typed.controls],
  }
}

/**
 * Returns the form with one id in place of another, in its address and in its values. An attacker may know the ids of
 * the visitor's group and applications.
 */
export function replaceId(form: Form, from: string, to: string): Form {
  const replace = (text: string) => text.replaceAll(from, to)
  return {
    ...form,
    action: replace(form.action),
    fields: form.fields.map(([name, value]): [string, string] => [name, replace(value)]),
    controls: form.controls.map(control => ({ ...control, values: control.values.map(replace) })),
  }
}

/** Returns the form that an attacker can send. This form contains the hidden tokens of the attacker's own session. */
export async function attackersForm(context: CheckContext, { form, person }: OpenForm): Promise<Form> {
  const attacker = await context.otherPerson()
  const { browser } = await context.signedIn({ person: attacker })
  const own = await openFormIn(context, browser, attacker)
  return forge(replaceId(own.form, attacker.groupId, person.groupId), form)
}

/** Whether this call creates an application, whatever the API answered. */
export const isCreation = ({ request }: LabStep): boolean =>
  request.method === 'POST' && request.url.split('?')[0] === '/apps/v1'

/** Returns the fields of the application in a call that creates it. */
export function dataOf(step: LabStep): Record<string, unknown> {
  const body = fieldsOf(step)
  return (typeof body.data === 'object' && body.data !== null ? body.data : body) as Record<string, unknown>
}

/** Returns the API calls that created an application for this person. */
export async function created(context: CheckContext, person: Person): Promise<LabStep[]> {
  await context.platform.settle()
  return context
    .arrived('api')
    .filter(step => isCreation(step) && step.about.userId === person.id && step.response.status === 201)
}

/** Returns the client secret in the API's answer to the first of these creations. */
export function secretOf([creation]: LabStep[]): string {
  const [secret] = creation ? credentialsOf(creation).clientSecrets : []
  if (secret === undefined) throw new Undecided('The API answer contained no client secret.')
  return secret
}

/** The error of a check that cannot run because the form for a new application creates nothing. */
export const noCreation = () => new ReportedElsewhere('the form creates no application')

/**
 * Sends the form without a change. Ends the check if the form does not create an application, because another check
 * reports this.
 */
export async function submitCreate(context: CheckContext, open: OpenForm): Promise<Page> {
  const page = await open.browser.submit(open.page, open.form, open.values)
  if ((await created(context, open.person)).length > 0) return page
  if (context.platform.steps.some(step => isCreation(step) && step.response.status === 201))
    throw new Undecided(
      'The form created no application, although the client has created an application in another check.',
    )
  throw noCreation()
}
