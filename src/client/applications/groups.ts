// The visitor's groups. An application belongs to a group of people who develop it.
import { FieldError, PublicError } from '../errors.ts'
import type { Visitor } from '../sign-in/visitor.ts'
import type { Sentence } from '../texts.ts'
import { type Group, readGroup, readTime } from './application.ts'
import { collectionSchema, createdGroupSchema, groupEnvelope } from './schemas.ts'

type LoadedGroups = {
  /** Undefined if the groups could not be loaded. */
  groups?: Group[]
  /** The time of the answer, according to the API's clock. Undefined if the answer does not contain this time. */
  apiTime?: Date | undefined
  /** Why the groups could not be loaded. */
  problem?: PublicError
}

/**
 * If the API does not return the groups, this function returns the error as `problem`, because the pages work without
 * the groups. The function throws PublicError only if the visitor must sign in.
 */
export async function loadGroups({ userId, api }: Visitor): Promise<LoadedGroups> {
  if (!userId)
    return { problem: new PublicError('groups_unknown', 502, texts => texts.applications.form.groupsUnknown) }
  const path = `/identities/v1/${encodeURIComponent(userId)}/links?type=MemberOf`
  try {
    const options = { deadlineMs: 2_000, maxBytes: 256 * 1024 }
    const { data, headers } = await api.getWithHeaders(path, collectionSchema, options)
    return { groups: data.ItemList.map(readGroup).filter(({ id }) => id), apiTime: readTime(headers.date) }
  } catch (error) {
    if (!(error instanceof PublicError) || error.statusCode === 401) throw error
    return { problem: error }
  }
}

/**
 * Creates a group with the visitor as its member, and returns the group's id. Throws FieldError for the field
 * `groupName`.
 */
async function createGroup({ api }: Visitor, name: string): Promise<string> {
  const refused = (reasons: Sentence[]) => new FieldError({ groupName: reasons })
  const notCreated = refused([texts => texts.applications.form.problems.groupNotCreated])
  const body = { ...groupEnvelope, data: { name } }
  const { '@id': id } = await api.post('/identities/v1', body, createdGroupSchema).catch(error => {
    // The API may report a problem for any field of the group. This form shows every problem next to the field
    // `groupName`.
    if (error instanceof FieldError) {
      const reasons = Object.values(error.fields).flat()
      throw reasons.length > 0 ? refused(reasons) : error
    }
    const status = error instanceof PublicError ? error.statusCode : undefined
    throw status === 403 || status === 404 || status === 409 ? notCreated : error
  })
  if (typeof id !== 'string' || id === '') throw notCreated
  return id
}

/**
 * Returns the id of the visitor's own group with this name. If there is no such group, the function creates it. The
 * group can already exist if the visitor has sent the same form before. So if the groups cannot be loaded, the function
 * throws the error, and does not create a group.
 */
export async function findOrCreateGroup(visitor: Visitor, name: string): Promise<string> {
  const { groups, problem } = await loadGroups(visitor)
  if (problem) throw problem
  const known = groups?.find(group => group.name === name && group.isOwn !== false)
  return known?.id ?? createGroup(visitor, name)
}

type GroupChoice = { value: string; text: string; isDefault: boolean }

/**
 * Returns the groups that the form offers. The default is a group that the visitor created. Any other group can belong
 * to a stranger, because anyone can invite the visitor to a group.
 */
export function toChoices(groups: Group[]): GroupChoice[] {
  const firstOwn = groups.find(({ isOwn }) => isOwn)
  return groups.map(({ id, name, isOwn }) => {
    const isNameUnique = groups.filter(other => other.name === name).length === 1
    const text = isNameUnique ? name : `${name} (${id})`
    const isDefault = firstOwn ? firstOwn.id === id : groups.length === 1 && isOwn === undefined
    return { value: id, text: name ? text : id, isDefault }
  })
}

const maxGroupNamesLength = 4_000

/**
 * Returns the ids and names of the groups as one string, for a hidden field. If the session has ended, the client
 * cannot load the groups. It then reads the name of the chosen group from this field. Names that would make the field
 * too long are left out.
 */
export function toGroupNames(choices: GroupChoice[]): string {
  return choices.reduce((names, { value, text }) => {
    const withThis = `${names}&${new URLSearchParams([[value, text]])}`
    return withThis.length <= maxGroupNamesLength ? withThis : names
  }, '')
}
