// Limits for the JSON text of an answer. The client checks the limits before it parses the text, because parsed JSON can
// take much more memory than its text. JSON.parse has no such limits.

/** The maximum number of values in a JSON text. */
export const maxJsonValues = 250_000
/** How deep lists and objects may be nested. */
export const maxJsonLevels = 32

const quote = 0x22
const comma = 0x2c
const backslash = 0x5c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const space = 0x20

/**
 * Whether a JSON text stays within the limits on values and levels. This function does not check the syntax, because
 * JSON.parse does that afterwards.
 */
export function isWithinJsonLimits(bytes: Buffer): boolean {
  let values = 1
  let levels = 0
  let isAfterOpening = false
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index]!
    if (byte <= space) continue
    const isClosing = byte === closeBracket || byte === closeBrace
    // Each comma counts as one value. A list or an object that is not empty has one more value than commas.
    if (isAfterOpening && !isClosing) values++
    isAfterOpening = byte === openBracket || byte === openBrace
    if (byte === quote) index = findClosingQuote(bytes, index)
    else if (byte === comma) values++
    else if (isAfterOpening) levels++
    else if (isClosing) levels--
    if (values > maxJsonValues || levels > maxJsonLevels) return false
  }
  return true
}

function findClosingQuote(bytes: Buffer, start: number): number {
  let index = start + 1
  while (index < bytes.length && bytes[index] !== quote) index += bytes[index] === backslash ? 2 : 1
  return index
}
