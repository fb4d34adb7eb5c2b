// Estimates how many random bits a value can have. The estimates are upper bounds, because nobody can see whether a
// string is random.

/**
 * A UUID of version 4: six of its 128 bits are fixed. The hyphens are required, because without them any 32 hexadecimal
 * digits could be a UUID.
 */
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i
const uuidBits = 122
const fewLetters = 4

export function isUuid(text: string): boolean {
  return uuid.test(text)
}

/**
 * Estimates the bits from the length and the alphabet of the value. A short string, or a string with few different
 * letters, certainly has few random bits.
 */
export function bitsOf(text: string): number {
  if (isUuid(text)) return uuidBits
  const letters = countLetters(text, fewLetters + 1)
  // A string with so few different letters is not random: a random string of this length would have more of them.
  return text.length * Math.log2(letters <= fewLetters && text.length >= 8 ? Math.max(letters, 1) : alphabetSize(text))
}

/** The size of the smallest usual alphabet that contains all letters of the text. */
export function alphabetSize(text: string): number {
  const alphabets = [
    [/^\d*$/, 10],
    [/^[0-9a-f]*$/, 16],
    [/^[0-9A-F]*$/, 16],
    [/^[0-9a-z]*$/, 36],
    [/^[0-9A-Z]*$/, 36],
    [/^[\w-]*$/, 64],
  ] as const
  return alphabets.find(([pattern]) => pattern.test(text))?.[1] ?? 95
}

/** Counts the different letters, but stops at `most`. */
function countLetters(text: string, most: number): number {
  const letters = new Set<string>()
  for (const letter of text) if (letters.add(letter).size === most) break
  return letters.size
}
