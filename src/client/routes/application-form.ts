// The form of an application: a new one, and the changes to one that is there. Whatever goes wrong, what was typed stays.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Application, type ApplicationApi, allFields, FieldError } from '../application-api.ts'
import { checkFields, fieldsToUpdate, isClientKnownTo, longestField, readFieldsOf } from '../application-form.ts'
import { CreationInDoubt, createCreator } from '../create-once.ts'
import { PublicError } from '../errors.ts'
import { logEvent } from '../operations/request-log.ts'
import { logFault } from '../web/error-pages.ts'
import { type Forms, readFields } from '../web/forms.ts'
import { visitorOf } from '../web/require-session.ts'
import { showPage } from '../web/views.ts'
import { idOf } from './applications.ts'

type Parts = { api: ApplicationApi; forms: Forms; clock: () => Date }
type Page = {
  title: string
  /** Where the form is sent; only a new application is sent to the list. */
  action: string
  fields: Record<string, unknown>
  hasDraft?: boolean
  problem?: PublicError
  application?: Application
  isClientKnown?: boolean
  formToken?: string | undefined
}

export function applicationFormRoutes({ api, forms, clock }: Parts) {
  const createOnce = createCreator(api, clock)
  const newPage = { title: 'New application', action: '/applications' }

  return {
    async showNew(request: FastifyRequest, reply: FastifyReply) {
      const draft = forms.takeHandover(request, reply)
      return showForm(request, reply, { ...newPage, fields: draft?.fields ?? {}, hasDraft: draft !== undefined })
    },

    async create(request: FastifyRequest, reply: FastifyReply) {
      const { formToken, ...form } = readFields(request.body)
      try {
        const token = forms.requireToken(request, '/applications/new')
        const fields = readFieldsOf(form)
        checkFields(fields, ['groupId', 'name', 'redirectUris'])
        const { id, credentials } = await createOnce(visitorOf(request).call, token, fields)
        logEvent(request, 'application_created', { application: id })
        if (!credentials) return reply.redirect(`/applications/${id}?created=earlier`, 303)
        return forms.handOverCredentials(request, reply, id, { name: fields.name, ...credentials })
      } catch (error) {
        const problem = keepsForm(error)
        // The same token again, so that a form whose answer was lost still creates one application; a used one is renewed.
        const isOver = problem.code === 'form_too_old' || problem.code === 'form_used'
        const token = problem instanceof CreationInDoubt ? forms.openToken(request.body) : undefined
        const sameToken = token ? forms.doubtToken(token) : formToken
        return showForm(request, reply, {
          ...newPage,
          fields: form,
          problem,
          formToken: isOver ? undefined : sameToken,
        })
      }
    },

    async showEdit(request: FastifyRequest, reply: FastifyReply) {
      const id = idOf(request)
      const application = await visitorOf(request).call(caller => api.get(caller, id))
      const draft = forms.takeHandover(request, reply)
      return showForm(request, reply, {
        title: `Edit ${application.name || 'application'}`,
        action: `/applications/${id}/edit`,
        application,
        // As it was when the draft was typed: an empty field means something else where nothing was shown in it.
        isClientKnown: draft?.fields ? isClientKnownTo(draft.fields) : application.client !== undefined,
        fields: draft?.fields ?? { ...application, ...application.client },
        hasDraft: draft !== undefined,
      })
    },

    async edit(request: FastifyRequest, reply: FastifyReply) {
      const id = idOf(request)
      const action = `/applications/${id}/edit`
      const form = readFields(request.body)
      const isClientKnown = isClientKnownTo(form)
      try {
        forms.requireToken(request, action)
        const fields = readFieldsOf(form)
        checkFields(fields, ['name', 'redirectUris'])
        const changes = fieldsToUpdate(fields, isClientKnown)
        await visitorOf(request).call(caller => api.update(caller, id, changes))
        logEvent(request, 'application_updated', { application: id })
      } catch (error) {
        const page = { title: 'Edit application', action, isClientKnown, fields: form }
        return showForm(request, reply, { ...page, problem: keepsForm(error) })
      }
      return reply.redirect(`/applications/${id}?saved=yes`, 303)
    },
  }

  async function showForm(request: FastifyRequest, reply: FastifyReply, page: Page) {
    const { problem, action, formToken = forms.newToken(request) } = page
    const errors = problem instanceof FieldError ? problem.fields : {}
    if (problem) {
      reply.code(problem.statusCode)
      logFault(request, problem)
    }
    return showPage(reply, 'application-form', {
      ...page,
      errors,
      otherErrors: Object.keys(errors).filter(name => !(allFields as readonly string[]).includes(name)),
      groups: action === newPage.action ? await visitorOf(request).call(api.listGroups) : undefined,
      formToken,
      longestField,
    })
  }
}

/** The faults that the form itself shows; what is gone or was meant for someone else gets a page of its own. */
function keepsForm(error: unknown): PublicError {
  if (!(error instanceof PublicError) || error.statusCode === 404 || error.code === 'other_visitor') throw error
  return error
}
