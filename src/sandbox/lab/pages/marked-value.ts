// A value as a page shows it: where it differs from another one, and where a line may end.

export interface MarkedPart {
  /** Between two of these a line may end. */
  words: string[]
  isDifferent: boolean
}

/** The parts of a text. What lies between the same beginning and the same end as in the other text is different. */
export function markDifference(text: string, other: string | undefined): MarkedPart[] {
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

/** Of several addresses, separated by commas, the one that differs least from the received one. */
export function nearestOf(expected: string, received: string): string {
  const differentIn = (one: string) =>
    Math.max(...[markDifference(one, received), markDifference(received, one)].map(differentLetters))
  return expected.split(', ').toSorted((one, other) => differentIn(one) - differentIn(other))[0]!
}

function differentLetters(parts: MarkedPart[]): number {
  return parts
    .filter(part => part.isDifferent)
    .flatMap(({ words }) => words)
    .join('').length
}

/** A line of an address may end after each of these characters, and nowhere else. */
function wordsOf(text: string): string[] {
  return text.split(/(?<=[/?&=:.,;\s])/)
}
