// Keeps what was measured, compares it with the bare server, round by round, and prints it.
import type { ServerName } from './server.ts'

/** `budget`: our client may take so many times what the bare server takes. */
const measures = {
  redirect: { title: 'login redirect', unit: 'µs CPU', budget: 3 },
  callback: { title: 'callback, with exchange', unit: 'µs CPU', budget: undefined },
  signIn: { title: 'whole sign-in (both)', unit: 'µs CPU', budget: 2.5 },
  list: { title: 'list of 20', unit: 'µs CPU', budget: 1.5 },
  longList: { title: 'list of 2,000', unit: 'µs CPU', budget: 0.7 },
  memory: { title: 'resident memory', unit: 'MiB', budget: 1.25 },
  p99: { title: 'list of 20, p99', unit: 'ms', budget: 2 },
  startUp: { title: 'start-up', unit: 'ms', budget: 2 },
} as const

type Measure = keyof typeof measures
const allMeasures = Object.keys(measures) as Measure[]

export class Results {
  readonly #samples = new Map<string, number[]>()

  /** One sample of each measure given; the rounds of all servers must be added in the same order. */
  add(name: ServerName, measured: Partial<Record<Measure, number>>): void {
    for (const [measure, value] of Object.entries(measured)) {
      const key = `${name} ${measure}`
      this.#samples.set(key, [...(this.#samples.get(key) ?? []), value])
    }
  }

  /** One line a measure: what the bare server takes, then how many times that each other one does. */
  table(names: ServerName[]): string {
    const others = names.filter(name => name !== 'bare')
    const lines = allMeasures.map(measure => {
      const { title, unit, budget } = measures[measure]
      const bare = `${rounded(middle(this.#of('bare', measure)))} ${unit}`
      const ratios = others.map(name => (this.#of(name, measure).length ? rounded(this.#ratio(name, measure)) : ''))
      return [title, bare, budget ? `≤ ${budget}` : '', ...ratios]
    })
    return align([['median of rounds', 'bare', 'budget', ...others], ...lines])
  }

  /** One line for each budget that our client exceeds. */
  overBudget(): string[] {
    const lines = allMeasures.map(measure => {
      const { title, budget } = measures[measure]
      const ratio = this.#ratio('client', measure)
      return budget && ratio > budget ? `${title} takes ${ratio.toFixed(2)} times as much, not ${budget}` : ''
    })
    return lines.filter(Boolean)
  }

  #ratio(name: ServerName, measure: Measure): number {
    const bare = this.#of('bare', measure)
    return middle(this.#of(name, measure).map((value, round) => value / bare[round]!))
  }

  #of(name: ServerName, measure: Measure): number[] {
    return this.#samples.get(`${name} ${measure}`) ?? []
  }
}

export function middle(values: number[]): number {
  return percentile(values, 0.5)
}

/** `share` from 0 to 1. */
export function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

function rounded(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2)
}

function align(lines: string[][]): string {
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map(line => line[column]!.length)))
  return lines
    .map(line =>
      line.map((cell, column) => (column ? cell.padStart(widths[column]!) : cell.padEnd(widths[0]!))).join('   '),
    )
    .join('\n')
}
