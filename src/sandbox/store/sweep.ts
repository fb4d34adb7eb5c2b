// Deletes expired and removed rows once a minute, portion by portion. Each portion is one short transaction, so
// requests do not have to wait long.
import { type RawBuilder, sql } from 'kysely'
import { deleteApplication } from './applications.ts'
import { longestTokenSeconds } from './grants.ts'
import { isRemoved } from './present-applications.ts'
import type { Store } from './store.ts'

// SQLite deletes a portion in about 2 ms. The process can do nothing else during this time.
const portionSize = 100

// A client may get an access token just before a grant ends. The grant must stay until this token has expired.
const tokenLifetimeMs = longestTokenSeconds * 1000
// Keep a code for a short time after it expires, so that the portal refuses the code as expired and not as unknown.
const lateCodeMs = 10 * 60_000

const expiring = [
  { table: 'portal_sessions', expiry: 'expires_at' },
  { table: 'finished_authorizations', expiry: 'expires_at' },
  { table: 'app_access_tokens', expiry: 'expires_at' },
  { table: 'failures', expiry: 'window_ends_at' },
] as const

const keys = {
  portal_sessions: ['id_hash'],
  finished_authorizations: ['id'],
  app_access_tokens: ['id'],
  failures: ['bucket'],
  consents: ['user_id', 'application_id'],
  spent_refresh_tokens: ['hash'],
  grants: ['id'],
}

type Condition = RawBuilder<unknown>

/** Deletes all rows that are due. Resolves to the number of deleted rows. Stops early if `signal` is aborted. */
export async function sweep(store: Store, now: Date, signal?: AbortSignal): Promise<number> {
  const { deleteRows, deleteGrants } = inPortions(store, signal)
  const nowMs = now.getTime()
  let swept = 0
  for (const { table, expiry } of expiring) swept += await deleteRows(table, sql`${sql.ref(expiry)} <= ${nowMs}`)
  swept += await deleteGrants(sql`expires_at <= ${nowMs - tokenLifetimeMs}`)
  swept += await deleteGrants(sql`redeemed_at is null and expires_at <= ${nowMs - lateCodeMs}`)
  return swept + (await deleteRemovedApplications(store, isRemoved, signal))
}

/**
 * Call this before you make an application with a given id, because the row of a removed application may still have
 * this id.
 */
export async function makeRoomFor(store: Store, applicationId: string): Promise<void> {
  await deleteRemovedApplications(store, sql`${isRemoved} and id = ${applicationId}`)
}

/** Deletes all grants of a person. Call this before you delete the person. */
export async function deleteGrantsOf(store: Store, userId: string): Promise<void> {
  await inPortions(store, undefined).deleteGrants(sql`user_id = ${userId}`)
}

async function deleteRemovedApplications(store: Store, condition: Condition, signal?: AbortSignal): Promise<number> {
  const { listIds, deleteRows, deleteGrants } = inPortions(store, signal)
  let swept = 0
  for (;;) {
    const ids = await listIds('applications', condition)
    if (ids.length === 0) return swept
    for (const id of ids) {
      const ofThisApplication = sql`application_id = ${id}`
      swept += await deleteGrants(ofThisApplication)
      swept += await deleteRows('consents', ofThisApplication)
      swept += await deleteRows('app_access_tokens', ofThisApplication)
      // Delete an application and its secrets in one transaction, because the search for damage reports an application
      // without a secret.
      if (!signal?.aborted && (await store.transaction(db => deleteApplication(db, id)))) swept += 1
    }
  }
}

function inPortions(store: Store, signal: AbortSignal | undefined) {
  /**
   * Deletes rows portion by portion, so that waiting requests can run between two portions. The loop continues after a
   * portion that deletes nothing, because another process may have deleted the rows of this portion.
   */
  async function deleteRows(table: keyof typeof keys, condition: Condition): Promise<number> {
    const key = sql.join(keys[table].map(column => sql.ref(column)))
    const portion = (limit: number) => sql`select ${key} from ${sql.table(table)} where ${condition} limit ${limit}`
    let swept = 0
    while (!signal?.aborted && (await portion(1).execute(store.read)).rows.length > 0) {
      const { numAffectedRows } = await store.write(db =>
        sql`delete from ${sql.table(table)} where (${key}) in (${portion(portionSize)})`.execute(db),
      )
      swept += Number(numAffectedRows ?? 0)
    }
    return swept
  }

  async function listIds(table: 'grants' | 'applications', condition: Condition): Promise<string[]> {
    if (signal?.aborted) return []
    const { rows } = await sql<{ id: string }>`
      select id from ${sql.table(table)} where ${condition} limit ${portionSize}`.execute(store.read)
    return rows.map(row => row.id)
  }

  /**
   * First deletes the replaced refresh tokens of the grants, and then the grants. The grants of a portion can have
   * thousands of these tokens, and one statement must not delete so many rows.
   */
  async function deleteGrants(condition: Condition): Promise<number> {
    let swept = 0
    for (;;) {
      const ids = await listIds('grants', condition)
      if (ids.length === 0) return swept
      swept += await deleteRows('spent_refresh_tokens', sql`grant_id in (${sql.join(ids)})`)
      swept += await deleteRows('grants', sql`id in (${sql.join(ids)})`)
    }
  }

  return { deleteRows, listIds, deleteGrants }
}

export interface Sweeper {
  start(): void
  /** Stops a running sweep. Resolves when the sweep has stopped. This takes only a short time. */
  stop(): Promise<void>
}

/** If a sweep fails, the sweeper calls `onFailed` with the error, and the rows stay until the next sweep. */
export function createSweeper(store: Store, onFailed: (error: Error) => void, pauseMs = 60_000): Sweeper {
  const stopping = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<unknown> = Promise.resolve()

  function sweepLater(): void {
    if (stopping.signal.aborted) return
    timer = setTimeout(() => {
      // Use the machine's clock, so that a test that moves the clock of the sandbox does not delete rows.
      running = sweep(store, new Date(), stopping.signal).catch(onFailed).finally(sweepLater)
    }, pauseMs).unref()
  }

  return {
    start: sweepLater,
    async stop() {
      stopping.abort()
      clearTimeout(timer)
      await running
    },
  }
}
