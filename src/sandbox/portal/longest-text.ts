// How long a text from outside may be before anything is done with it.

/**
 * In UTF-16 units. Long enough for any address, token or password, and for a state of 1 KB that is all emoji; short
 * enough for the way back to a client to fit a header.
 */
export const longestText = 2048
