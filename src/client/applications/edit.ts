// Changes an application: the form with what is there, and what is sent of it.
import type { FastifyRequest } from 'fastify'
import { logEvent } from '../operations/request-log.ts'
import { visitorOf } from '../sign-in/sign-in.ts'
import type { Forms } from '../web/forms.ts'
import type { ApplicationApi } from './application-api.ts'
import { idOf } from './details.ts'
import { checkFields, fieldsToUpdate, formFields, normalize, splitUris } from './fields.ts'

export function createEditing({ api, defineForm }: Pick<Forms, 'defineForm'> & { api: ApplicationApi }) {
  const form = defineForm({
    page: '/applications/:id/edit',
    template: 'applications/form',
    async data(request, shown) {
      const fields = Object.keys(shown.fields).length > 0 ? shown.fields : await load(request)
      return {
        title: `Edit ${fields.oldName || 'application'}`,
        fields,
        formFields,
        back: `/applications/${idOf(request)}`,
      }
    },
  })

  /** With what has to be known when the form comes back: an empty field means something else where nothing was shown in it. */
  async function load(request: FastifyRequest) {
    const { name, client, ...application } = await visitorOf(request).call(caller => api.get(caller, idOf(request)))
    const redirectUris = splitUris(client?.redirectUris ?? '').join('\n')
    return { ...application, ...client, name, redirectUris, oldName: name, isClientKnown: client ? 'yes' : '' }
  }

  return {
    form,

    edit: form.submit(async (request, reply, sent) => {
      const id = idOf(request)
      const fields = normalize(sent.fields)
      checkFields(fields, ['name', 'redirectUris'])
      const changes = fieldsToUpdate(fields, sent.fields.isClientKnown === 'yes')
      await visitorOf(request).call(caller => api.update(caller, id, changes))
      logEvent(request, 'application_updated', { application: id })
      return reply.redirect(`/applications/${id}?saved=yes`, 303)
    }),
  }
}
