// The entity tag of an application, and the condition that a caller bases on it (RFC 9110 8.8.3 and 13.1.1).
import type { Application } from '../store/applications.ts'
import { ApiError } from './api-error.ts'

/** Strong: two answers with the same tag are the same, byte for byte. */
export function entityTagOf({ version }: Pick<Application, 'version'>): string {
  return `"${version}"`
}

/**
 * Throws ApiError 412 unless `ifMatch`, the header as it came, is left out, is `*`, or names the version that is stored.
 * The comparison is strong: a weak tag never matches. No tag of ours holds a comma, and none of anybody else's looks like
 * one of ours once the list is split at its commas, because a tag holds no quotation mark.
 */
export function requireMatch(ifMatch: string | undefined, version: number): void {
  const tags = ifMatch?.split(',').map(tag => tag.trim())
  if (!tags || (tags.length === 1 && tags[0] === '*') || tags.includes(entityTagOf({ version }))) return
  throw new ApiError(412, 'App was changed in the meantime.')
}
