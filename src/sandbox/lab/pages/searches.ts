// Keeps the results of searches for the pages that show them. The text of a search may be a secret, so it is not kept.
import { randomUUID } from 'node:crypto'
import { BoundedMap } from '../../values/bounded-map.ts'

const mostKept = 50

export function createSearches() {
  /** The ids of the found logins, keyed by the id of the search. */
  const kept = new BoundedMap<string, Set<string>>(mostKept)
  return {
    /**
     * Returns the id of the search. An address can contain this id, because the id is not secret. The text of the
     * search may be a secret.
     */
    keep(loginIds: string[]): string {
      const id = randomUUID()
      kept.set(id, new Set(loginIds))
      return id
    },

    /** Returns the ids of the logins that the search found, or undefined if the search was forgotten. */
    find: (id: string): ReadonlySet<string> | undefined => kept.get(id),
  }
}
