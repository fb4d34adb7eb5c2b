// GET and POST /applications/:id/edit: change an application. The form must not overwrite a value that it has not
// shown. To prevent this, the API compares the ETag. If there is no ETag, the client compares the stored values with
// the values that the form showed.
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { FieldError, PublicError } from '../errors.ts'
import { logEvent } from '../operations/request-log.ts'
import type { FormFields, FormPage, Submission } from '../web/forms.ts'
import type { Application } from './application.ts'
import type { ApplicationsOptions } from './applications.ts'
import {
  applyChoices,
  EditConflict,
  missingIn,
  readChoices,
  refuseConflict,
  shownHashesIn,
  toHiddenFields,
  withoutChoices,
} from './edit-conflict.ts'
import { checkFields, describeFields, fieldsToUpdate, normalize, splitUris, withFormLabels } from './fields.ts'
import { apiPathOf, getApplication, idOf, listLink, strongEtag } from './requested-application.ts'
import { applicationEnvelope, applicationSchema } from './schemas.ts'

const required = ['name', 'redirectUris'] as const

export const edit: FastifyPluginAsync<ApplicationsOptions> = async app => {
  const form = app.defineForm({
    page: '/applications/:id/edit',
    template: 'applications/edit',
    async data(request, page) {
      const filled = await fillForm(request, page)
      const { texts } = request
      const missing = missingIn(filled.fields)
      return {
        ...filled,
        fields: { ...filled.fields, missing, shownHashes: shownHashesIn(filled.fields) },
        isDefaultKnown: !missing.split(',').includes('defaultRedirectUri'),
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
    form.submit(async (request, reply, submission) => {
      await save(request, submission)
      const id = idOf(request)
      logEvent(request, 'application_updated', { application: id })
      app.notices.leave(reply, `/applications/${id}`, 'saved')
      return reply.redirect(`/applications/${id}`, 303)
    }),
  )

  /**
   * Throws EditConflict if the update would overwrite a change that somebody else has made in the meantime. If the
   * visitor has chosen between values, a refused form is shown again with the chosen values.
   */
  async function save(request: FastifyRequest, { fields, showAgainWith }: Submission): Promise<void> {
    if (fields.choosing) {
      const chosen = applyChoices(fields, await getApplication(request))
      showAgainWith(chosen)
      checkFields(normalize(chosen), required)
      return updateOnce(request, chosen)
    }
    checkFields(normalize(fields), required)
    if (strongEtag(fields.etag)) {
      try {
        return await update(request, fields)
      } catch (error) {
        if (!isChangedSince(error)) throw error
        // If somebody has changed only values that are not in this form, such as the client secret, there is no
        // conflict. The client then sends the update again with the new ETag.
      }
    }
    return updateOnce(request, refuseConflict(fields, await getApplication(request)))
  }

  /**
   * Updates the application that this request has just read. If somebody has changed the application since then, the
   * client does not read it again (DO-14).
   */
  async function updateOnce(request: FastifyRequest, fields: FormFields): Promise<void> {
    try {
      await update(request, fields)
    } catch (error) {
      throw isChangedSince(error) ? changedJustNow() : error
    }
  }

  /** If the API sends no ETag, somebody can still change the application between the comparison and this update. */
  async function update(request: FastifyRequest, fields: FormFields): Promise<void> {
    const changes = fieldsToUpdate(normalize(fields), missingIn(fields))
    const body = { ...applicationEnvelope, data: changes }
    const ifMatch = strongEtag(fields.etag)
    await request.visitor.api.put(apiPathOf(request), body, applicationSchema, { ifMatch }).catch(error => {
      throw error instanceof FieldError ? withFormLabels(error) : error
    })
  }

  /** Returns the data of the page: a form with the stored values, a refused form, or the choices after a conflict. */
  async function fillForm(request: FastifyRequest, { fields, problem, hasNoVisitor }: Omit<FormPage, 'formToken'>) {
    if (problem instanceof EditConflict) return showChoices(request, fields, problem)
    if (Object.keys(fields).length === 0) return { fields: toFormFields(await getApplication(request)) }
    if (!fields.choosing) return { fields }
    // The page does not show the choices if it shows a link for signing in, or a problem other than a conflict. So
    // the choices are removed, and the next submission is compared with the stored values again.
    if (problem || hasNoVisitor) return { fields: withoutChoices(fields) }
    // The fields are a draft: the visitor filled in the page with the choices, and then had to sign in again.
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
 * Returns the stored values for the form. `oldName`, `isClientKnown` and `missing` are hidden fields, so that a refused
 * form still contains these values.
 */
function toFormFields(stored: Application): FormFields {
  const { name, description, webPageUrl, iconUrl, privacyPolicyUrl, client, missing } = stored
  const redirectUris = splitUris(client?.redirectUris ?? '').join('\n')
  const values = { name, description, webPageUrl, iconUrl, privacyPolicyUrl, ...client, redirectUris }
  const hidden = { oldName: name, isClientKnown: client ? 'yes' : '', missing: missing.join(',') }
  return { ...values, ...toHiddenFields(stored), ...hidden }
}
