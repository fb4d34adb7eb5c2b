// Changes an application: the form with what is there, and what is sent of it.
import type { FastifyRequest } from 'fastify'
import { logEvent } from '../operations/request-log.ts'
import { visitorOf } from '../sign-in/sign-in.ts'
import type { Forms, Shown } from '../web/forms.ts'
import type { ApplicationApi } from './application-api.ts'
import { idOf } from './details.ts'
import { checkFields, fieldsToUpdate, formFields, inFormWords, isClientKnownTo, normalize } from './fields.ts'
import { splitUris } from './redirect-uris.ts'

export function createEditing({ api, defineForm }: Forms & { api: ApplicationApi }) {
  const form = defineForm({ page: '/applications/:id/edit', template: 'applications/form', data: show })

  async function show(request: FastifyRequest, { errors, fields, hasDraft, problem, signInHref }: Shown) {
    const id = idOf(request)
    const page = { formFields, errors: inFormWords(errors), isNew: false, back: `/applications/${id}` }
    const titleOf = (name: string | undefined) => `Edit ${name || 'application'}`
    if (signInHref || problem) {
      const title = signInHref ? 'Your session has ended' : titleOf(fields.oldName)
      return { ...page, title, oldName: fields.oldName, isClientKnown: isClientKnownTo(fields) }
    }
    const application = await visitorOf(request).call(caller => api.get(caller, id))
    const { client } = application
    return {
      ...page,
      title: titleOf(application.name),
      oldName: application.name,
      // As it was when the draft was typed: an empty field means something else where nothing was shown in it.
      isClientKnown: hasDraft ? isClientKnownTo(fields) : client !== undefined,
      fields: hasDraft
        ? fields
        : { ...application, ...client, redirectUris: splitUris(client?.redirectUris ?? '').join('\n') },
    }
  }

  return {
    form,

    edit: form.submit(async (request, reply, sent) => {
      const id = idOf(request)
      const fields = normalize(sent.fields)
      checkFields(fields, ['name', 'redirectUris'])
      const changes = fieldsToUpdate(fields, isClientKnownTo(sent.fields))
      await visitorOf(request).call(caller => api.update(caller, id, changes))
      logEvent(request, 'application_updated', { application: id })
      return reply.redirect(`/applications/${id}?saved=yes`, 303)
    }),
  }
}
