// Looks for damage in a database file: before the sandbox starts, and in a backup.
import { DatabaseSync } from 'node:sqlite'

/**
 * Returns a description of the first damage that SQLite finds, or of the first incomplete record. Returns undefined if
 * the database has no damage. Reads the whole file. If the file is not a database, the function throws the error of
 * node:sqlite.
 */
export function findDamage(path: string): string | undefined {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const answer = database.prepare('pragma quick_check(1)').get()?.quick_check
    return answer === 'ok' ? findHalf(database) : String(answer)
  } finally {
    database.close()
  }
}

/**
 * Finds an incomplete record. The sandbox itself never leaves an incomplete record (F-34), but another program or a
 * failing disk can cause one.
 */
function findHalf(database: DatabaseSync): string | undefined {
  // A new file has no tables. If another program made the file, the migration refuses it later.
  if (!database.prepare("select 1 from sqlite_master where name = 'sandbox_schema'").get()) return undefined
  const orphan = database.prepare('pragma foreign_key_check').get()
  if (orphan) return `a row of ${orphan.table} refers to a row of ${orphan.parent} that does not exist`
  const application = database
    .prepare(
      `select id from applications
        where not exists (select 1 from client_secrets where application_id = applications.id)`,
    )
    .get()
  return application && `the application ${application.id} has no client secret`
}
