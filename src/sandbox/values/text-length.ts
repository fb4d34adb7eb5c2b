// Measures the length of a text in code points. The property `length` of a JavaScript string counts some characters,
// such as emoji, twice.

/**
 * Returns true if the text has more than `most` code points. Checking a very long text takes no more time than checking
 * a text with `most` code points.
 */
export function isLonger(text: string, most: number): boolean {
  // A code point has at most two code units, so the rest of the text does not matter.
  return text.length > most && [...text.slice(0, 2 * most + 1)].length > most
}

/**
 * The longest text that the portal accepts as a parameter or a field, in UTF-16 units. This is enough for any address,
 * token or password, and for a state value of 1 KB of emoji. The limit is so low that the redirect to a client fits
 * into a header.
 */
export const longestText = 2048
