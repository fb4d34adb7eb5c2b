// Prepares a value for a page: finds where the value differs from another value, and where a line can break.

interface ValuePart {
  /** The pieces of the text. A line can break between two pieces. */
  words: string[]
  isDifferent: boolean
}

/**
 * Splits `text` into three parts: the beginning that it has in common with `other`, the different middle, and the
 * common end.
 */
export function splitAtDifference(text: string, other: string | undefined): ValuePart[] {
  if (other === undefined || text === other) return [{ words: wordsOf(text), isDifferent: false }]
  const [letters, others] = [[...text], [...other]]
  const most = Math.min(letters.length, others.length)
  let start = 0
  while (start < most && letters[start] === others[start]) start++
  let end = 0
  while (end < most - start && letters.at(-1 - end) === others.at(-1 - end)) end++
  const parts = [
    { text: letters.slice(0, start), isDifferent: false },
    { text: letters.slice(start, letters.length - end), isDifferent: true },
    { text: letters.slice(letters.length - end), isDifferent: false },
  ]
  return parts
    .filter(part => part.text.length > 0)
    .map(part => ({ words: wordsOf(part.text.join('')), isDifferent: part.isDifferent }))
}

/** Returns the expected address that differs least from the received address. */
export function nearestOf(expected: string[], received: string): string {
  const differentIn = (one: string) =>
    Math.max(...[splitAtDifference(one, received), splitAtDifference(received, one)].map(differentLetters))
  return expected.toSorted((one, other) => differentIn(one) - differentIn(other))[0]!
}

function differentLetters(parts: ValuePart[]): number {
  return parts
    .filter(part => part.isDifferent)
    .flatMap(({ words }) => words)
    .join('').length
}

/** Splits text after each of these characters, because a line of an address can break only there. */
function wordsOf(text: string): string[] {
  return text.split(/(?<=[/?&=:.,;\s])/)
}
