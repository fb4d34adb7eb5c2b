// Decides which strings can be stored and shown.

/** PostgreSQL cannot store the character NUL, and UTF-8 cannot encode half a surrogate pair. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}
