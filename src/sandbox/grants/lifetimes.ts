// How long the tokens and codes of a client live. The settings decide, unless the client has its own lifetimes.
import type { Lifetimes } from '../services.ts'

export type ClientLifetimes = ReturnType<typeof createLifetimes>

/** How many clients can have their own lifetimes. If another client is added, the oldest entry is removed. */
const mostClients = 1000

/** Lifetimes of clients are kept in memory: a restart forgets them. */
export function createLifetimes(settings: Lifetimes) {
  const own = new Map<string, Partial<Lifetimes>>()

  return {
    of(clientId: string): Lifetimes {
      return { ...settings, ...own.get(clientId) }
    },

    /** A lifetime that is left out comes from the settings. */
    set(clientId: string, lifetimes: Partial<Lifetimes>): void {
      own.delete(clientId)
      if (Object.keys(lifetimes).length === 0) return
      if (own.size >= mostClients) own.delete([...own.keys()][0]!)
      own.set(clientId, lifetimes)
    },

    forget(clientIds: readonly string[]): void {
      for (const clientId of clientIds) own.delete(clientId)
    },
  }
}
