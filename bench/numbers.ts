// Functions for the benches: statistics of samples, and the order of the servers.

export function middle(values: number[]): number {
  return percentile(values, 0.5)
}

/** `share` is a number from 0 to 1. */
export function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/**
 * Divides the two values of each round, and returns the median of the results. If the machine is busy for a moment,
 * both values of a round change, so their ratio stays about the same.
 */
export function middleRatio(values: number[], others: number[]): number {
  return middle(values.map((value, round) => value / others[round]!))
}

export function rounded(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2)
}

/** Aligns the first column to the left, and the others to the right. */
export function align(lines: string[][]): string {
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map(line => line[column]!.length)))
  return lines
    .map(line =>
      line.map((cell, column) => (column ? cell.padStart(widths[column]!) : cell.padEnd(widths[0]!))).join('   '),
    )
    .join('\n')
}

/**
 * Returns the elements in a different order for each round: each round begins with the next element. `round` can be
 * negative.
 */
export function inTurn<T>(all: T[], round: number): T[] {
  const first = Math.abs(round) % all.length
  return [...all.slice(first), ...all.slice(0, first)]
}

/** Calls `work` `count` times, with at most `atOnce` calls at the same time. */
export async function repeat<T>(count: number, work: (index: number) => Promise<T>, atOnce = 16): Promise<T[]> {
  const results: T[] = []
  let next = 0
  const one = async () => {
    while (next < count) results.push(await work(next++))
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, one))
  return results
}
