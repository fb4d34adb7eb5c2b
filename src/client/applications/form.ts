// The form of an application: a new one, and the changes to one that is there.
import type { FastifyRequest } from 'fastify'
import { logEvent } from '../operations/request-log.ts'
import { visitorOf } from '../sign-in/sign-in.ts'
import type { Forms, Shown } from '../web/forms.ts'
import { type ApplicationApi, allFields, type Group } from './application-api.ts'
import { createOnce } from './create-once.ts'
import { handOverCredentials } from './credentials.ts'
import { idOf } from './details.ts'
import { checkFields, fieldsToUpdate, isClientKnownTo, longestField, normalize } from './fields.ts'

type Parts = Forms & {
  api: ApplicationApi
  clock: () => Date
  /** Where visitors find their groups. */
  portalUrl: string
}

const template = 'applications/form'

export function createApplicationForms({ api, clock, portalUrl, defineForm, handovers }: Parts) {
  const create = createOnce(api, clock)

  const newForm = defineForm({ page: '/applications/new', template, data: showNew })
  const editForm = defineForm({ page: '/applications/:id/edit', template, data: showEdit })

  async function showNew(request: FastifyRequest, { errors, signInHref }: Shown) {
    // Without a session nobody can be asked for the groups.
    const groups = signInHref ? undefined : (await visitorOf(request).call(api.listGroups))?.map(toChoice)
    const title = signInHref ? 'Your session has ended' : 'New application'
    return { ...common(errors), isNew: true, title, action: '/applications', groups, portalUrl }
  }

  async function showEdit(request: FastifyRequest, { errors, fields, hasDraft, problem, signInHref }: Shown) {
    const id = idOf(request)
    const page = { ...common(errors), back: `/applications/${id}` }
    if (signInHref) return { ...page, title: 'Your session has ended', isClientKnown: isClientKnownTo(fields) }
    if (problem) return { ...page, title: 'Edit application', isClientKnown: isClientKnownTo(fields) }
    const application = await visitorOf(request).call(caller => api.get(caller, id))
    return {
      ...page,
      title: `Edit ${application.name || 'application'}`,
      application,
      // As it was when the draft was typed: an empty field means something else where nothing was shown in it.
      isClientKnown: hasDraft ? isClientKnownTo(fields) : application.client !== undefined,
      fields: hasDraft ? fields : { ...application, ...application.client },
    }
  }

  return {
    newForm,
    editForm,

    create: newForm.submit(async (request, reply, sent) => {
      const fields = normalize(sent.fields)
      checkFields(fields, ['groupId', 'name', 'redirectUris'])
      const { id, credentials } = await create(visitorOf(request).call, sent.token, fields)
      logEvent(request, 'application_created', { application: id })
      if (!credentials) return reply.redirect(`/applications/${id}?created=earlier`, 303)
      return handOverCredentials(handovers, request, reply, id, { name: fields.name, ...credentials })
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
  const isOurs = (name: string) => (allFields as readonly string[]).includes(name)
  return { longestField, otherErrors: Object.keys(errors).filter(name => !isOurs(name)), isNew: false }
}
