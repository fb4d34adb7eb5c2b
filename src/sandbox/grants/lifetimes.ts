// How long the tokens and codes of a client are valid. A client can have its own lifetimes. Otherwise the lifetimes
// from the settings apply.
import type { Lifetimes } from '../services.ts'
import { BoundedMap } from '../values/bounded-map.ts'

export type ClientLifetimes = ReturnType<typeof createLifetimes>

/** The maximum number of clients with their own lifetimes. */
const mostClients = 1000

/** Keeps the lifetimes of clients in memory only. After a restart, all clients have the lifetimes from the settings. */
export function createLifetimes(settings: Lifetimes) {
  const own = new BoundedMap<string, Partial<Lifetimes>>(mostClients)

  return {
    of(clientId: string): Lifetimes {
      return { ...settings, ...own.get(clientId) }
    },

    /** Sets the client's own lifetimes. If a lifetime is left out, the settings apply. */
    set(clientId: string, lifetimes: Partial<Lifetimes>): void {
      if (Object.keys(lifetimes).length === 0) own.delete(clientId)
      else own.set(clientId, lifetimes)
    },

    forget(clientIds: readonly string[]): void {
      for (const clientId of clientIds) own.delete(clientId)
    },
  }
}
