// The fields of an application that its developer fills in. This file has the schemas and types of these fields, and
// rules that a schema cannot express.
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { type FieldProblems, Refusal } from '../observe/refusal.ts'
import type { ApplicationFields } from '../store/applications.ts'
import { plainHostRule } from '../values/plain-host.ts'
import { isRedirectUri } from '../values/redirect-uri.ts'
import { isStorableText } from '../values/storable-text.ts'
import { isLonger } from '../values/text-length.ts'
import { isWebUrl } from '../values/web-url.ts'

const webUrl = {
  type: 'string',
  maxLength: 2048,
  description: 'An http or https address, or empty.',
  examples: [''],
} as const
const scopes = {
  type: 'string',
  maxLength: 2000,
  description: 'The API stores and returns this text. Tokens contain no scope.',
  examples: [''],
} as const

/** The fields that people see. The API returns these fields as `data`. */
export const descriptiveFields = {
  name: {
    type: 'string',
    minLength: 1,
    maxLength: 200,
    description: 'The name that visitors read on the consent page.',
    examples: ['Weather'],
  },
  description: {
    type: 'string',
    maxLength: 2000,
    description: 'Tells visitors what the application does.',
    examples: ['Shows the weather.'],
  },
  privacyPolicyUrl: webUrl,
  webPageUrl: webUrl,
  iconUrl: webUrl,
} as const satisfies Record<string, JSONSchema>

/** The settings of an application's OAuth client. The API returns these fields as `client`. */
export const clientFields = {
  scopes,
  redirectUris: {
    type: 'string',
    minLength: 1,
    description:
      'A comma-separated list. Each entry is an absolute https address of at most 2,048 characters, without a fragment. On a loopback address, http is also allowed.',
    examples: ['http://localhost:3000/exchangeToken'],
  },
  defaultScopes: scopes,
  defaultRedirectUri: {
    type: 'string',
    maxLength: 2048,
    description:
      'One entry of redirectUris. If this field is left out, the first entry of redirectUris is the default.',
    examples: ['http://localhost:3000/exchangeToken'],
  },
} as const satisfies Record<string, JSONSchema>

const fields = { ...descriptiveFields, ...clientFields } as const

/** The first example of each field. */
export const exampleFields = Object.fromEntries(
  Object.entries(fields).map(([name, { examples }]) => [name, examples[0]]),
)

/**
 * The data of a new application. A field that was added to the API later is not in `required`, because older clients do
 * not send the field.
 */
export const newApplication = {
  type: 'object',
  required: [
    'groupId',
    'name',
    'description',
    'webPageUrl',
    'iconUrl',
    'privacyPolicyUrl',
    'redirectUris',
    'scopes',
    'defaultScopes',
  ],
  properties: {
    groupId: { type: 'string', minLength: 1, maxLength: 200, description: 'A group that the caller is a member of.' },
    ...fields,
  },
} as const satisfies JSONSchema

/** The data of a change. A field that is left out keeps its value. */
export const changedApplication = {
  type: 'object',
  required: ['name', 'redirectUris'],
  properties: fields,
} as const satisfies JSONSchema

export type NewApplication = FromSchema<typeof newApplication>
export type ChangedApplication = FromSchema<typeof changedApplication>

// An answer names at most this many wrong redirect URIs. A body can contain thousands of wrong redirect URIs, and the
// answer must not be larger than the body.
const mostProblems = 10

/**
 * `bySchema` contains the problems that the schema has found. Returns these problems, together with the problems that a
 * schema cannot find. `data` can be any object. The function does not check a field again if the schema has already
 * found a problem in it.
 */
export function findFieldProblems(data: Record<string, unknown>, bySchema: FieldProblems): FieldProblems {
  const problems = { ...bySchema, ...findTextProblems(data, ['groupId', ...Object.keys(fields)]) }
  for (const [name, schema] of Object.entries(fields)) {
    const value = data[name]
    if (schema === webUrl && typeof value === 'string' && value !== '' && !problems[name] && !isWebUrl(value))
      problems[name] = [`Not a valid http or https URL ${plainHostRule}.`]
  }
  const redirectUris = problems.redirectUris ? [] : splitUris(data.redirectUris)
  const uriProblems = findUriProblems(redirectUris)
  if (!problems.redirectUris && uriProblems.length > 0) problems.redirectUris = uriProblems
  const chosen = problems.defaultRedirectUri ? '' : String(data.defaultRedirectUri ?? '')
  // If the list is empty or wrong, the default cannot be compared with the list. In this case, check only that the
  // default is a valid redirect URI.
  const isAllowed = redirectUris.length === 0 ? isRedirectUri(chosen) : redirectUris.includes(chosen)
  if (chosen !== '' && !isAllowed) problems.defaultRedirectUri = ['Must be one of redirectUris.']
  return problems
}

