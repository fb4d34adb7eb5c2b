// How long what a client is given lives: as the settings say, unless the laboratory was told otherwise for this client.
import type { Lifetimes } from '../services.ts'

export type ClientLifetimes = ReturnType<typeof createLifetimes>

/** So many clients may have lifetimes of their own; then the first that was told is forgotten. */
const mostClients = 1000

/** They are kept in memory: a restart forgets them. */
export function createLifetimes(settings: Lifetimes) {
  const own = new Map<string, Partial<Lifetimes>>()

  return {
    of(clientId: string): Lifetimes {
      return { ...settings, ...own.get(clientId) }
    },

    /** Of what is left out the settings' count. */
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
