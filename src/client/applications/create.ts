// GET /applications/new and POST /applications: create an application. A form creates only one application, even if
// the browser sends the form several times.
import { hash } from 'node:crypto'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { FieldError, PublicError } from '../errors.ts'
import { logEvent } from '../operations/request-log.ts'
import type { Visitor } from '../sign-in/visitor.ts'
import type { Texts } from '../texts.ts'
import { type FormToken, FormUsed } from '../web/forms.ts'
import {
  type Application,
  byNewest,
  type Credentials,
  hasApplicationId,
  readAppAccessTokens,
  readApplication,
  readTime,
} from './application.ts'
import type { ApplicationsOptions } from './applications.ts'
import { sendCredentials } from './credentials.ts'
import {
  type ApplicationFields,
  checkFields,
  describeFields,
  fieldsToCreate,
  normalize,
  type TypedFields,
  withFormLabels,
} from './fields.ts'
import { findOrCreateGroup, loadGroups, toChoices, toGroupNames } from './groups.ts'
import { applicationEnvelope, applicationSchema, collectionSchema, createdApplicationSchema } from './schemas.ts'

/** The API returns credentials only once. So if another process created the application, `credentials` is missing. */
type Created = { id: string; credentials?: Credentials }

/** The maximum number of applications that are compared with the form. Each comparison takes one call to the API. */
const maxCandidates = 3
/** The maximum difference between the clocks of the API and of the replicas. */
const maxClockDifferenceMs = 5 * 60 * 1000