/**
 * Does the same as findFieldProblems, but for the data of a change. A groupId is refused, because an application cannot
 * move to another group.
 */
export function findChangeProblems(data: Record<string, unknown>, bySchema: FieldProblems): FieldProblems {
  const { groupId, ...others } = data
  const problems = findFieldProblems(others, bySchema)
  return groupId === undefined ? problems : { ...problems, groupId: ['Unknown field.'] }
}

/** Returns a problem for each field whose text cannot be stored. */
export function findTextProblems(data: Record<string, unknown>, names: readonly string[]): FieldProblems {
  const isBad = (value: unknown) => typeof value === 'string' && !isStorableText(value)
  return Object.fromEntries(names.filter(name => isBad(data[name])).map(name => [name, ['Not a valid string.']]))
}

function findUriProblems(uris: string[]): string[] {
  if (uris.length === 0) return ['Shorter than minimum length 1.']
  return uris
    .filter(uri => !isRedirectUri(uri))
    .slice(0, mostProblems)
    .map(
      uri =>
        `Not a valid redirect URI: ${uri.slice(0, 100)}. It must be an absolute https address (or http on a loopback address) without a fragment, ${plainHostRule}.`,
    )
}

/** Ignores spaces around an entry, and a comma at the end. */
function splitUris(list: unknown): string[] {
  return String(list)
    .split(',')
    .map(uri => uri.trim())
    .filter(uri => uri !== '')
}

/** The default values: a field that is missing from the data of a new application is empty. */
export const emptyFields = Object.fromEntries(Object.keys(fields).map(name => [name, ''])) as Record<
  keyof typeof fields,
  string
>

/**
 * Returns the fields of a new application as the store needs them. A field that is missing from the data gets an empty
 * value.
 */
export function fieldsOf({ groupId: _, ...data }: NewApplication): ApplicationFields {
  return mergeFields({ ...emptyFields, redirectUris: [] }, data)
}

/**
 * Returns the fields after a change. If the default redirect URI is no longer in the list, the first URI of the list
 * becomes the default.
 */
export function mergeFields(present: ApplicationFields, change: ChangedApplication): ApplicationFields {
  const redirectUris = [...new Set(splitUris(change.redirectUris))]
  const chosen = change.defaultRedirectUri || present.defaultRedirectUri
  const defaultRedirectUri = redirectUris.includes(chosen) ? chosen : (redirectUris[0] ?? '')
  const given = Object.fromEntries(Object.keys(fields).map(name => [name, change[name as keyof ChangedApplication]]))
  const texts = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  return { ...pickFields(present), ...texts, redirectUris, defaultRedirectUri }
}

/** Returns only the fields that the developer fills in. */
function pickFields(application: ApplicationFields): ApplicationFields {
  const names = Object.keys(fields) as (keyof ApplicationFields)[]
  return Object.fromEntries(names.map(name => [name, application[name]])) as unknown as ApplicationFields
}

/**
 * Returns the data of an application that is made only because a program needs its OAuth client. The caller adds the
 * group. Throws Refusal (fields-invalid).
 */
export function dataOfClient({ name, redirectUris }: { name: string; redirectUris: readonly string[] }) {
  const data = { ...emptyFields, name, redirectUris: redirectUris.join() }
  const problems = findFieldProblems(data, findNameProblems(name))
  if (Object.keys(problems).length > 0) throw new Refusal('fields-invalid', { problems })
  return data
}

function findNameProblems(name: string): FieldProblems {
  const { minLength, maxLength } = descriptiveFields.name
  if (isLonger(name, maxLength)) return { name: [`Longer than maximum length ${maxLength}.`] }
  return name.length < minLength ? { name: [`Shorter than minimum length ${minLength}.`] } : {}
}
