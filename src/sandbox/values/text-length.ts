// The length of a text in characters as people count them. The length of a JavaScript string counts some characters twice.

/**
 * True if the text has more than `most` code points. A very long text takes no more time than a text of this length.
 */
export function isLonger(text: string, most: number): boolean {
  // No character has more than two code units, so the rest of the text does not matter.
  return text.length > most && [...text.slice(0, 2 * most + 1)].length > most
}

/**
 * The longest text that the portal accepts as a parameter or a field, in UTF-16 units. Long enough for any address, token or
 * password, and for a state of 1 KB of emoji. Short enough for the redirect to a client to fit into a header.
 */
export const longestText = 2048
