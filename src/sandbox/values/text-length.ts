// Measures the length of text in code points. The property `length` of a JavaScript string counts some characters, such
// as emoji, twice.

/**
 * Returns true if the text has more than `most` code points. Checking a very long string takes no more time than
 * checking a string with `most` code points.
 */
export function isLonger(text: string, most: number): boolean {
  // A code point has at most two code units, so the rest of the text does not matter.
  return text.length > most && [...text.slice(0, 2 * most + 1)].length > most
}

/**
 * The longest text that the portal accepts as a field of a form or a call, in UTF-16 units. This is enough for any
 * address, token or password.
 */
export const longestText = 2048

/**
 * The longest parameter that the portal accepts when it starts a login, in bytes of UTF-8. In an address,
 * percent-encoding makes each byte at most three times as long. Because of this limit, the redirect to a client, with
 * the redirect URI and the state, fits into the 16 KiB of headers that Node accepts.
 */
export const longestStartBytes = 2048
