// Which texts can be stored and shown at all.

/** NUL has no place in PostgreSQL's text, and half a surrogate pair none in UTF-8. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}
