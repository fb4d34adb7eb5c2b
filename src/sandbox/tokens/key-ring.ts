// The keys of the store, in memory. The keys are read again after five seconds, and when a token names an unknown key.
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
  /** Undefined if no key of ours has this id. */
  findSigningKey(id: string): Promise<SigningKey | undefined>
  /** All keys whose tokens are still valid, the newest first. */
  listSigningKeys(): Promise<SigningKey[]>
  /** 32 bytes. The sealing key, which never changes while the database exists. */
  readonly sealingKey: Buffer
}

// How long after a rotation an instance may still sign with the old key.
const maxAgeMs = 5000
// Read the keys again only after this time, so that tokens with made-up key ids, and requests for the public keys, do
// not cause many queries.
const minAgeMs = 1000

/** Throws UnusableDatabase if a key cannot be read, and what the store throws. */
export async function openKeyRing(store: Store, clock: () => Date): Promise<KeyRing> {
  const stored = await listKeys(store.read)
  let signingKeys = Promise.resolve(toSigningKeys(stored))
  let readAtMs = clock().getTime()
  const sealing = stored.find(key => key.kind === 'sealing')
  if (!sealing || (await signingKeys).length === 0) throw new Error('the store holds no keys')

  /** Callers at the same time share one query. */
  function readKeys(olderThanMs: number): Promise<SigningKey[]> {
    const nowMs = clock().getTime()
    // Math.abs also covers a clock that was set back: without it, removed keys would stay trusted.
    if (nowMs < readAtMs || nowMs - readAtMs >= olderThanMs) {
      readAtMs = nowMs
      signingKeys = listKeys(store.read).then(toSigningKeys)
      // If the query fails, throw the error. If a failed query counted as "no such key", the API would refuse valid
      // tokens.
      signingKeys.catch(() => {
        readAtMs = Number.NEGATIVE_INFINITY
      })
    }
    return signingKeys
  }

  return {
    sealingKey: Buffer.from(sealing.material, 'base64url'),
    // Another instance may already sign with a new key, and callers that check its tokens look for the key here.
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
    // The error has no `cause`, because the cause would contain the key.
    throw new UnusableDatabase(`The signing key ${id} in the database cannot be read. Restore it from a copy.`)
  }
}
