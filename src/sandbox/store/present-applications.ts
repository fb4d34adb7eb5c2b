// Nobody can find an application after its removal. Its row stays until the sweep has deleted the rows that belong to it. So
// every query for applications uses these conditions: no other file names the column.
import { sql } from 'kysely'
import type { Db } from './schema.ts'

/** For a `where` of a query that joins or names the table `applications`. */
export const isPresent = sql<boolean>`applications.removed_at is null`
/** Written like this so that the database can use the index of removed applications. */
export const isRemoved = sql<boolean>`applications.removed_at > 0`

export function selectApplications(db: Db) {
  return db.selectFrom('applications').where(isPresent)
}

export function updateApplications(db: Db) {
  return db.updateTable('applications').where(isPresent)
}

/** From now on no query finds the application, or the secrets, codes, tokens and consents of its client. */
export function removeApplications(db: Db, now: Date) {
  return updateApplications(db).set({ removed_at: now.getTime() }).returning('id')
}
