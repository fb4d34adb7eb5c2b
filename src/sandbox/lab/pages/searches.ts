// Keeps the results of searches for the pages that show them. The text of a search may be a secret, so it is not kept.
import { randomUUID } from 'node:crypto'

const mostKept = 50

export function createSearches() {
  /** The ids of the found logins, keyed by the id of the search. The oldest search comes first. */
  const kept = new Map<string, Set<string>>()
  return {
    /**
     * Returns the id of the search. An address can contain this id, because the id is not secret. The text of the
     * search may be a secret.
     */
    keep(loginIds: string[]): string {
      const id = randomUUID()
      kept.set(id, new Set(loginIds))
      const [oldest] = kept.keys()
      if (kept.size > mostKept) kept.delete(oldest!)
      return id
    },

    /** Returns the ids of the logins that the search found, or undefined if the search was forgotten. */
    find: (id: string): ReadonlySet<string> | undefined => kept.get(id),
  }
}
