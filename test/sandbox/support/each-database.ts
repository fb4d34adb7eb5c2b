// Runs a test once on SQLite and once on PostgreSQL.
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import type { Test } from 'tap'
import { borrow } from '../../support/borrow.ts'
import { makeSqliteUrl } from './build-test-sandbox.ts'
import { startPostgres } from './start-postgres.ts'

export interface TestDatabase {
  name: 'SQLite' | 'PostgreSQL'
  /** The address of a new, empty database, which goes with the test. */
  make(t: Test): Promise<string>
}

/** Starts what is needed for as long as the given test (usually the file itself) runs. */
export async function openDatabases(t: Test): Promise<TestDatabase[]> {
  const url = (await borrow('postgres')) ?? (await startPostgres(t)).url
  const postgres = new pg.Client({ connectionString: url })
  await postgres.connect()
  t.teardown(() => postgres.end())
  return [
    { name: 'SQLite', make: makeSqliteUrl },
    {
      name: 'PostgreSQL',
      async make(t) {
        const name = `test_${randomBytes(8).toString('hex')}`
        await postgres.query(`create database ${name}`)
        t.teardown(() => postgres.query(`drop database ${name} with (force)`))
        return Object.assign(new URL(url), { pathname: `/${name}` }).href
      },
    },
  ]
}
