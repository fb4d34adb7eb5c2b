// Handles the case in which somebody else changes an application while the visitor edits it. The visitor chooses a
// value for each field that differs.
//
// Besides the fields of the application, the form contains:
// - `etag` and `shownHashes`: hidden fields that record which stored values the visitor has seen (toHiddenFields);
// - `choosing`: a hidden field. On the page with the choices (choose.eta), its value is `yes`. On other pages, it is
//   empty;
// - `keep-name`, `keep-description` and so on: the choices, `typed` or `stored`.
import { hash } from 'node:crypto'
import { PublicError } from '../errors.ts'
import type { FormFields } from '../web/forms.ts'
import type { Application } from './application.ts'
import { type ApplicationFields, fieldsToUpdate, normalize, splitUris } from './fields.ts'

/** The fields that can be edited, in the order of the form. The group cannot be changed. */
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
type EditableFields = Partial<Pick<ApplicationFields, Name>>

/**
 * A field whose typed value differs from its stored value. `choice` says which value to keep. Until the visitor has
 * chosen, `choice` is undefined.
 */
type Difference = { name: Name; typed: string; stored: string; choice: 'typed' | 'stored' | undefined }

/** Nothing was saved. For each field that differs, the visitor has to choose the typed or the stored value. */
export class EditConflict extends PublicError {
  readonly differences: Difference[]
  readonly stored: Application

  constructor(differences: Difference[], stored: Application) {
    super('application_overtaken', 409, texts => texts.applications.conflict.message)
    this.differences = differences
    this.stored = stored
  }
}

/**
 * Hidden fields that record which stored values the visitor has seen.
 *
 * `etag` is empty if the API does not send an ETag. `shownHashes` contains a short hash of each stored value, because
 * the values themselves would double the size of a draft.
 */
export function toHiddenFields(stored: Application): { etag: string; shownHashes: string } {
  const values = editableFields(stored)
  return { etag: stored.etag ?? '', shownHashes: names.map(name => shortHash(values[name])).join(',') }
}

/**
 * Returns the names of the fields that the API did not return when the form was opened, separated by commas. A form that
 * was opened before an upgrade from version 0.2 does not contain these names.
 */
export function missingIn({ missing, isClientKnown }: FormFields): string {
  return missing ?? (isClientKnown === 'yes' ? '' : 'defaultRedirectUri,scopes,defaultScopes')
}

/**
 * Returns the field with the hashes. In a form that was opened before an upgrade from version 0.2, this field is named
 * `seen`.
 */
export function shownHashesIn({ seen = '', shownHashes = seen }: FormFields): string {
  return shownHashes
}

/**
 * Removes the choices, and the hidden fields that record which values the visitor has seen. So the client compares all
 * fields again at the next submission.
 */
export function withoutChoices(form: FormFields): FormFields {
  return { ...form, choosing: '', etag: '', shownHashes: '' }
}

/**
 * Returns the form with the hidden fields of the stored application. Throws EditConflict if the submission would
 * overwrite a stored value that the form has not shown.
 */
export function refuseConflict(form: FormFields, stored: Application): FormFields {
  const differences = findDifferences(form, stored)
  const hasUnseen = differences.some(({ name, stored }) => !isSeen(form, name, stored))
  if (!hasUnseen) return { ...form, ...toHiddenFields(stored) }
  throw new EditConflict(
    differences.map(difference => {
      const isStoredChanged = !isSeen(form, difference.name, difference.stored)
      const isTypedChanged = !isSeen(form, difference.name, difference.typed)
      // If only one person (the visitor or somebody else) has changed the field, the page preselects the changed value.
      const changed = isStoredChanged ? 'stored' : 'typed'
      return { ...difference, choice: isStoredChanged && isTypedChanged ? undefined : changed }
    }),
    stored,
  )
}

/**
 * Returns the fields that differ, with the visitor's choices. A choice is valid only if the page has shown the value
 * that is stored now.
 */
export function readChoices(form: FormFields, stored: Application): Difference[] {
  return findDifferences(form, stored).map(difference => {
    const chosen = form[`keep-${difference.name}`]
    const isValid = chosen === 'typed' || chosen === 'stored'
    return { ...difference, choice: isValid && isSeen(form, difference.name, difference.stored) ? chosen : undefined }
  })
}

/**
 * Returns the form with the values that the visitor chose, and with the hidden fields of the stored application. Throws
 * EditConflict if a choice is missing.
 */
export function applyChoices(form: FormFields, stored: Application): FormFields {
  const differences = readChoices(form, stored)
  if (differences.some(({ choice }) => choice === undefined)) throw new EditConflict(differences, stored)
  const chosen = differences.map(({ name, typed, stored, choice }) => {
    const value = choice === 'stored' ? stored : typed
    return [name, name === 'redirectUris' ? splitUris(value).join('\n') : value]
  })
  return { ...form, ...Object.fromEntries(chosen), ...toHiddenFields(stored), choosing: '' }
}

/** Finds the fields that the submission would change. A field that the API does not return cannot be compared. */
function findDifferences(form: FormFields, application: Application): Difference[] {
  const stored = editableFields(application)
  const typed = fieldsToUpdate(normalize(form), missingIn(form))
  const differences: Difference[] = []
  for (const name of names) {
    const [typedValue, storedValue] = [typed[name], stored[name]]
    if (typedValue === undefined || storedValue === undefined || typedValue === storedValue) continue
    differences.push({ name, typed: typedValue, stored: storedValue, choice: undefined })
  }
  return differences
}

/** Returns the stored fields in the format that the edit form sends. */
function editableFields({ client, missing, ...application }: Application): EditableFields {
  const known: EditableFields = { ...application, ...client }
  const normalized = normalize(known)
  const returned = names.filter(name => known[name] !== undefined && !missing.includes(name))
  const entries = returned.map(name => [name, normalized[name]])
  return Object.fromEntries(entries)
}

function isSeen(form: FormFields, name: Name, value: string): boolean {
  return shownHashesIn(form).split(',')[names.indexOf(name)] === shortHash(value)
}

/** If the API does not return the field, the hash is an empty string. */
function shortHash(value: string | undefined): string {
  return value === undefined ? '' : hash('sha256', value, 'base64url').slice(0, 8)
}
