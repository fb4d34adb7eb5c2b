// Keeps the keys of the store in memory. The keys are read again after five seconds, or earlier if a token contains the
// id of an unknown key.
import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { listKeys, type StoredKey } from '../store/keys.ts'
import { UnusableDatabase } from '../store/migrate.ts'
import type { Store } from '../store/store.ts'

export interface SigningKey {
  id: string
  privateKey: KeyObject
  publicKey: KeyObject
}

export interface KeyRing {
  /** Returns the newest key. New tokens are signed with this key. */
  currentSigningKey(): Promise<SigningKey>
  /** Returns undefined if none of our keys has this id. */
  findSigningKey(id: string): Promise<SigningKey | undefined>
  /** Lists all keys whose tokens can still be valid, newest first. */
  listSigningKeys(): Promise<SigningKey[]>
  /** The sealing key, 32 bytes. The key never changes as long as the database exists. */
  readonly sealingKey: Buffer
}

// The longest time after a rotation in which an instance still signs with the old key.
const maxAgeMs = 5000
// Do not read the keys more often than this. Otherwise tokens with invented key ids, or requests for the public keys,
// could cause many queries. This has a disadvantage. Another instance can sign with a new key within a second after
// this instance has read the keys. This instance then refuses the token until the second has passed, and the client
// renews its session.
const minAgeMs = 1000

/** If a key cannot be read, the function throws UnusableDatabase. It also throws the errors of the store. */
export async function openKeyRing(store: Store, clock: () => Date): Promise<KeyRing> {
  const stored = await listKeys(store.read)
  let signingKeys = Promise.resolve(toSigningKeys(stored))
  let readAtMs = clock().getTime()
  const sealing = stored.find(key => key.kind === 'sealing')
  if (!sealing || (await signingKeys).length === 0) throw new Error('the store does not contain all keys')

  /**
   * Reads the keys again if the last read was at least `olderThanMs` ago. Callers that come at the same time share one
   * query.
   */
  function readKeys(olderThanMs: number): Promise<SigningKey[]> {
    const nowMs = clock().getTime()
    // Also read the keys again if the clock was set back. Otherwise, a removed key would stay valid until the clock
    // reaches the time of the last read again.
    if (nowMs < readAtMs || nowMs - readAtMs >= olderThanMs) {
      readAtMs = nowMs
      signingKeys = listKeys(store.read).then(toSigningKeys)
      // If the query fails, callers get its error. If a failed query counted as "no such key", the API would refuse
      // valid tokens.
      signingKeys.catch(() => {
        readAtMs = Number.NEGATIVE_INFINITY
      })
    }
    return signingKeys
  }

  return {
    sealingKey: Buffer.from(sealing.material, 'base64url'),
    // Another instance may already sign tokens with a new key. Programs that check a token look for its key in this
    // list.
    listSigningKeys: () => readKeys(minAgeMs),
    async currentSigningKey() {
      const [newest] = await readKeys(maxAgeMs)
      if (!newest) throw new Error('the store contains no signing key')
      return newest
    },
    async findSigningKey(id) {
      const known = (await readKeys(maxAgeMs)).find(key => key.id === id)
      return known ?? (await readKeys(minAgeMs)).find(key => key.id === id)
    },
  }
}

function toSigningKeys(keys: StoredKey[]): SigningKey[] {
  return keys.filter(({ kind }) => kind === 'signing').map(toSigningKey)
}

function toSigningKey({ id, material }: StoredKey): SigningKey {
  try {
    const privateKey = createPrivateKey({ key: JSON.parse(material) as JsonWebKey, format: 'jwk' })
    return { id, privateKey, publicKey: createPublicKey(privateKey) }
  } catch {
    // The error has no `cause`, because the cause would contain the key.
    throw new UnusableDatabase(
      `The signing key ${id} in the database cannot be read. Restore the database from a copy.`,
    )
  }
}
