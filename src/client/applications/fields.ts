// The fields of an application: checks the values of the form, and makes the data for the API. The labels are in
// texts.ts.
import { FieldError } from '../errors.ts'
import { type Sentence, say, type Texts } from '../texts.ts'
import type { applicationsTexts } from './texts.ts'

/** The label of a field, in the language of the texts. */
type Label = (texts: Texts) => string

type FormField = {
  /**
   * The maximum number of characters in the value. The application API counts characters in the same way. Without
   * `maxlength`, only the size of the whole form limits the value.
   */
  maxlength?: number
  /**
   * Called only if the value is not empty. Returns a sentence for each problem with the value. `all` contains the
   * values of all fields.
   */
  findProblems?: (value: string, all: Record<string, string>, label: Label) => Sentence[]
}

const maxUrlLength = 2_048
/** The maximum number of problems that are shown for one field, so that the page stays readable. */
const maxProblems = 10

const webUrlField: FormField = {
  maxlength: maxUrlLength,
  findProblems: (value, _, label) =>
    isWebUrl(value) ? [] : [texts => texts.applications.form.problems.webUrl(label(texts))],
}

/** The fields of the form, in the order of the page. Their names are the API's names (rule create-envelope). */
const formFields = {
  groupId: { maxlength: 200 },
  /**
   * The name of a group that is created before the application. The request that creates the application does not
   * contain this field.
   */
  groupName: { maxlength: 200 },
  name: { maxlength: 200 },
  description: { maxlength: 2_000 },
  webPageUrl: webUrlField,
  iconUrl: webUrlField,
  privacyPolicyUrl: webUrlField,
  redirectUris: { findProblems: value => splitUris(value).flatMap(findRedirectUriProblem).slice(0, maxProblems) },
  defaultRedirectUri: {
    maxlength: maxUrlLength,
    findProblems: (value, { redirectUris = '' }) =>
      splitUris(redirectUris).includes(value) ? [] : [texts => texts.applications.form.problems.notARedirectUri],
  },
  scopes: { maxlength: 2_000 },
  defaultScopes: { maxlength: 2_000 },
} satisfies Record<string, FormField>

type FieldName = keyof typeof formFields
/** The fields that can be required in a form. */
type RequiredName = keyof typeof applicationsTexts.form.required
/** The fields that the visitor typed, after `normalize`. */
export type TypedFields = Record<FieldName, string>
/** The fields that are sent to the API. `redirectUris` is a comma-separated list. */
export type ApplicationFields = Omit<TypedFields, 'groupName'>
/** The fields of the OAuth client. The API does not always return these fields. */
export type Client = Pick<ApplicationFields, 'redirectUris' | 'defaultRedirectUri' | 'scopes' | 'defaultScopes'>

const fieldNames = Object.keys(formFields) as FieldName[]

/** Trims every field, uses \n for line breaks, and separates the redirect URIs with commas. */
export function normalize(form: Record<string, string>): TypedFields {
  const read = (name: string) => (form[name] ?? '').replaceAll(/\r\n?/g, '\n').trim()
  const fields = Object.fromEntries(fieldNames.map(name => [name, read(name)])) as TypedFields
  return { ...fields, redirectUris: splitUris(fields.redirectUris).join(',') }
}

/**
 * Replaces each line break, and each sequence of spaces, with one space. A page shows one space in both cases, and a
 * visitor cannot type a line break into a one-line field.
 */
export function toOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** Throws a FieldError with all problems that the client can find itself, without a call to the API. */
export function checkFields(fields: TypedFields, required: readonly RequiredName[]): void {
  const problems = fieldNames
    .map(name => [name, checkField(name, fields, required)] as const)
    .filter(([, sentences]) => sentences.length > 0)
  if (problems.length > 0) throw new FieldError(Object.fromEntries(problems))
}

function checkField(name: FieldName, fields: TypedFields, required: readonly RequiredName[]): Sentence[] {
  const { maxlength = Number.POSITIVE_INFINITY, findProblems = () => [] }: FormField = formFields[name]
  const value = fields[name]
  const label = ({ applications }: Texts) => applications.form.labels[name]
  // Counts characters as the API does: an emoji is one character.
  const { length } = [...value]
  if (length === 0) {
    const missing = required.find(one => one === name)
    return missing ? [texts => texts.applications.form.required[missing]] : []
  }
  if (length > maxlength) return [texts => texts.applications.form.problems.tooLong(label(texts), maxlength, length)]
  if (value.includes('\0')) return [texts => texts.applications.form.problems.nul(label(texts))]
  return findProblems(value, fields, label)
}

