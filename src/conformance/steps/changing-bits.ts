// Estimates how many random bits there are in values that one program has made. The estimate is an upper bound.
import { alphabetSize } from '../../sandbox/lab/record/entropy.ts'

/** Returns the bits at the positions where the values differ. */
export function changingBitsOf(texts: string[]): number {
  const length = Math.min(...texts.map(text => text.length))
  const columns = Array.from({ length }, (_, at) => texts.map(text => text[at]).join(''))
  const changing = columns.filter(column => new Set(column).size >= Math.min(5, texts.length / 3))
  return changing.length * Math.log2(alphabetSize(changing.join('')))
}
