// What one run of seeding works with, and what comes of it.
import type { Seed } from '../config.ts'

/** What came of seeding. */
export interface SeedReport {
  /** Names of the settings that took effect now. */
  applied: string[]
  /** Sentences: what was not done, because it would change what somebody else has made, or there is no room. */
  refused: string[]
  /** Halves of sentences: what was changed or removed since it was seeded, and stays so unless seeding is forced. */
  outdated: string[]
}

/** One run of it. */
export interface Seeding {
  seed: Seed
  passwordHash: string
  isPasswordChanged: boolean
  isForced: boolean
  now: Date
  report: SeedReport
}
