// Merges two versions of a JSON value key by key. Both versions have a common ancestor.
import { isDeepStrictEqual } from 'node:util'

export type Merged = { value: unknown; conflicts: string[] }

/**
 * If only one version has changed, added or removed a key, the result follows that version. If both versions have
 * changed a key differently, the key gets the value of `ours`, and `conflicts` describes the key.
 */
export function mergeJson(base: unknown, ours: unknown, theirs: unknown, path = ''): Merged {
  if (isDeepStrictEqual(ours, theirs) || isDeepStrictEqual(base, theirs)) return { value: ours, conflicts: [] }
  if (isDeepStrictEqual(base, ours)) return { value: theirs, conflicts: [] }
  if (!isObject(ours) || !isObject(theirs)) return { value: ours, conflicts: [describe(path, ours, theirs)] }
  const merged: Record<string, unknown> = {}
  const conflicts: string[] = []
  for (const key of new Set([...Object.keys(ours), ...Object.keys(theirs)])) {
    const result = mergeJson(
      isObject(base) ? base[key] : undefined,
      ours[key],
      theirs[key],
      path ? `${path}.${key}` : key,
    )
    if (result.value !== undefined) merged[key] = result.value
    conflicts.push(...result.conflicts)
  }
  const isSorted = isDeepStrictEqual(Object.keys(ours), Object.keys(ours).toSorted())
  return { value: isSorted ? sortKeys(merged) : merged, conflicts }
}

function describe(path: string, ours: unknown, theirs: unknown): string {
  const text = (value: unknown) => (value === undefined ? 'removed' : JSON.stringify(value))
  return `${path}: yours is ${text(ours)}, and the new one is ${text(theirs)}`
}

export function sortKeys<T>(object: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(object).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
