// Checks which values the edit form saves: a value that somebody else has changed in the meantime, a value that
// the form could not show, and a value that the visitor has deleted.
import type { Form, Values } from '../../browser/form.ts'
import { type Check, type CheckDefinition, NotApplicable, ReportedElsewhere } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect } from '../../findings.ts'
import {
  type ApplicationForm,
  changeAtApi,
  changesSince,
  isOfClient,
  nameField,
  type OwnApplication,
  openEditForm,
  openPagesAbout,
  openWithApplication,
  requireWorkingEditForm,
  saveForm,
} from '../../steps/application-pages.ts'
import { applicationName, redirectUri } from '../../steps/applications.ts'

const needs: Check['needs'] = ['page']

const newName = 'Changed by a new form'

/**
 * From now on, the API answers the client's reads of this application with the current values of the application, and
 * without an ETag.
 */
async function leaveOutEtag(context: CheckContext, { person, id }: OwnApplication): Promise<void> {
  await context.dropFaults()
  const token = await context.platform.tokenOf(person)
  const { body } = await context.platform.callApi(token, 'GET', `/apps/v1/${id}`)
  const type = 'application/json; charset=utf-8'
  await context.order('get-answer', { times: 'always', options: { status: 200, body, type } })
}

/** Returns the name of the first field that a person can type into and whose name matches the pattern. */
function typedFieldName({ controls }: Form, pattern: RegExp): string | undefined {
  return controls.find(
    ({ name, type, choices }) => pattern.test(name) && !choices && !['hidden', 'button', 'checkbox'].includes(type),
  )?.name
}

const redirectUrisPattern = /^(?!default).*redirect_?uri/i

/** A field that somebody else changes while the visitor has the edit form open. */
interface OvertakenField {
  /** The end of the check's id. */
  suffix: string
  /** The words for the field in the title of the check. */
  what: string
  field: 'description' | 'redirectUris' | 'scopes'
  /** The name of this field in the form. */
  pattern: RegExp
  before: string
  after: string
}

const overtakenFields: OvertakenField[] = [
  {
    suffix: '',
    what: 'the description',
    field: 'description',
    pattern: /desc/i,
    before: 'Described by conformance',
    after: 'Described by somebody else',
  },
  {
    suffix: '-redirect-uris',
    what: 'the redirect URIs',
    field: 'redirectUris',
    pattern: redirectUrisPattern,
    before: redirectUri,
    after: `${redirectUri},https://somebody-else.example/callback`,
  },
  {
    suffix: '-scopes',
    what: 'the scopes',
    field: 'scopes',
    pattern: /^(?!default).*scope/i,
    before: 'read',
    after: 'read write',
  },
]

const withoutEtag = overtakenFields.map(
  ({ suffix, what, field, pattern, before, after }): CheckDefinition => ({
    id: `edit-overtaken-without-etag${suffix}`,
    title: `If the API sends no ETag, and somebody else changes ${what} after a visitor has opened the edit form, this form changes nothing`,
    rule: 'edit-overtaken',
    why: 'Another installation of the platform may send no ETag. A client that relies only on If-Match, or compares only some fields, then overwrites the changes of other people, and nobody notices.',
    fix: 'If an application came without an ETag, keep the values of all fields in the form, or a hash of them. Read the application again before you change it, and compare all these fields.',
    needs,
    async run(context) {
      const application = await openWithApplication(context, { [field]: before })
      await leaveOutEtag(context, application)
      const old = await openEditForm(context, application)
      if (!old.form.controls.some(({ name, type }) => pattern.test(name) && type !== 'hidden'))
        throw new NotApplicable(`the edit form has no field for ${what}`)
      await changeAtApi(context, application, { [field]: after })
      await leaveOutEtag(context, application)
      const typed = { [nameField(old.form)]: 'Late change of an old form' }
      const { answer: late, stored } = await saveForm(context, application, old, typed)
      await leaveOutEtag(context, application)
      await requireWorkingEditForm(context, application, 'the edit form saves nothing if the API sends no ETag')
      expect(
        stored.name === applicationName && stored[field] === after,
        `The API sent no ETag. Somebody else gave ${field} the value “${after}”, and the older form then saved the name “${stored.name}” and the value “${stored[field]}”.`,
        late,
      )
    },
  }),
)

/** Finds the form that changes the application, even if it does not contain the redirect URIs. */
async function openFormWithName(context: CheckContext, application: OwnApplication): Promise<ApplicationForm> {
  const isMeant = ({ method, action, controls }: Form) =>
    method === 'POST' &&
    isOfClient(context, action) &&
    controls.some(
      ({ name, type, values }) => /name/i.test(name) && /^text/.test(type) && values.includes(applicationName),
    )
  const pages = await openPagesAbout(context, application, page => page.forms.some(isMeant))
  const page = pages.at(-1)!
  const form = page.forms.find(isMeant)
  if (!form) throw new NotApplicable('no linked page has a form with the name of the application')
  return { page, form }
}

/** The form cannot show these values of the OAuth client if the API leaves out `client`. */
const unshown = {
  redirectUris: `${redirectUri},https://second.example/callback`,
  // Not the first redirect URI, which some clients send as the default.
  defaultRedirectUri: 'https://second.example/callback',
  scopes: 'read write',
  defaultScopes: 'read',
}

interface OptionalField {
  id: string
  field: 'description' | 'webPageUrl'
  /** The words for the field in the title of the check. */
  what: string
  /** The name of this field in the form. */
  pattern: RegExp
  value: string
}

