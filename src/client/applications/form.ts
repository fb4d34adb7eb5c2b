// The form of an application: a new one, and the changes to one that is there.
import type { FastifyRequest } from 'fastify'
import { logEvent } from '../operations/request-log.ts'
import { visitorOf } from '../sign-in/sign-in.ts'
import type { Forms, Shown } from '../web/forms.ts'
import type { ApplicationApi, Group } from './application-api.ts'
import { createOnce } from './create-once.ts'
import type { ShowCredentials } from './credentials.ts'
import { idOf } from './details.ts'
import { checkFields, fieldsToUpdate, formFields, inFormWords, isClientKnownTo, normalize } from './fields.ts'
import { splitUris } from './redirect-uris.ts'

type Parts = Forms & { api: ApplicationApi; credentials: ShowCredentials; clock: () => Date }

const template = 'applications/form'

export function createApplicationForms({ api, credentials, clock, defineForm }: Parts) {
  const create = createOnce(api, clock)

  const newForm = defineForm({ page: '/applications/new', template, data: showNew })
  const editForm = defineForm({ page: '/applications/:id/edit', template, data: showEdit })

  async function showNew(request: FastifyRequest, { errors, fields, signInHref }: Shown) {
    // Without a session nobody can be asked for the groups.
    const groups = signInHref ? undefined : (await visitorOf(request).call(api.listGroups))?.map(toChoice)
    const title = signInHref ? 'Your session has ended' : 'New application'
    const makesGroup = groups ? groups.length === 0 : Boolean(fields.groupName)
    return { ...common(errors), isNew: true, title, action: '/applications', groups, makesGroup }
  }

  async function showEdit(request: FastifyRequest, { errors, fields, hasDraft, problem, signInHref }: Shown) {
    const id = idOf(request)
    const page = { ...common(errors), back: `/applications/${id}` }
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
    newForm,
    editForm,

    create: newForm.submit(async (request, reply, sent) => {
      const fields = normalize(sent.fields)
      checkFields(fields, ['groupName' in sent.fields ? 'groupName' : 'groupId', 'name', 'redirectUris'])
      const created = await create(visitorOf(request).call, sent.token, fields)
      const { id } = created
      logEvent(request, 'application_created', { application: id })
      if (!created.credentials) return reply.redirect(`/applications/${id}?created=earlier`, 303)
      return credentials.handOver(request, reply, id, { name: fields.name, isNew: true, ...created.credentials })
    }),

    edit: editForm.submit(async (request, reply, sent) => {
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

/** Anybody can invite a visitor to a group, so the one that is chosen by itself is of the visitor's own making. */
function toChoice({ id, name, isOwn }: Group, _index: number, groups: Group[]) {
  const isAlone = groups.filter(other => other.name === name).length === 1
  const text = isAlone ? name : `${name} (${id})`
  const firstOwn = groups.find(group => group.isOwn)
  const isUsual = firstOwn ? firstOwn.id === id : groups.length === 1 && isOwn === undefined
  return { value: id, text: name ? text : id, isUsual }
}

function common(errors: Record<string, string[]>) {
  return { formFields, errors: inFormWords(errors), isNew: false }
}
