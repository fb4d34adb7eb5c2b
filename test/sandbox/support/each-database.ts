// Runs a test once on SQLite and once on PostgreSQL.
import type { Test } from 'tap'
import { makeSqliteUrl } from './build-test-sandbox.ts'
import { startPostgres } from './start-postgres.ts'

export interface TestDatabase {
  name: 'SQLite' | 'PostgreSQL'
  /** The address of a new, empty database. */
  make(t: Test): Promise<string>
}

/** Starts what is needed for as long as the given test (usually the file itself) runs. */
export async function openDatabases(t: Test): Promise<TestDatabase[]> {
  const postgres = await startPostgres(t)
  return [
    { name: 'SQLite', make: makeSqliteUrl },
    { name: 'PostgreSQL', make: () => postgres.makeDatabase() },
  ]
}
