// An edit that somebody else has overtaken: which fields differ, and what the visitor decides for each.
import { createHash } from 'node:crypto'
import { PublicError } from '../errors.ts'
import type { Application } from './application-api.ts'
import { type Fields, fieldsToUpdate, normalize, splitUris } from './fields.ts'

/** What can be edited, in the order of the form. The group of an application stays. */
const names = [
  'name',
  'description',
  'webPageUrl',
  'iconUrl',
  'privacyPolicyUrl',
  'redirectUris',
  'defaultRedirectUri',
  'scopes',
  'defaultScopes',
] as const
type Name = (typeof names)[number]
type Editable = Partial<Pick<Fields, Name>>
type Choice = 'typed' | 'stored'

/** One field with two values. `choice`: the value that is kept, as far as it is known. */
export type Difference = { name: Name; typed: string; stored: string; choice: Choice | undefined }

/** Nothing was saved: the visitor has to look at the differences first. */
export class Overtaken extends PublicError {
  readonly differences: Difference[]

  constructor(differences: Difference[]) {
    const message =
      'This application was changed while you were editing it, by somebody else or in another tab. ' +
      'Nothing is saved yet. For each field below, choose the value to keep. Then save.'
    super('application_overtaken', 409, message)
    this.differences = differences
  }
}

/**
 * What the form carries of the application that it shows, beside its fields. `etag`: empty where the API sends none.
 * `seen`: a short hash of each field, in place of the values themselves, which would double the size of a draft.
 */
export function toHiddenFields(stored: Application): { etag: string; seen: string } {
  const values = readEditable(stored)
  const hashes = names.map(name => hash(values[name]))
  return { etag: stored.etag ?? '', seen: hashes.join(',') }
}

/** The fields of the form as they are sent again after a page of choices was lost: nothing counts as seen. */
export function withoutChoices(form: Record<string, string>): Record<string, string> {
  return { ...form, choosing: '', etag: '', seen: '' }
}

/** Throws Overtaken where a field that differs is stored otherwise than the form has shown it. */
export function refuseOvertaken(form: Record<string, string>, stored: Application): void {
  const differences = compare(form, stored)
  if (differences.every(({ name, stored }) => isSeen(form, name, stored))) return
  throw new Overtaken(
    differences.map(difference => {
      const hasStoredChanged = !isSeen(form, difference.name, difference.stored)
      const hasVisitorChanged = !isSeen(form, difference.name, difference.typed)
      // Where only one side has changed a field, that change is what should be kept.
      const choice = hasStoredChanged && hasVisitorChanged ? undefined : hasStoredChanged ? 'stored' : 'typed'
      return { ...difference, choice }
    }),
  )
}

/** The differences with what the visitor has chosen. A choice counts only for a stored value that the page has shown. */
export function readChoices(form: Record<string, string>, stored: Application): Difference[] {
  return compare(form, stored).map(difference => {
    const chosen = form[`keep-${difference.name}`]
    const isChoice = chosen === 'typed' || chosen === 'stored'
    const choice = isChoice && isSeen(form, difference.name, difference.stored) ? chosen : undefined
    return { ...difference, choice }
  })
}

/** The fields of the form with the values that the visitor chose. Throws Overtaken where a choice is missing. */
export function applyChoices(form: Record<string, string>, stored: Application): Record<string, string> {
  const differences = readChoices(form, stored)
  if (differences.some(({ choice }) => choice === undefined)) throw new Overtaken(differences)
  const chosen = differences.map(({ name, typed, stored, choice }) => {
    const value = choice === 'stored' ? stored : typed
    return [name, name === 'redirectUris' ? splitUris(value).join('\n') : value]
  })
  return { ...form, ...Object.fromEntries(chosen), choosing: '' }
}

/** The fields that would be written with another value than the stored one. A field that the API does not tell is left out. */
function compare(form: Record<string, string>, application: Application): Difference[] {
  const stored = readEditable(application)
  const typed = withoutRepeats(fieldsToUpdate(normalize(form), form.isClientKnown === 'yes'))
  return names.flatMap(name => {
    const [one, other] = [typed[name], stored[name]]
    const isSame = one === undefined || other === undefined || one === other
    return isSame ? [] : [{ name, typed: one, stored: other, choice: undefined }]
  })
}

/** As the form would send them. */
function readEditable({ client, ...application }: Application): Editable {
  const told: Editable = { ...application, ...client }
  const normalized = normalize(told)
  return withoutRepeats(
    Object.fromEntries(names.filter(name => told[name] !== undefined).map(name => [name, normalized[name]])),
  )
}

/** The API stores a redirect URI once, however often the list names it. */
function withoutRepeats(fields: Editable): Editable {
  const { redirectUris } = fields
  return redirectUris === undefined ? fields : { ...fields, redirectUris: [...new Set(splitUris(redirectUris))].join() }
}

function isSeen({ seen = '' }: Record<string, string>, name: Name, value: string): boolean {
  return seen.split(',')[names.indexOf(name)] === hash(value)
}

/** Empty for a field that the API does not tell. */
function hash(value: string | undefined): string {
  return value === undefined ? '' : createHash('sha256').update(value).digest('base64url').slice(0, 8)
}
