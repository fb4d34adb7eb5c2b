// Creates an application: the form, and one application for one form, however often that is delivered.
import type { FastifyRequest } from 'fastify'
import { PublicError } from '../errors.ts'
import { Once } from '../once.ts'
import { logEvent } from '../operations/request-log.ts'
import { type CallAsVisitor, visitorOf } from '../sign-in/sign-in.ts'
import { type Forms, InDoubt, type Shown } from '../web/forms.ts'
import type { FormToken } from '../web/hand-over.ts'
import { type ApplicationApi, byNewest, type Credentials, type Group } from './application-api.ts'
import type { ShowCredentials } from './credentials.ts'
import {
  checkFields,
  type Fields,
  fieldsToCreate,
  formFields,
  hasClientFields,
  hasFields,
  inFormWords,
  normalize,
  type Typed,
} from './fields.ts'

type Parts = Forms & { api: ApplicationApi; credentials: ShowCredentials; clock: () => Date }

export function createCreation({ api, credentials, clock, defineForm }: Parts) {
  const createOnce = onceForEachForm(api, clock)
  const form = defineForm({ page: '/applications/new', template: 'applications/form', data: show })

  async function show(request: FastifyRequest, { errors, fields, signInHref }: Shown) {
    // Without a session nobody can be asked for the groups.
    const groups = signInHref ? undefined : (await visitorOf(request).call(api.listGroups))?.map(toChoice)
    const title = signInHref ? 'Your session has ended' : 'New application'
    const makesGroup = groups ? groups.length === 0 : Boolean(fields.groupName)
    const shown = { title, action: '/applications', groups, makesGroup }
    return { ...shown, formFields, errors: inFormWords(errors), isNew: true }
  }

  return {
    form,

    create: form.submit(async (request, reply, sent) => {
      const fields = normalize(sent.fields)
      checkFields(fields, ['groupName' in sent.fields ? 'groupName' : 'groupId', 'name', 'redirectUris'])
      const created = await createOnce(visitorOf(request).call, sent.token, fields)
      const { id } = created
      logEvent(request, 'application_created', { application: id })
      if (!created.credentials) return reply.redirect(`/applications/${id}?created=earlier`, 303)
      return credentials.handOver(request, reply, id, { name: fields.name, isNew: true, ...created.credentials })
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

/** Without credentials where an earlier delivery created it, and its answer was lost. */
type Created = { id: string; credentials: Credentials | undefined }

const shareMs = 10 * 60 * 1000
/** Each is a call to the API: one form must not cause any number of them. */
const mostLookedAt = 3

/**
 * Browsers send a form again by themselves when the connection drops before the answer, and people press twice. The
 * API takes no idempotency key and replicas share no memory, so a process that does not know the form looks for its
 * application first, among the newest few. What is left is two replicas within one round trip to the API.
 * A list that cannot be read stops only a form that may have created one already (decision 007).
 * The result throws FieldError, InDoubt, and PublicError 409 where the form was used for other fields.
 */
function onceForEachForm(api: ApplicationApi, clock: () => Date) {
  const done = new Once<Created & { fields: string }>(clock, { shareMs })

  return async (callAsVisitor: CallAsVisitor, form: FormToken, typed: Typed): Promise<Created> => {
    const asked = JSON.stringify(typed)
    const created = await done.do(form.id, async () => {
      const groupId = typed.groupId || (await takeGroup(callAsVisitor, typed.groupName))
      const fields = fieldsToCreate({ ...typed, groupId })
      const id = await lookFor(callAsVisitor, form, fields).catch(error => {
        if (!isOfApi(error)) throw error
        if (!form.mayHaveActed) return undefined
        const message = `Your first try may have created the application, and whether it did cannot be seen now: ${error.message}`
        throw new InDoubt('creation_in_doubt', error.statusCode, message, error)
      })
      if (id !== undefined) return { id, credentials: undefined, fields: asked }
      const answer = await callAsVisitor(caller => api.create(caller, fields)).catch(error => {
        const { code, statusCode, message } = error
        throw isSilence(error) ? new InDoubt(code, statusCode, message, error) : error
      })
      return { ...answer, fields: asked }
    })
    if (created.fields === asked) return created
    const message = 'This form has created an application already. If you want another one, send it again.'
    throw new PublicError('form_used', 409, message)
  }

  /** The visitor's own group of this name, made where it is not there yet: a form may be sent again. */
  async function takeGroup(callAsVisitor: CallAsVisitor, name: string): Promise<string> {
    const groups = await callAsVisitor(api.listGroups)
    const known = groups?.find(group => group.name === name && group.isOwn !== false)
    return known?.id ?? callAsVisitor(caller => api.createGroup(caller, name))
  }

  async function lookFor(callAsVisitor: CallAsVisitor, form: FormToken, fields: Fields): Promise<string | undefined> {
    const applications = await callAsVisitor(api.list)
    // The API tells times in seconds.
    const since = Math.floor(form.shownAt.getTime() / 1000) * 1000
    const isFromThisForm = (createdAt: Date | undefined) => createdAt !== undefined && createdAt.getTime() >= since
    const alike = applications.filter(one => isFromThisForm(one.createdAt) && hasFields(one, fields))
    for (const one of alike.toSorted(byNewest).slice(0, mostLookedAt)) {
      const { client } = await callAsVisitor(caller => api.get(caller, one.id))
      // Another form may have made one with the same name.
      if (client === undefined || hasClientFields(client, fields)) return one.id
    }
    return undefined
  }
}

/** A fault of the API itself, and not of the visitor's session. */
function isOfApi(error: unknown): error is PublicError {
  return error instanceof PublicError && /^(api|application)_(?!unauthorized)/.test(error.code)
}

/** Neither done nor refused, as far as is known. */
function isSilence(error: unknown): boolean {
  return error instanceof PublicError && /^api_(timeout|unreachable|unexpected|failed)$/.test(error.code)
}
