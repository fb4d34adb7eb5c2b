// Creates an application: the form, and one application for one form, however often that is delivered.
import { PublicError } from '../errors.ts'
import { logEvent } from '../operations/request-log.ts'
import { type CallAsVisitor, visitorOf } from '../sign-in/sign-in.ts'
import type { Forms } from '../web/forms.ts'
import type { FormToken } from '../web/hand-over.ts'
import { type Application, type ApplicationApi, byNewest, type Credentials, type Group } from './application-api.ts'
import type { Details } from './details.ts'
import { checkFields, type Fields, fieldsToCreate, formFields, normalize, type Typed } from './fields.ts'

type Parts = Pick<Forms, 'defineForm' | 'notices'> & { api: ApplicationApi; details: Details }

export function createCreation({ api, details, notices, defineForm }: Parts) {
  const form = defineForm({
    page: '/applications/new',
    template: 'applications/form',
    async data(request, { fields, signInHref }) {
      // Without a session nobody can be asked for the groups.
      const groups = signInHref ? undefined : (await visitorOf(request).call(api.listGroups))?.map(toChoice)
      const makesGroup = groups ? groups.length === 0 : Boolean(fields.groupName)
      return { title: 'New application', action: '/applications', isNew: true, formFields, groups, makesGroup }
    },
  })

  return {
    form,

    create: form.submit(async (request, reply, { fields, token, once }) => {
      const typed = normalize(fields)
      checkFields(typed, ['groupName' in fields ? 'groupName' : 'groupId', 'name', 'redirectUris'])
      const asked = JSON.stringify(typed)
      const created = await once(async () => ({ asked, ...(await createFor(visitorOf(request).call, token, typed)) }))
      if (created.asked !== asked) {
        const message = 'This form has created an application already. If you want another one, send it again.'
        throw new PublicError('form_used', 409, message)
      }
      const { id, credentials } = created
      logEvent(request, 'application_created', { application: id })
      if (!credentials) {
        notices.leave(reply, `/applications/${id}`, 'created-earlier')
        return reply.redirect(`/applications/${id}`, 303)
      }
      return details.handOver(request, reply, id, { name: typed.name, isNew: true, ...credentials })
    }),
  }

  /**
   * Browsers send a form again by themselves when the connection drops before the answer, and people press twice. The
   * API takes no idempotency key and replicas share no memory, so a process that does not know the form looks for its
   * application first. What is left is two replicas within one round trip to the API. A list that cannot be read stops
   * only a form that may have created one already (docs/decisions/058). Without credentials where one was there.
   */
  async function createFor(
    call: CallAsVisitor,
    form: FormToken,
    typed: Typed,
  ): Promise<{ id: string; credentials?: Credentials }> {
    const groupId = typed.groupId || (await takeGroup(call, typed.groupName))
    const fields = fieldsToCreate({ ...typed, groupId })
    const found = await lookFor(call, form, fields).catch(error => {
      // A fault of the session, and not of the API itself.
      if (!(error instanceof PublicError && /^(api|application)_/.test(error.code))) throw error
      if (!form.mayHaveActed) return undefined
      const message = `Your first try may have created the application, and whether it did cannot be seen now: ${error.message}`
      throw new PublicError('creation_in_doubt', error.statusCode, message, error)
    })
    return found ?? call(caller => api.create(caller, fields))
  }

  /** The visitor's own group of this name, made where it is not there yet: a form may be sent again. */
  async function takeGroup(call: CallAsVisitor, name: string): Promise<string> {
    const groups = await call(api.listGroups)
    const known = groups?.find(group => group.name === name && group.isOwn !== false)
    return known?.id ?? call(caller => api.createGroup(caller, name))
  }

  async function lookFor(call: CallAsVisitor, form: FormToken, fields: Fields): Promise<{ id: string } | undefined> {
    const applications = await call(api.list)
    // The API tells times in seconds.
    const since = Math.floor(form.shownAt / 1000) * 1000
    const alike = applications.filter(one => isSame(one, fields) && one.createdAt && one.createdAt.getTime() >= since)
    for (const { id } of alike.toSorted(byNewest).slice(0, mostLookedAt)) {
      // Only here is the client told: another form may have made one with the same name.
      if (isSame(await call(caller => api.get(caller, id)), fields)) return { id }
    }
    return undefined
  }
}

/** Each is a call to the API: one form must not cause any number of them. */
const mostLookedAt = 3

/** Whether an application has what a form says, as far as the API tells. */
function isSame({ groupId, client, ...application }: Application, fields: Fields): boolean {
  const told = { ...application, ...(groupId && { groupId }), ...client }
  return Object.entries(fields).every(
    ([name, text]) => !Object.hasOwn(told, name) || told[name as keyof Fields] === text,
  )
}

/** Anybody can invite a visitor to a group, so the one that is chosen by itself is of the visitor's own making. */
function toChoice({ id, name, isOwn }: Group, _index: number, groups: Group[]) {
  const isAlone = groups.filter(other => other.name === name).length === 1
  const text = isAlone ? name : `${name} (${id})`
  const firstOwn = groups.find(group => group.isOwn)
  const isUsual = firstOwn ? firstOwn.id === id : groups.length === 1 && isOwn === undefined
  return { value: id, text: name ? text : id, isUsual }
}
