// Replaces strings in a file when a starter is made.

/**
 * Replaces each string. Throws an error if the file does not contain a string exactly once: the file has then changed,
 * but the code that makes starters has not.
 */
export function replaceOnce(path: string, text: string, changes: [old: string | RegExp, now: string][]): string {
  return changes.reduce((all, [old, now]) => {
    if (all.split(old).length !== 2)
      throw new Error(`${path} must contain this exactly once, because scripts/starter replaces it: ${old}`)
    return all.replace(old, () => now)
  }, text)
}
