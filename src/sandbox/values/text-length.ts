// How long a text is, in characters as people count them; the length of a string counts halves of some.

/** True when the text has more than `most` code points. Takes no longer for a longer text. */
export function isLonger(text: string, most: number): boolean {
  // No character has more than two code units, so the rest of the text decides nothing.
  return text.length > most && [...text.slice(0, 2 * most + 1)].length > most
}

/**
 * The longest text that the portal takes as a parameter or a field, in UTF-16 units. Long enough for any address, token or
 * password, and for a state of 1 KB that is all emoji; short enough for the redirect to a client to fit a header.
 */
export const longestText = 2048
