// The keys of the sandbox: signing keys for access tokens (ES256), and one sealing key, which protects values that
// browsers keep and send back.
import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import type { Db } from './schema.ts'

export interface StoredKey {
  id: string
  kind: 'signing' | 'sealing'
  /** For a signing key, a private JWK as JSON. For the sealing key, 32 bytes in base64url. */
  material: string
}

/** Makes the first keys of a new database. */
export async function createKeys(db: Db, now: Date): Promise<void> {
  await addSigningKey(db, now)
  await db
    .insertInto('keys')
    .values({
      id: randomUUID(),
      kind: 'sealing',
      material: randomBytes(32).toString('base64url'),
      created_at: now.getTime(),
    })
    .execute()
}

/**
 * Adds a signing key. The sandbox then signs new tokens with this key. Tokens that were signed with older keys stay
 * valid. Resolves to the id of the key. Call this in a transaction, because it runs two statements.
 */
export async function addSigningKey(db: Db, now: Date): Promise<string> {
  const id = randomUUID()
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const newest = await db
    .selectFrom('keys')
    .select(eb => eb.fn.max('created_at').as('createdAt'))
    .where('kind', '=', 'signing')
    .executeTakeFirst()
  await db
    .insertInto('keys')
    .values({
      id,
      kind: 'signing',
      material: JSON.stringify(privateKey.export({ format: 'jwk' })),
      // The newest key is used for signing. Make sure that this key is the newest. The clock of the machine that made
      // the previous key may be ahead of this machine's clock.
      created_at: Math.max(now.getTime(), (newest?.createdAt ?? 0) + 1),
    })
    .execute()
  return id
}

/**
 * Removes all signing keys except the key with this id. The API then refuses tokens that were signed with the removed
 * keys. Resolves to the number of removed keys.
 */
export async function removeOtherSigningKeys(db: Db, id: string): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('keys')
    .where('kind', '=', 'signing')
    .where('id', '!=', id)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** Lists all keys, newest first. */
export async function listKeys(db: Db): Promise<StoredKey[]> {
  return db
    .selectFrom('keys')
    .select(['id', 'kind', 'material'])
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
}
