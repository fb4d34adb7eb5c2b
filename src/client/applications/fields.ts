// The fields of an application: their bounds, what is wrong with them, and what is sent of them.
import { FieldError } from '../errors.ts'
import { type Application, allFields, type Field, type Fields, type ListedApplication } from './application-api.ts'

const longestUrl = 2_048

/** Most characters of each field, as the application API bounds them. */
export const longestField: Record<Field, number> = {
  groupId: 200,
  name: 200,
  description: 2_000,
  webPageUrl: longestUrl,
  iconUrl: longestUrl,
  privacyPolicyUrl: longestUrl,
  redirectUris: 8_000,
  defaultRedirectUri: longestUrl,
  scopes: 2_000,
  defaultScopes: 2_000,
}

/** What was typed, as it goes into the request: one line ending, no stray spaces, one redirect URI behind another. */
export function normalize(form: Record<string, string>): Fields {
  const read = (field: Field) => (form[field] ?? '').replaceAll('\r\n', '\n').trim()
  const fields = Object.fromEntries(allFields.map(field => [field, read(field)])) as Fields
  return { ...fields, redirectUris: splitUris(fields.redirectUris).join(',') }
}

/** Checks what browsers were told to check, for those that do not; the rest is the API's to judge. Throws FieldError. */
export function checkFields(fields: Fields, required: readonly Field[]): void {
  const problems: Record<string, string[]> = {}
  for (const field of allFields) {
    // Characters as the API counts them: an emoji is one.
    const { length } = [...fields[field]]
    const most = longestField[field]
    const mustBeLink = field === 'webPageUrl' || field === 'iconUrl' || field === 'privacyPolicyUrl'
    if (length === 0 && required.includes(field)) problems[field] = ['Please fill this in.']
    if (length > most) problems[field] = [`At most ${most} characters, please: these are ${length}.`]
    else if (length > 0 && mustBeLink && !isWebUrl(fields[field]))
      problems[field] = ['This must be an address that begins with https:// or http://.']
  }
  if (Object.keys(problems).length > 0) throw new FieldError(problems)
}

/** All ten fields: part 2 of the specification leaves none out. Without a default redirect URI it is the first. */
export function fieldsToCreate(fields: Fields): Fields {
  return { ...fields, defaultRedirectUri: fields.defaultRedirectUri || (splitUris(fields.redirectUris)[0] ?? '') }
}

/** Whether the API had told of the client when the form was shown: only then does an empty field mean to empty it. */
export function isClientKnownTo(form: Record<string, string>): boolean {
  return form.isClientKnown === 'yes'
}

/**
 * The group of an application stays. What the API did not tell is sent only if it was typed: a field that is left out
 * keeps its value, and a guessed one would overwrite it.
 */
export function fieldsToUpdate(fields: Fields, isClientKnown: boolean): Partial<Fields> {
  const { groupId: _, ...all } = isClientKnown ? fieldsToCreate(fields) : fields
  if (isClientKnown) return all
  const { defaultRedirectUri, scopes, defaultScopes, ...always } = all
  return {
    ...always,
    ...(defaultRedirectUri && { defaultRedirectUri }),
    ...(scopes && { scopes }),
    ...(defaultScopes && { defaultScopes }),
  }
}

/** Whether an application has what a form says. */
export function hasFields(application: ListedApplication, fields: Fields): boolean {
  const told = ['name', 'description', 'webPageUrl', 'iconUrl', 'privacyPolicyUrl'] as const
  return (
    told.every(field => application[field] === fields[field]) &&
    (application.groupId ?? fields.groupId) === fields.groupId
  )
}

/** Whether an application's client has what a form says; lists do not tell. */
export function hasClientFields(client: NonNullable<Application['client']>, fields: Fields): boolean {
  const asked = fieldsToCreate(fields)
  const told = ['redirectUris', 'defaultRedirectUri', 'scopes', 'defaultScopes'] as const
  return told.every(field => client[field] === asked[field])
}

/** Whether an address that somebody typed may become a link. */
export function isWebUrl(value: string): boolean {
  return /^https?:\/\//i.test(value) && URL.canParse(value)
}

function splitUris(list: string): string[] {
  return list.split(/[\s,]+/).filter(Boolean)
}
