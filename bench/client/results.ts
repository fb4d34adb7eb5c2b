// Keeps the samples, compares them with the bare server round by round, and prints the result.
import { align, middle, middleRatio, rounded } from '../numbers.ts'
import type { ServerName } from './server.ts'

/**
 * `budget` is the limit for this ratio: the value of our client divided by the value of the bare server. See
 * docs/design/benchmarks.md for the reasons.
 */
const measures = {
  redirect: { title: 'login redirect', unit: 'µs CPU', budget: 4 },
  callback: { title: 'callback, with exchange', unit: 'µs CPU', budget: undefined },
  signIn: { title: 'whole sign-in (both)', unit: 'µs CPU', budget: 3.5 },
  list: { title: 'list of 20', unit: 'µs CPU', budget: 1.6 },
  longList: { title: 'list of 2,000', unit: 'µs CPU', budget: 0.9 },
  memory: { title: 'memory at rest', unit: 'MiB', budget: 1.3 },
  p99: { title: 'list of 20, p99', unit: 'ms', budget: 2 },
  startUp: { title: 'start-up', unit: 'ms CPU', budget: 1.6 },
} as const

type Measure = keyof typeof measures
const allMeasures = Object.keys(measures) as Measure[]

export class Results {
  readonly #samples = new Map<string, number[]>()

  /** Adds one sample of each given measurement. Add the rounds of all servers in the same order. */
  add(name: ServerName, measured: Partial<Record<Measure, number>>): void {
    for (const [measure, value] of Object.entries(measured)) {
      const key = `${name} ${measure}`
      this.#samples.set(key, [...(this.#samples.get(key) ?? []), value])
    }
  }

  /**
   * Returns one line for each measurement. The line begins with the value of the bare server. For each other server, the
   * line contains the value of that server divided by the value of the bare server.
   */
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

  /** Returns one line for each budget that our client exceeds. */
  overBudget(): string[] {
    const lines = allMeasures.map(measure => {
      const { title, budget } = measures[measure]
      const ratio = this.#ratio('client', measure)
      return budget && ratio > budget
        ? `${title} takes ${ratio.toFixed(2)} times as much, but the limit is ${budget}`
        : ''
    })
    return lines.filter(Boolean)
  }

  #ratio(name: ServerName, measure: Measure): number {
    return middleRatio(this.#of(name, measure), this.#of('bare', measure))
  }

  #of(name: ServerName, measure: Measure): number[] {
    return this.#samples.get(`${name} ${measure}`) ?? []
  }
}
