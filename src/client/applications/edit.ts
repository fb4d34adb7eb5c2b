// Changes an application: the form with what is stored, and what is sent of it.
import type { FastifyRequest } from 'fastify'
import { PublicError } from '../errors.ts'
import { logEvent } from '../operations/request-log.ts'
import { visitorOf } from '../sign-in/sign-in.ts'
import type { Forms, Shown } from '../web/forms.ts'
import { type ApplicationApi, strongTag } from './application-api.ts'
import { idOf } from './details.ts'
import { checkFields, fieldsToUpdate, formFields, normalize, splitUris } from './fields.ts'
import {
  applyChoices,
  type Difference,
  Overtaken,
  readChoices,
  refuseOvertaken,
  toHiddenFields,
  withoutChoices,
} from './overtaken.ts'

export function createEditing({
  api,
  notices,
  defineForm,
}: Pick<Forms, 'defineForm' | 'notices'> & { api: ApplicationApi }) {
  const form = defineForm({
    page: '/applications/:id/edit',
    template: 'applications/edit',
    async data(request, shown) {
      const page = await fillPage(request, shown)
      const title = `Edit ${page.fields.oldName || 'application'}`
      return { ...page, title, formFields, back: `/applications/${idOf(request)}` }
    },
  })

  /** An empty form is filled with what is stored. After a conflict it shows both values of each field that differs. */
  async function fillPage(request: FastifyRequest, { fields, problem, signInHref }: Shown) {
    if (problem instanceof Overtaken) return showDifferences(fields, problem)
    if (Object.keys(fields).length === 0) return { fields: await load(request) }
    if (!fields.choosing) return { fields }
    // The choices cannot be shown again: the form must be compared anew when it is sent.
    if (problem || signInHref) return { fields: withoutChoices(fields) }
    const stored = await read(request)
    const differences = readChoices(fields, stored)
    if (differences.length === 0) return { fields: { ...fields, ...toHiddenFields(stored), choosing: '' } }
    return showDifferences({ ...fields, ...toHiddenFields(stored) }, new Overtaken(differences))
  }

  function showDifferences(fields: Record<string, string>, problem: Overtaken) {
    const { differences } = problem
    return { fields, problem, differences, errors: findUndecided(differences) }
  }

  function read(request: FastifyRequest) {
    return visitorOf(request).call(caller => api.get(caller, idOf(request)))
  }

  /** With what has to be known when the form comes back: an empty field means something else where nothing was shown in it. */
  async function load(request: FastifyRequest): Promise<Record<string, string>> {
    const stored = await read(request)
    const { name, description, webPageUrl, iconUrl, privacyPolicyUrl, client } = stored
    const redirectUris = splitUris(client?.redirectUris ?? '').join('\n')
    const shown = { name, description, webPageUrl, iconUrl, privacyPolicyUrl, ...client, redirectUris }
    return { ...shown, ...toHiddenFields(stored), oldName: name, isClientKnown: client ? 'yes' : '' }
  }

  return {
    form,

    edit: form.submit(async (request, reply, sent) => {
      const id = idOf(request)

      /** Throws Overtaken, and then the form comes back as one that has seen what is stored now. */
      async function compare(decide: typeof refuseOvertaken | typeof applyChoices): Promise<string | undefined> {
        const stored = await read(request)
        try {
          Object.assign(sent.fields, decide(sent.fields, stored))
        } finally {
          Object.assign(sent.fields, toHiddenFields(stored))
        }
        return stored.etag
      }

      async function update(etag: string | undefined): Promise<void> {
        const changes = fieldsToUpdate(normalize(sent.fields), sent.fields.isClientKnown === 'yes')
        await visitorOf(request).call(caller => api.update(caller, id, changes, etag))
      }

      let etag = strongTag(sent.fields.etag)
      if (sent.fields.choosing) etag = await compare(applyChoices)
      checkFields(normalize(sent.fields), ['name', 'redirectUris'])
      // The API sends no tags: between this comparison and the update somebody else can still come first.
      etag ??= await compare(refuseOvertaken)
      await update(etag).catch(async error => {
        if (!(error instanceof PublicError && error.code === 'application_changed')) throw error
        // What was changed may be something that this form does not show, such as a secret.
        await update(await compare(refuseOvertaken))
      })
      logEvent(request, 'application_updated', { application: id })
      notices.leave(reply, `/applications/${id}`, 'saved')
      return reply.redirect(`/applications/${id}`, 303)
    }),
  }
}

function findUndecided(differences: Difference[]): Record<string, string[]> {
  const undecided = differences.filter(({ choice }) => choice === undefined)
  return Object.fromEntries(undecided.map(({ name }) => [name, ['Choose one of the two values.']]))
}