/** Returns the label and the maximum length of each field, for the templates. */
export function describeFields({ applications }: Texts) {
  const { labels } = applications.form
  const limits: Record<FieldName, FormField> = formFields
  return Object.fromEntries(fieldNames.map(name => [name, { label: labels[name], maxlength: limits[name].maxlength }]))
}

/** In the API's sentences, replaces the API's field names with the labels of the form. */
export function withFormLabels(error: FieldError): FieldError {
  const relabel = (sentence: Sentence) => (texts: Texts) => {
    const labels: Record<string, string> = texts.applications.form.labels
    return say(sentence, texts).replace(/\b[a-z]+([A-Z][a-z]+)+\b/g, word =>
      Object.hasOwn(labels, word) ? labels[word]! : word,
    )
  }
  const fields = Object.entries(error.fields).map(([name, sentences]) => [name, sentences.map(relabel)])
  return new FieldError(Object.fromEntries(fields), texts => error.messageIn(texts))
}

/**
 * Returns all ten fields, including the empty ones. If the visitor has not entered a default redirect URI, the first
 * redirect URI becomes the default.
 */
export function fieldsToCreate({ groupName: _, ...fields }: TypedFields): ApplicationFields {
  const uris = splitUris(fields.redirectUris)
  // The API stores each URI only once. So duplicates are removed here: the fields that the client sends can then be
  // compared with the fields that the API returns.
  const redirectUris = [...new Set(uris)].join(',')
  return { ...fields, redirectUris, defaultRedirectUri: fields.defaultRedirectUri || (uris[0] ?? '') }
}

/**
 * Returns the fields without the group, because the group cannot be changed. `missing` contains the names of the fields
 * that the API did not return, separated by commas. The form could not show their stored values. This function leaves
 * out these fields if they are empty, so that the API keeps the stored values.
 */
export function fieldsToUpdate(typed: TypedFields, missing: string): Partial<ApplicationFields> {
  const { groupId: _, ...all } = fieldsToCreate(typed)
  const keptIfEmpty = missing.split(',')
  return Object.fromEntries(
    Object.entries(all).filter(([name]) => typed[name as FieldName] || !keptIfEmpty.includes(name)),
  )
}

/** Whether the API accepts this value as the address of a web page. Pages link only to such addresses. */
export function isWebUrl(value: string): boolean {
  const url = /^https?:\/\/[^\s\\]+$/i.test(value) ? URL.parse(value) : null
  return url !== null && hasPlainHost(url)
}

/** Splits a list at line breaks, spaces and commas. */
export function splitUris(list: string): string[] {
  return list.split(/[\s,]+/).filter(Boolean)
}

type Rules = typeof applicationsTexts.form.redirectUris
type RedirectUriRule = { broken: keyof Rules; isBroken: (uri: string, url: URL) => boolean }

/** The application API's rules for a redirect URI (RFC 6749 3.1.2, RFC 9700 2.6). */
const redirectUriRules: RedirectUriRule[] = [
  { broken: 'tooLong', isBroken: uri => uri.length > maxUrlLength },
  { broken: 'notAscii', isBroken: uri => !/^[\x21-\x7e]+$/.test(uri) },
  { broken: 'fragment', isBroken: uri => uri.includes('#') },
  { broken: 'character', isBroken: uri => /[*\\]/.test(uri) },
  { broken: 'password', isBroken: (_, url) => Boolean(url.username || url.password) },
  { broken: 'host', isBroken: (_, url) => !hasPlainHost(url) },
  {
    broken: 'insecure',
    isBroken: (_, { protocol, hostname }) =>
      protocol === 'http:' && !/^(localhost|\[::1\]|127(\.\d{1,3}){3})$/.test(hostname),
  },
]

/**
 * Returns a list with one sentence about the first rule that the URI breaks. If the URI breaks no rule, the list is
 * empty.
 */
function findRedirectUriProblem(uri: string): Sentence[] {
  const quoted = uri.length > 100 ? `${uri.slice(0, 100)}…` : uri
  const url = /^https?:\/\//i.test(uri) ? URL.parse(uri) : null
  const broken = url ? redirectUriRules.find(({ isBroken }) => isBroken(uri, url))?.broken : 'incomplete'
  return broken ? [({ applications }) => applications.form.redirectUris[broken](quoted, maxUrlLength)] : []
}

/**
 * Whether the host contains only letters, digits, dots and hyphens, or is an IPv6 address. URL parsers also accept `;`,
 * `'` and other characters that people can misread.
 */
function hasPlainHost({ hostname }: URL): boolean {
  return /^([a-z0-9.-]+|\[[0-9a-f:.]+\])$/.test(hostname)
}
