// Checks text that a person types into one line, such as a name.
import { isLonger } from './text-length.ts'

/**
 * Returns a sentence that says what is wrong, for the person who typed the text. Returns undefined if the text is a line
 * of at most `most` characters. An empty text is a line, too. Control characters do not belong in a line. PostgreSQL
 * cannot store one of them, NUL. Half a surrogate pair is not valid text.
 */
export function findLineProblem(text: string, most: number): string | undefined {
  if (isLonger(text, most)) return `Use ${most} characters or fewer.`
  return /\p{Cc}/u.test(text) || !text.isWellFormed() ? 'Use only letters, numbers, spaces and symbols.' : undefined
}
