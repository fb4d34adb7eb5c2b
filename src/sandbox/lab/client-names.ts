// What clients are called, for people: an id says nothing to them.
import { isId } from '../is-id.ts'
import { findApplicationNames } from '../store/applications.ts'
import type { Store } from '../store/store.ts'

/** By client id; a client that nobody registered, or that is gone, has none, and where the store cannot be asked nobody has. */
export type NamesOf = (clientIds: string[]) => Promise<Map<string, string>>

export function clientNames({ read }: Pick<Store, 'read'>): NamesOf {
  return clientIds => findApplicationNames(read, clientIds.filter(isId)).catch(() => new Map<string, string>())
}
