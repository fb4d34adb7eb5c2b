// After the removal of an application, queries must not find the application. But its row stays until the sweep has
// deleted the rows that belong to the application. Therefore every query for applications uses the conditions in this
// file. No other file uses the column `removed_at`.
import { sql } from 'kysely'
import type { Db } from './schema.ts'

/**
 * A condition for `where`, which is true if the application was not removed. The query must select from the table
 * `applications` or join it.
 */
export const isPresent = sql<boolean>`applications.removed_at is null`
/** A condition for removed applications. With `> 0`, the database can use the index of removed applications. */
export const isRemoved = sql<boolean>`applications.removed_at > 0`

export function selectApplications(db: Db) {
  return db.selectFrom('applications').where(isPresent)
}

export function updateApplications(db: Db) {
  return db.updateTable('applications').where(isPresent)
}

/**
 * Returns a query that removes applications. Add a `where` that selects the applications. After this query, no other
 * query finds these applications, or the secrets, codes, tokens and consents of their clients.
 */
export function removeApplications(db: Db, now: Date) {
  return updateApplications(db).set({ removed_at: now.getTime() }).returning('id')
}