const optionalFields: OptionalField[] = [
  {
    id: 'edit-empties-description',
    field: 'description',
    what: 'the description',
    pattern: /desc/i,
    value: 'Described by conformance',
  },
  {
    id: 'edit-empties-web-page',
    field: 'webPageUrl',
    what: 'the address of the web page',
    pattern: /web.*ur[il]|home_?page|website/i,
    value: 'https://web.example/',
  },
]

export const savedValues: CheckDefinition[] = [
  ...withoutEtag,
  {
    id: 'edit-overtaken-shows-both',
    title:
      'If the client refuses a form because the application has changed, the page shows the typed value and the value that the API has now',
    rule: 'overtaken-values-shown',
    why: "If visitors do not see the other person's value, they can only send their own value again, and overwrite the other value without knowing it.",
    fix: 'Read the application again. Beside each field whose values differ, show the typed value and the value that the API has now.',
    needs,
    async run(context) {
      const application = await openWithApplication(context, { description: 'Described at first' })
      const old = await openEditForm(context, application)
      const description = typedFieldName(old.form, /desc/i)
      const field = description === undefined ? 'name' : 'description'
      const [typed, others] = ['Typed by the visitor', 'Saved by somebody else']
      await changeAtApi(context, application, { [field]: others })
      const { answer, stored } = await saveForm(context, application, old, {
        [description ?? nameField(old.form)]: typed,
      })
      if (stored[field] !== others) throw new ReportedElsewhere('the form overwrites the other change')
      await requireWorkingEditForm(context, application)
      const shown = [answer.body, ...answer.forms.flatMap(({ fields }) => fields.map(([, value]) => value))]
      if (!shown.some(text => text.includes(typed)))
        throw new ReportedElsewhere('the page does not show the typed value')
      expect(
        shown.some(text => text.includes(others)),
        `Somebody else changed the ${field} to “${others}”, and the visitor then typed “${typed}”. The client refused the form and answered with ${describePage(answer)}. This page does not show the value “${others}”.`,
        answer,
      )
    },
  },
  {
    id: 'edit-without-client-kept',
    title:
      'If the API leaves out the field `client` of an application or a value in it, the edit form does not change the redirect URIs and scopes',
    rule: 'unshown-values-kept',
    why: 'Another installation of the platform may leave out this field. The form is then empty where the redirect URIs and scopes should be. If the client sends these empty values, it deletes the scopes, although the visitor only changed the name.',
    fix: 'If the API did not return the value of a field, and the visitor typed nothing into this field, leave it out of the PUT request. The API keeps the value of such a field.',
    needs,
    async run(context) {
      const application = await openWithApplication(context, unshown)
      let saved = 0
      // The API leaves out only one value.
      for (const name of ['defaultRedirectUri', 'scopes', 'defaultScopes'] as const) {
        const member = `client.${name}`
        await context.order('get-members-missing', { times: 'always', options: { member } })
        const opened = await openFormWithName(context, application)
        const { answer, stored } = await saveForm(context, application, opened, { [nameField(opened.form)]: newName })
        await context.dropFaults()
        expect(
          stored[name] === unshown[name],
          `The API left out the field ${member}. The visitor changed the name, and the client then replaced the ${name} “${unshown[name]}” with “${stored[name]}”.`,
          answer,
        )
        await changeAtApi(context, application, unshown)
      }
      await context.order('get-members-missing', { times: 'always', options: { member: 'client' } })
      // At first, the visitor types only the name. Then the visitor also types the redirect URIs, because some clients
      // require them.
      for (const typedUris of [undefined, unshown.redirectUris]) {
        await changeAtApi(context, application, unshown)
        const opened = await openFormWithName(context, application)
        const typed: Values = { [nameField(opened.form)]: newName }
        if (typedUris !== undefined) {
          const field = typedFieldName(opened.form, redirectUrisPattern)
          if (field === undefined) continue
          typed[field] = typedUris
        }
        const { answer, stored } = await saveForm(context, application, opened, typed)
        for (const [name, value] of Object.entries(unshown) as [keyof typeof unshown, string][])
          expect(
            stored[name] === value,
            `The API left out the field client. The visitor changed the name, and the client then replaced the ${name} “${value}” with “${stored[name]}”.`,
            answer,
          )
        if (stored.name === newName) saved++
      }
      if (saved === 0) throw new NotApplicable('the edit form saves nothing if the API leaves out the field client')
    },
  },
  ...optionalFields.map(
    ({ id, field, what, pattern, value }): CheckDefinition => ({
      id,
      title: `If a visitor clears ${what} in the edit form, the API stores an empty value, or the client refuses the form`,
      rule: 'emptied-fields',
      why: 'If the client leaves empty fields out of the PUT request, the API keeps the old value. The page says that everything was saved, and the visitor cannot remove the value.',
      fix: 'Send an empty field of the form as an empty string. The API accepts an empty string for every field except name and redirectUris. Leave out a field only if the API did not return its value and the visitor typed nothing.',
      needs,
      async run(context) {
        const application = await openWithApplication(context, { [field]: value })
        const { page, form } = await openEditForm(context, application)
        const name = typedFieldName(form, pattern)
        if (name === undefined || !form.fields.some(one => one[0] === name && one[1] === value))
          throw new NotApplicable(`the edit form has no text field for ${what}`)
        const before = context.arrived('api')
        const typed = { [nameField(form)]: newName, [name]: '' }
        const { answer, stored } = await saveForm(context, application, { page, form }, typed)
        const calls = await changesSince(context, application.person, before)
        if (stored.name !== newName)
          throw new NotApplicable('the client does not save a form with this empty field, or saves no form at all')
        expect(
          !stored[field],
          `The visitor cleared ${what} and changed the name. The client saved the new name, and ${field} still has the value “${stored[field]}”.`,
          answer,
          ...calls,
        )
      },
    }),
  ),
]
