// How long the tokens and codes of a client are valid. A client can have its own lifetimes. Otherwise the lifetimes
// from the settings apply.
import type { Lifetimes } from '../services.ts'

export type ClientLifetimes = ReturnType<typeof createLifetimes>

/**
 * The maximum number of clients with their own lifetimes. If one more client gets its own lifetimes, the code removes
 * the oldest entry.
 */
const mostClients = 1000

/** Keeps the lifetimes of clients in memory only. After a restart, all clients have the lifetimes from the settings. */
export function createLifetimes(settings: Lifetimes) {
  const own = new Map<string, Partial<Lifetimes>>()

  return {
    of(clientId: string): Lifetimes {
      return { ...settings, ...own.get(clientId) }
    },

    /** Sets the client's own lifetimes. If a lifetime is left out, the settings apply. */
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
