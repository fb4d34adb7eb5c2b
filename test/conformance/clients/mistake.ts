// The type of a mistake: a change that makes the small client break a rule.
import type { Behaviour } from './behaviour.ts'

/**
 * A small client with a mistake. `checks`: the ids of the checks that must find the mistake. `change`: the faulty
 * behaviour.
 */
export type Mistake = { name: string; checks: string[]; change: Partial<Behaviour> }

export const mistake = (name: string, checks: string | string[], change: Partial<Behaviour>): Mistake => ({
  name,
  checks: [checks].flat(),
  change,
})
