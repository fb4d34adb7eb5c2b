// The keys of the store, held in memory: looked at again after five seconds, and when a token names a key not yet known.
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
  /** The newest key: new tokens are signed with it. */
  currentSigningKey(): Promise<SigningKey>
  /** Undefined when no key of ours has that id. */
  findSigningKey(id: string): Promise<SigningKey | undefined>
  /** Every key whose tokens still verify, the newest first. */
  listSigningKeys(): Promise<SigningKey[]>
  /** 32 bytes; it never changes while the database lives. */
  readonly sealingKey: Buffer
}

// How long after a rotation an instance may still sign with the old key.
const maxAgeMs = 5000
// Neither tokens with made-up key ids nor visits to the public keys must become a query each.
const minAgeMs = 1000

/** Throws UnusableDatabase when a key cannot be read, and whatever else the store throws. */
export async function openKeyRing(store: Store, clock: () => Date): Promise<KeyRing> {
  const stored = await listKeys(store.read)
  let signingKeys = Promise.resolve(toSigningKeys(stored))
  let readAtMs = clock().getTime()
  const sealing = stored.find(key => key.kind === 'sealing')
  if (!sealing || (await signingKeys).length === 0) throw new Error('the store holds no keys')

  /** Whoever asks while the store is being asked waits for the same answer. */
  function readKeys(olderThanMs: number): Promise<SigningKey[]> {
    const nowMs = clock().getTime()
    // A clock that was set back would otherwise leave keys trusted that were removed.
    if (nowMs < readAtMs || nowMs - readAtMs >= olderThanMs) {
      readAtMs = nowMs
      signingKeys = listKeys(store.read).then(toSigningKeys)
      // What could not be read is no answer: a good token would be refused instead of told to come again.
      signingKeys.catch(() => {
        readAtMs = Number.NEGATIVE_INFINITY
      })
    }
    return signingKeys
  }

  return {
    sealingKey: Buffer.from(sealing.material, 'base64url'),
    // Another instance may sign with a new key already, and whoever checks its tokens looks for the key here.
    listSigningKeys: () => readKeys(minAgeMs),
    async currentSigningKey() {
      const [newest] = await readKeys(maxAgeMs)
      if (!newest) throw new Error('the store holds no signing key')
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
    // The cause would quote the key.
    throw new UnusableDatabase(`The signing key ${id} in the database cannot be read. Restore it from a copy.`)
  }
}
