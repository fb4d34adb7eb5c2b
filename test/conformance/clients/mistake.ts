// The type of a mistake: a change that makes the small client break a rule.
import type { Parts } from './parts.ts'

/**
 * A small client with a mistake. `checks`: the ids of the checks that must find the mistake. `parts`: the faulty parts.
 */
export type Mistake = { name: string; checks: string[]; parts: Partial<Parts> }

export const mistake = (name: string, checks: string | string[], parts: Partial<Parts>): Mistake => ({
  name,
  checks: [checks].flat(),
  parts,
})
