// Makes text from the tested client safe to print, and safe inside HTML and XML. A terminal would obey control
// characters in this text.

// Cc: control characters, with which escape sequences begin. Cf: invisible characters, for example those that reverse
// the order of a line. Zl, Zp: line ends that only some programs know. Cs: halves of surrogate pairs.
export const unsafeToPrint = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** Shows each control or invisible character as `\x1b` or `\u202e`. Keeps line feeds and tabs. */
export function printable(text: string): string {
  return text.replace(unsafeToPrint, character => {
    if (character === '\n' || character === '\t') return character
    const code = character.codePointAt(0)!.toString(16)
    if (code.length <= 2) return `\\x${code.padStart(2, '0')}`
    return code.length <= 4 ? `\\u${code.padStart(4, '0')}` : `\\u{${code}}`
  })
}

/** Makes the text safe to print, and replaces the characters that have a meaning in HTML and XML. */
export function escapeMarkup(text: string): string {
  return printable(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
