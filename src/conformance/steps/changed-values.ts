// Changes a value, so that its content is different in every usual encoding.

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/**
 * Replaces one character, so that the decoded bytes change. In base64, the highest of the character's six bits changes,
 * because a decoder ignores the lowest bits of the last character. In hexadecimal digits, the new character is never the
 * same letter in another case.
 */
export function withOtherCharacter(text: string, at: number): string {
  const index = alphabet.indexOf(text[at]!)
  const other = index < 0 ? 'A' : alphabet[(index + 32) % 64]!
  return text.slice(0, at) + other + text.slice(at + 1)
}
