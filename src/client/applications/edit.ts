// GET and POST /applications/:id/edit: change an application. The form must not overwrite a value that it has not
// shown. To prevent this, the API compares the ETag. If there is no ETag, the client compares the stored values with
// those that the form showed.
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { PublicError } from '../errors.ts'
import { logEvent } from '../operations/request-log.ts'
import type { FormFields, FormPage } from '../web/forms.ts'
import type { Application } from './application.ts'
import type { ApplicationsOptions } from './applications.ts'
import {
  applyChoices,
  EditConflict,
  readChoices,
  refuseConflict,
  toHiddenFields,
  withoutChoices,
} from './edit-conflict.ts'
import { checkFields, describeFields, fieldsToUpdate, normalize, relabelErrors, splitUris } from './fields.ts'
import { apiPathOf, getApplication, idOf, listLink, strongEtag } from './requested-application.ts'
import { applicationEnvelope, applicationSchema } from './schemas.ts'

export const edit: FastifyPluginAsync<ApplicationsOptions> = async app => {
  const form = app.defineForm({
    page: '/applications/:id/edit',
    template: 'applications/edit',
    async data(request, page) {
      const filled = await fillForm(request, page)
      const { texts } = request
      return {
        errors: relabelErrors(page.errors, texts),
        ...filled,
        title: texts.applications.form.editTitle(filled.fields.oldName || texts.applications.anApplication),
        formFields: describeFields(texts),
        crumbs: [listLink(texts)],
        back: `/applications/${idOf(request)}`,
      }
    },
  })

  app.get('/applications/:id/edit', form.show)

  app.post(
    '/applications/:id/edit',
    form.route,
    form.submit(async (request, reply, { fields }) => {
      await save(request, fields)
      const id = idOf(request)
      logEvent(request, 'application_updated', { application: id })
      app.notices.leave(reply, `/applications/${id}`, 'saved')
      return reply.redirect(`/applications/${id}`, 303)
    }),
  )

  /**
   * Throws EditConflict if the update would overwrite a change that somebody else has made in the meantime. This
   * function changes the object `fields` itself, because a refused form is shown again with the values in this object.
   */
  async function save(request: FastifyRequest, fields: FormFields): Promise<void> {
    const isChoosing = Boolean(fields.choosing)
    const usesEtagOfForm = !isChoosing && strongEtag(fields.etag) !== undefined
    if (isChoosing) Object.assign(fields, applyChoices(fields, await getApplication(request)))
    checkFields(normalize(fields), ['name', 'redirectUris'])
    if (!isChoosing && !usesEtagOfForm) Object.assign(fields, refuseConflict(fields, await getApplication(request)))
    try {
      await update(request, fields)
    } catch (error) {
      if (!isChangedSince(error)) throw error
      // This request has just read the stored application, so the client does not try again (DO-14).
      if (!usesEtagOfForm) throw changedJustNow()
      // If somebody has changed only values that are not in this form, such as the client secret, there is no conflict,
      // and the client sends the update again.
      Object.assign(fields, refuseConflict(fields, await getApplication(request)))
      await update(request, fields).catch(secondError => {
        throw isChangedSince(secondError) ? changedJustNow() : secondError
      })
    }
  }

  /** If the API sends no ETag, somebody can still change the application between the comparison and this update. */
  async function update(request: FastifyRequest, fields: FormFields): Promise<void> {
    const changes = fieldsToUpdate(normalize(fields), fields.isClientKnown === 'yes')
    const body = { ...applicationEnvelope, data: changes }
    const ifMatch = strongEtag(fields.etag)
    await request.visitor.api.put(apiPathOf(request), body, applicationSchema, { ifMatch })
  }

  /**
   * Returns the data of one of three pages: a form with the stored values, a refused form, or the choices after a
   * conflict.
   */
  async function fillForm(request: FastifyRequest, { fields, problem, signInHref }: Omit<FormPage, 'formToken'>) {
    if (problem instanceof EditConflict) return showChoices(request, fields, problem)
    if (Object.keys(fields).length === 0) return { fields: toFormFields(await getApplication(request)) }
    if (!fields.choosing) return { fields }
    // The page does not show the choices if it shows a link for signing in, or a problem other than a conflict. So
    // the choices are removed, and the next submission is compared with the stored values again.
    if (problem || signInHref) return { fields: withoutChoices(fields) }
    const stored = await getApplication(request)
    const differences = readChoices(fields, stored)
    if (differences.length > 0) return showChoices(request, fields, new EditConflict(differences, stored))
    const merged: FormFields = { ...fields, ...toHiddenFields(stored), choosing: '' }
    return { fields: merged }
  }
}

/** Whether the API refused the update because somebody has changed the application since its ETag was read. */
function isChangedSince(error: unknown): boolean {
  return error instanceof PublicError && error.code === 'api_changed'
}

function changedJustNow(): PublicError {
  return new PublicError('application_changed', 412, texts => texts.applications.form.changedJustNow)
}

function showChoices({ texts }: FastifyRequest, typed: FormFields, problem: EditConflict) {
  const { differences, stored } = problem
  const fields: FormFields = { ...typed, ...toHiddenFields(stored) }
  const undecided = differences.filter(({ choice }) => choice === undefined)
  const errors = Object.fromEntries(undecided.map(({ name }) => [name, [texts.applications.conflict.choose]]))
  return { fields, problem, differences, errors }
}

/**
 * Returns the stored values for the form. `oldName` and `isClientKnown` are hidden fields, so that a refused form still
 * has them.
 */
function toFormFields(stored: Application): FormFields {
  const { name, description, webPageUrl, iconUrl, privacyPolicyUrl, client } = stored
  const redirectUris = splitUris(client?.redirectUris ?? '').join('\n')
  const values = { name, description, webPageUrl, iconUrl, privacyPolicyUrl, ...client, redirectUris }
  return { ...values, ...toHiddenFields(stored), oldName: name, isClientKnown: client ? 'yes' : '' }
}
