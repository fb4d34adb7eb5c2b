// The hashes of the clients' secrets. The two latest secrets of a client are valid.
import { sql } from 'kysely'
import type { Maker } from './applications.ts'
import { isPresent } from './present-applications.ts'
import type { Db } from './schema.ts'

interface Origin {
  maker: Maker
  now: Date
}

/**
 * Adds the first secret of a new application. The function runs only a single statement, because the caller holds the
 * lock on the group, and other transactions wait for this lock.
 */
export async function addFirstSecret(db: Db, applicationId: string, hash: string, origin: Origin): Promise<void> {
  await insertSecret(db, applicationId, 1, hash, origin)
}

/**
 * Adds a secret. If the client then has three secrets, the function removes the oldest secret. Call this in a
 * transaction, because it runs three statements. The transaction must write to the row of the application first. This
 * write locks the row, so that two calls cannot use the same generation number.
 */
export async function addClientSecret(db: Db, applicationId: string, hash: string, origin: Origin): Promise<void> {
  const latest = await db
    .selectFrom('client_secrets')
    .select('generation')
    .where('application_id', '=', applicationId)
    .orderBy('generation', 'desc')
    .executeTakeFirst()
  const generation = (latest?.generation ?? 0) + 1
  await insertSecret(db, applicationId, generation, hash, origin)
  await db
    .deleteFrom('client_secrets')
    .where('application_id', '=', applicationId)
    .where('generation', '<', generation - 1)
    .execute()
}

async function insertSecret(db: Db, applicationId: string, generation: number, hash: string, { maker, now }: Origin) {
  await db
    .insertInto('client_secrets')
    .values({
      application_id: applicationId,
      generation,
      hash,
      created_at: now.getTime(),
      created_by: maker.userId,
      made_by_client: maker.clientId,
    })
    .execute()
}

/** Lists the hashes of the valid secrets, newest first. The list is empty if there is no such client. */
export async function listSecretHashes(db: Db, applicationId: string): Promise<string[]> {
  const { rows } = await sql<{ hash: string }>`
    select hash from client_secrets join applications on applications.id = application_id
    where application_id = ${applicationId} and ${isPresent}
    order by generation desc limit 2
  `.execute(db)
  return rows.map(row => row.hash)
}

/** Lists the times at which the valid secrets were created, newest first. */
export async function listSecretTimes(db: Db, applicationId: string): Promise<Date[]> {
  const rows = await db
    .selectFrom('client_secrets')
    .select('created_at')
    .where('application_id', '=', applicationId)
    .orderBy('generation', 'desc')
    .limit(2)
    .execute()
  return rows.map(row => new Date(row.created_at))
}
