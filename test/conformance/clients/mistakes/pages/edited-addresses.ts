// Clients that save wrong redirect URIs when a visitor changes an application.
import type { Behaviour } from '../../behaviour.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { isForm } from '../../requests.ts'

/** Changes the fields of the edit form. */
const changesWith = (change: (values: URLSearchParams) => void): Pick<Behaviour, 'formOf'> => ({
  formOf(visit, body) {
    if (!isForm(visit, 'edit')) return body
    const values = new URLSearchParams(body)
    change(values)
    return `${values}`
  },
})

const firstOf = (values: URLSearchParams) => (values.get('redirectUris') ?? '').split(',')[0]!

export const editedAddresses: Mistake[] = [
  mistake(
    'change-keeps-only-the-first-address',
    'edit-several-addresses',
    changesWith(values => {
      values.set('redirectUris', firstOf(values))
      values.delete('defaultRedirectUri')
    }),
  ),
  mistake(
    'change-makes-the-first-address-the-default',
    'edit-default-address',
    changesWith(values => values.set('defaultRedirectUri', firstOf(values))),
  ),
]