export const create: FastifyPluginAsync<ApplicationsOptions> = async (app, { config, clock }) => {
  const form = app.defineForm({
    page: '/applications/new',
    template: 'applications/form',
    notInDraft: ['groupNames'],
    async data(request, { fields, hasNoVisitor }) {
      // Without a visitor, the client cannot read the groups from the API.
      const { groups, apiTime, problem: groupsProblem } = hasNoVisitor ? {} : await loadGroups(request.visitor)
      const makesGroup = groups ? groups.length === 0 : Boolean(fields.groupName)
      const choices = groups && toChoices(groups)
      const groupNames = choices ? toGroupNames(choices) : fields.groupNames
      const formFields = describeFields(request.texts)
      // If the form also asks for the name of a group, the label "Name" is not clear enough.
      const name = { ...formFields.name, label: request.texts.applications.form.labels.nameOfApplication }
      return {
        title: request.texts.applications.form.newTitle,
        action: '/applications',
        isNew: true,
        formFields: makesGroup ? { ...formFields, name } : formFields,
        groups: choices,
        groupNames,
        chosenGroupName: new URLSearchParams(groupNames).get(fields.groupId ?? ''),
        makesGroup,
        fields: makesGroup ? { groupName: suggestGroupName(request), ...fields } : fields,
        groupsProblem: groupsProblem?.messageIn(request.texts),
        portalUrl: config.loginUrl,
        seen: apiTime?.toISOString(),
      }
    },
  })

  app.get('/applications/new', form.show)

  app.post(
    '/applications',
    form.route,
    form.submit(async (request, reply, { fields, token, once }) => {
      const typed = normalize(fields)
      // Only a visitor without a group gets a form with the field `groupName`.
      checkFields(typed, ['groupName' in fields ? 'groupName' : 'groupId', 'name', 'redirectUris'])
      const typedHash = hash('sha256', JSON.stringify(typed))
      const result = await once(async () => {
        const created = await findOrCreateApplication(request.visitor, token, typed)
        if (created.credentials) logEvent(request, 'application_created', { application: created.id })
        return { ...created, typedHash }
      })
      // If this form has already been sent with other values, the shared result belongs to those values.
      if (result.typedHash !== typedHash) throw new FormUsed(texts => texts.applications.form.used)
      const { id, credentials } = result
      if (credentials)
        return sendCredentials(config, request, reply, id, { name: typed.name, isNew: true, ...credentials })
      app.notices.leave(reply, `/applications/${id}`, 'created-earlier')
      return reply.redirect(`/applications/${id}`, 303)
    }),
  )

  /**
   * The API has no idempotency keys, and the replicas do not share memory. So if a process has not seen this form
   * before, the process first looks for the application in the list. If two replicas get the form at almost the same
   * time, they can still create two applications.
   *
   * If the process cannot read the list, it creates the application anyway. There is one exception: the same form was
   * sent before, and the API gave no usable answer. In this case, the visitor gets an error.
   */
  async function findOrCreateApplication(visitor: Visitor, token: FormToken, typed: TypedFields): Promise<Created> {
    const groupId = typed.groupId || (await findOrCreateGroup(visitor, typed.groupName))
    const fields = fieldsToCreate({ ...typed, groupId })
    try {
      const id = await findCreated(visitor, token, fields)
      if (id) return { id }
    } catch (error) {
      const isApiError = error instanceof PublicError && error.code.startsWith('api_')
      if (!isApiError) throw error
      if (token.mayHaveActed) {
        const sentence = (texts: Texts) => texts.applications.form.inDoubt(error.messageIn(texts))
        const { cause, retryAfterSeconds } = error
        // The new error does not copy the status of `error`. This status can be 404, and the client does not show a
        // form again after a 404.
        throw new PublicError('creation_in_doubt', 502, sentence, { cause, retryAfterSeconds })
      }
    }
    return postApplication(visitor, fields)
  }

  /**
   * Looks for an application that was created after the form was shown, and whose fields have the values of the form.
   * Returns the id of this application, or undefined.
   */
  async function findCreated(
    { api }: Visitor,
    token: FormToken,
    fields: ApplicationFields,
  ): Promise<string | undefined> {
    const { ItemList } = await api.get('/apps/v1', collectionSchema)
    const since = timeShown(token)
    const candidates = ItemList.filter(hasApplicationId)
      .map(readApplication)
      .filter(one => hasSameFields(one, fields) && one.createdAt && one.createdAt.getTime() >= since)
      .sort(byNewest)
      .slice(0, maxCandidates)
    for (const { id } of candidates) {
      // The list does not contain the fields of the OAuth client, such as the redirect URIs.
      const application = readApplication(await api.get(`/apps/v1/${id}`, applicationSchema))
      if (hasSameFields(application, fields)) return id
    }
    return undefined
  }

  async function postApplication({ api }: Visitor, fields: ApplicationFields): Promise<Created> {
    try {
      const body = { ...applicationEnvelope, data: fields }
      const { '@id': id, client, tokens } = await api.post('/apps/v1', body, createdApplicationSchema)
      // The schema requires at least one secret.
      const [clientSecret = ''] = client.clientSecrets
      const appAccessTokens = readAppAccessTokens(tokens, clock())
      return { id, credentials: { clientId: client.clientId, clientSecret, appAccessTokens } }
    } catch (error) {
      // If the API answers 403 or 404 here, the reason is the chosen group.
      if (!(error instanceof PublicError)) throw error
      if (error instanceof FieldError) throw withFormLabels(error)
      if (error.statusCode === 403)
        throw new FieldError({ groupId: [texts => texts.applications.form.problems.notAMember] })
      if (error.statusCode === 404)
        throw new FieldError({ groupId: [texts => texts.applications.form.problems.noGroup] })
      throw error
    }
  }
}

/**
 * Returns the time at which the form was shown, according to the API's clock. The times of the applications come from
 * the same clock. If the API's time is unknown, the function uses the replica's time, and subtracts the maximum
 * difference between the clocks. So the client does not create a duplicate.
 */
function timeShown({ seen, shownAt }: FormToken): number {
  const apiTime = readTime(seen)
  return apiTime ? apiTime.getTime() : shownAt - maxClockDifferenceMs
}

/** Suggests a name for the visitor's first group. The visitor can type another name. */
function suggestGroupName({ visitorIfAny, texts }: FastifyRequest): string {
  const name = visitorIfAny?.name ?? ''
  return name.length > 0 && name.length <= 100 ? texts.applications.form.groupOf(name) : ''
}

/** Whether the application has the same values as `fields`. A field that the API does not return is not compared. */
function hasSameFields({ groupId, client, missing, ...application }: Application, fields: ApplicationFields): boolean {
  const known: Record<string, unknown> = { ...application, ...(groupId && { groupId }), ...client }
  const compared = Object.entries(fields).filter(([name]) => Object.hasOwn(known, name) && !missing.includes(name))
  return compared.every(([name, value]) => known[name] === value)
}
