// Replaces texts of a file when a starter is made.

/**
 * Replaces each text. Throws an error if the file does not contain the text exactly once: the file has changed, but the
 * code that makes starters has not.
 */
export function replaceOnce(path: string, text: string, changes: [old: string | RegExp, now: string][]): string {
  return changes.reduce((all, [old, now]) => {
    if (all.split(old).length !== 2)
      throw new Error(`${path} must contain this exactly once, because scripts/starter replaces it: ${old}`)
    return all.replace(old, () => now)
  }, text)
}
