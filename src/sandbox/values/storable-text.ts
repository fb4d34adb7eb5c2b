// Which texts can be stored and shown.

/** PostgreSQL stores no NUL, and UTF-8 has no form for half a surrogate pair. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}
