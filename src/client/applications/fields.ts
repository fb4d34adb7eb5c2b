// The fields of an application: what the form calls them, what is wrong with them, and what is sent of them.
import { FieldError } from '../errors.ts'

type FormField = {
  label: string
  /** In characters, as the application API bounds them. */
  maxlength: number
  /** What is wrong with a value that is not empty, beside what was typed into the other fields. */
  findProblems?: (value: string, all: Record<string, string>) => string[]
}

const longestUrl = 2_048
/** Of one field, so that a page of faults stays one. */
const mostProblems = 10

const webUrl = (label: string): FormField => ({
  label,
  maxlength: longestUrl,
  findProblems: value => (isWebUrl(value) ? [] : ['Enter a web address that begins with https:// or http://.']),
})

/** By the wire names of part 2 of the specification, in the order of the form. */
export const formFields = {
  groupId: { label: 'Group', maxlength: 200 },
  /** Not sent: of a group that is made for the application. */
  groupName: { label: 'Name of your group', maxlength: 200 },
  name: { label: 'Name', maxlength: 200 },
  description: { label: 'Description', maxlength: 2_000 },
  webPageUrl: webUrl('Web page'),
  iconUrl: webUrl('Icon'),
  privacyPolicyUrl: webUrl('Privacy policy'),
  redirectUris: {
    label: 'Redirect URIs',
    maxlength: 8_000,
    findProblems: value => splitUris(value).flatMap(findRedirectProblem).slice(0, mostProblems),
  },
  defaultRedirectUri: {
    label: 'Default redirect URI',
    maxlength: longestUrl,
    findProblems: (value, { redirectUris = '' }) =>
      splitUris(redirectUris).includes(value) ? [] : ['Enter one of the redirect URIs above.'],
  },
  scopes: { label: 'Scopes', maxlength: 2_000 },
  defaultScopes: { label: 'Default scopes', maxlength: 2_000 },
} satisfies Record<string, FormField>

type Name = keyof typeof formFields
export type Typed = Record<Name, string>
/** What is sent. `redirectUris`: a comma-separated list. */
export type Fields = Omit<Typed, 'groupName'>
export type Client = Pick<Fields, 'redirectUris' | 'defaultRedirectUri' | 'scopes' | 'defaultScopes'>

const names = Object.keys(formFields) as Name[]

/** What was typed, as it goes into the request: one line ending, no stray spaces, one redirect URI behind another. */
export function normalize(form: Record<string, string>): Typed {
  const read = (field: string) => (form[field] ?? '').replaceAll(/\r\n?/g, '\n').trim()
  const fields = Object.fromEntries(names.map(name => [name, read(name)])) as Typed
  return { ...fields, redirectUris: splitUris(fields.redirectUris).join(',') }
}

/** All that can be known without the API, at once; the rest is the API's to judge. Throws FieldError. */
export function checkFields(fields: Typed, required: readonly Name[]): void {
  const found = names.map(name => [name, findProblems(name, fields, required.includes(name))] as const)
  const problems = found.filter(([, texts]) => texts.length > 0)
  if (problems.length > 0) throw new FieldError(Object.fromEntries(problems))
}

function findProblems(name: Name, fields: Typed, isRequired: boolean): string[] {
  const { maxlength, findProblems = () => [] }: FormField = formFields[name]
  const value = fields[name]
  // Characters as the API counts them: an emoji is one.
  const { length } = [...value]
  if (length === 0) return isRequired ? ['This field is required.'] : []
  if (length > maxlength) return [`Use at most ${maxlength} characters; this has ${length}.`]
  if (value.includes('\0')) return ['Remove the invisible NUL character.']
  return findProblems(value, fields)
}

/** All ten fields: part 2 of the specification leaves none out. Without a default redirect URI it is the first. */
export function fieldsToCreate({ groupName: _, ...fields }: Typed): Fields {
  return { ...fields, defaultRedirectUri: fields.defaultRedirectUri || (splitUris(fields.redirectUris)[0] ?? '') }
}

/**
 * The group of an application stays. What the API did not tell is sent only if it was typed: a field that is left out
 * keeps its value, and a guessed one would overwrite it.
 */
export function fieldsToUpdate(typed: Typed, isClientKnown: boolean): Partial<Fields> {
  const { groupId: _, ...all } = fieldsToCreate(typed)
  if (isClientKnown) return all
  const untold = ['defaultRedirectUri', 'scopes', 'defaultScopes']
  return Object.fromEntries(Object.entries(all).filter(([name]) => typed[name as Name] || !untold.includes(name)))
}

/** Whether an address that somebody typed may become a link, and whether the API takes it. */
export function isWebUrl(value: string): boolean {
  const url = /^https?:\/\/[^\s\\]+$/i.test(value) ? URL.parse(value) : null
  return url !== null && isPlainHost(url)
}

/** The entries of a list, one a line or with commas between. */
export function splitUris(list: string): string[] {
  return list.split(/[\s,]+/).filter(Boolean)
}

/** The rules of the application API for a redirect URI (RFC 6749 3.1.2, RFC 9700 2.6), each with how it is broken. */
const redirectRules: [says: string, isBroken: (uri: string, url: URL) => boolean][] = [
  [`must have at most ${longestUrl} characters`, uri => uri.length > longestUrl],
  ['must be plain ASCII, with everything else percent-encoded', uri => !/^[\x21-\x7e]+$/.test(uri)],
  ['must not have a fragment (#)', uri => uri.includes('#')],
  ['must not contain * or \\', uri => /[*\\]/.test(uri)],
  ['must not contain a user name or password', (_, url) => Boolean(url.username || url.password)],
  ['must have a host of letters, digits, dots and hyphens', (_, url) => !isPlainHost(url)],
  [
    'must begin with https://, because http:// is only for localhost, 127.0.0.1 and [::1]',
    (_, { protocol, hostname }) => protocol === 'http:' && !/^(localhost|\[::1\]|127(\.\d{1,3}){3})$/.test(hostname),
  ],
]

/** A sentence about the first rule that it breaks; none where it keeps them all. */
function findRedirectProblem(uri: string): string[] {
  const shown = uri.length > 100 ? `${uri.slice(0, 100)}…` : uri
  const url = /^https?:\/\//i.test(uri) ? URL.parse(uri) : null
  if (!url) return [`“${shown}” must be a complete address that begins with https://.`]
  const broken = redirectRules.find(([, isBroken]) => isBroken(uri, url))
  return broken ? [`“${shown}” ${broken[0]}.`] : []
}

/** Whether its host can be read as nothing else; URL parsers let `;`, `'` and more through. */
function isPlainHost({ hostname }: URL): boolean {
  return /^([a-z0-9.-]+|\[[0-9a-f:.]+\])$/.test(hostname)
}
