// Keys of the sandbox: signing keys for access tokens (ES256), and one sealing key for values that browsers keep and send back.
import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import type { Db } from './schema.ts'

export interface StoredKey {
  id: string
  kind: 'signing' | 'sealing'
  /** A private JWK as JSON (signing), or 32 bytes in base64url (sealing). */
  material: string
}

/** The first keys of a new database. */
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
 * New tokens are signed with this key from now on. Tokens signed with older keys stay valid. Resolves to the id of the
 * key. Two statements: call this in a transaction.
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
      // The newest key signs, even if another machine made the previous key and its clock is ahead of ours.
      created_at: Math.max(now.getTime(), (newest?.createdAt ?? 0) + 1),
    })
    .execute()
  return id
}

/** Tokens signed with any other key are refused from now on. Resolves to the number of removed keys. */
export async function removeOtherSigningKeys(db: Db, id: string): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('keys')
    .where('kind', '=', 'signing')
    .where('id', '!=', id)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** All keys, the newest first. */
export async function listKeys(db: Db): Promise<StoredKey[]> {
  return db
    .selectFrom('keys')
    .select(['id', 'kind', 'material'])
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
}
