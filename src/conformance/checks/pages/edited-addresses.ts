// Checks what the edit form does with the redirect URIs if an application has several.
import type { Control, Form, Values } from '../../browser/form.ts'
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect } from '../../findings.ts'
import {
  nameField,
  type OwnApplication,
  openEditForm,
  openWithApplication,
  saveForm,
} from '../../steps/application-pages.ts'
import { redirectUri } from '../../steps/applications.ts'

const secondUri = 'https://second.example/callback'

export const editedAddresses: CheckDefinition[] = [
  {
    id: 'edit-several-addresses',
    title:
      'If the edit form shows several redirect URIs, and the visitor changes only the name, the client saves all these redirect URIs',
    rule: 'change-application',
    why: 'If the client loses a redirect URI, every login of the application with this address fails.',
    fix: 'Send all addresses of the form in redirectUris, separated by commas.',
    needs: ['page'],
    async run(context) {
      const application = await openWithSeveral(context)
      const { stored, form, answer } = await save(context, application, 'Several addresses')
      if (!form.fields.some(([, value]) => value.includes(secondUri)))
        throw new NotApplicable('the edit form does not show the second redirect URI')
      const kept = stored.redirectUris.split(',').map(one => one.trim())
      const lost = [redirectUri, secondUri].find(one => !kept.includes(one))
      expect(
        lost === undefined,
        `The form showed two redirect URIs, and the visitor changed only the name. Now the API no longer has ${lost}.`,
        answer,
      )
    },
  },
  {
    id: 'edit-default-address',
    title:
      'The API gets the default redirect URI that the visitor chose in the edit form, and keeps it when the visitor later changes only the name',
    rule: 'change-application',
    why: 'If the client always makes the first redirect URI the default, logins of the application lead to the wrong address.',
    fix: 'Send the value of the field for the default as defaultRedirectUri, and show the stored default in this field.',
    needs: ['page'],
    async run(context) {
      const application = await openWithSeveral(context)
      const chosen = await save(context, application, 'Another default', chooseSecond)
      expect(
        chosen.stored.defaultRedirectUri === secondUri,
        `The visitor chose ${secondUri} as the default redirect URI, and the API has ${chosen.stored.defaultRedirectUri}.`,
        chosen.answer,
      )
      const later = await save(context, application, 'The same default')
      expect(
        later.stored.defaultRedirectUri === secondUri,
        `The default redirect URI was ${secondUri}, and the visitor changed only the name. Now the API has ${later.stored.defaultRedirectUri}.`,
        later.answer,
      )
    },
  },
]

/** Creates an application with two redirect URIs, and signs its owner in. The first redirect URI is the default. */
function openWithSeveral(context: CheckContext): Promise<OwnApplication> {
  return openWithApplication(context, { redirectUris: `${redirectUri},${secondUri}`, defaultRedirectUri: redirectUri })
}

/** Chooses the second redirect URI as the default. Ends the check if the form does not allow this. */
function chooseSecond({ controls }: Form): Values {
  const isDefault = ({ name, type }: Control) => /default/i.test(name) && /ur[il]/i.test(name) && type !== 'hidden'
  const fields = controls.filter(isDefault)
  // Each radio button is a control with one choice.
  const field = fields.some(({ choices }) => choices)
    ? fields.find(({ choices }) => choices?.includes(secondUri))
    : fields[0]
  if (fields.length > 0 && !field)
    throw new NotApplicable('the options for the default redirect URI do not have the addresses as their values')
  if (!field) throw new NotApplicable('the edit form has no field for the default redirect URI')
  return { [field.name]: secondUri }
}

/**
 * Opens the edit form, types another name, and sends the form. Returns the values that the API stored. Ends the
 * check if the name does not change.
 */
async function save(
  context: CheckContext,
  application: OwnApplication,
  name: string,
  choose: (form: Form) => Values = () => ({}),
) {
  const opened = await openEditForm(context, application)
  const values = { [nameField(opened.form)]: name, ...choose(opened.form) }
  const { answer, stored } = await saveForm(context, application, opened, values)
  if (stored.name !== name) throw new NotApplicable('the edit form saves nothing')
  return { form: opened.form, answer, stored }
}
