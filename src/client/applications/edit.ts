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

  /** Throws EditConflict if the update would overwrite a change that somebody else has made in the meantime. */
  async function save(request: FastifyRequest, fields: FormFields): Promise<void> {
    let etag = strongEtag(fields.etag)
    if (fields.choosing) etag = await compareWithStored(request, fields, applyChoices)
    checkFields(normalize(fields), ['name', 'redirectUris'])
    // If the API does not send an ETag, somebody can still change the application between this comparison and the
    // update.
    etag ??= await compareWithStored(request, fields, refuseConflict)
    try {
      await update(request, fields, etag)
    } catch (error) {
      if (!isChangedSince(error)) throw error
      // If somebody has changed only values that are not in this form, such as the client secret, there is no conflict,
      // and the client sends the update again.
      const newEtag = await compareWithStored(request, fields, refuseConflict)
      await update(request, fields, newEtag).catch(secondError => {
        if (!isChangedSince(secondError)) throw secondError
        throw new PublicError('application_changed', 412, texts => texts.applications.form.changedJustNow)
      })
    }
  }

  async function update(request: FastifyRequest, fields: FormFields, ifMatch: string | undefined): Promise<void> {
    const changes = fieldsToUpdate(normalize(fields), fields.isClientKnown === 'yes')
    const body = { ...applicationEnvelope, data: changes }
    await request.visitor.api.put(apiPathOf(request), body, applicationSchema, { ifMatch })
  }

  /**
   * Reads the stored application and calls `decide`, which applies the visitor's choices or refuses a conflict.
   * Afterwards, the hidden fields record that the visitor has seen the stored values. This function changes the object
   * `fields` itself, because a refused form is shown again with the values in this object. Returns the ETag of the
   * stored application.
   */
  async function compareWithStored(
    request: FastifyRequest,
    fields: FormFields,
    decide: (form: FormFields, stored: Application) => FormFields,
  ): Promise<string | undefined> {
    const stored = await getApplication(request)
    try {
      Object.assign(fields, decide(fields, stored))
    } finally {
      Object.assign(fields, toHiddenFields(stored))
    }
    return stored.etag
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
    const seen = { ...fields, ...toHiddenFields(stored) }
    return differences.length > 0
      ? showChoices(request, seen, new EditConflict(differences))
      : { fields: { ...seen, choosing: '' } }
  }
}

/** Whether the API refused the update because somebody has changed the application since its ETag was read. */
function isChangedSince(error: unknown): boolean {
  return error instanceof PublicError && error.code === 'api_changed'
}

function showChoices({ texts }: FastifyRequest, fields: FormFields, problem: EditConflict) {
  const { differences } = problem
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
