// Changes a value, so that its content is different in every usual encoding.

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/**
 * Replaces one character. The new character differs from the old one in base64 in the highest bit, and in hexadecimal
 * digits, where A and a are equal. So the decoded bytes change.
 */
export function withOtherCharacter(text: string, at: number): string {
  const index = alphabet.indexOf(text[at]!)
  const other = index < 0 ? 'A' : alphabet[(index + 32) % 64]!
  return text.slice(0, at) + other + text.slice(at + 1)
}
