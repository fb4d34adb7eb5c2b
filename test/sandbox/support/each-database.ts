// Runs a test once on SQLite and once on PostgreSQL.
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import type { Test } from 'tap'
import { findSharedServer } from '../../support/shared-servers.ts'
import { makeSqliteDatabase, makeSqliteUrl } from './build-test-sandbox.ts'
import { newDatabase, startPostgres } from './start-postgres.ts'

export interface TestDatabase {
  name: 'SQLite' | 'PostgreSQL'
  /**
   * Makes a new database with the tables and the keys of a sandbox, but without any other rows. Resolves to the address
   * of the database. The database is removed after the test.
   */
  make(t: Test): Promise<string>
  /** Makes an empty database, without tables, and resolves to its address. */
  makeEmpty(t: Test): Promise<string>
}

/**
 * Opens SQLite and PostgreSQL for tests, and closes them at the end of the test `t`, which is usually the test of the
 * whole file.
 */
export async function openDatabases(t: Test): Promise<TestDatabase[]> {
  const url = (await findSharedServer('postgres')) ?? (await startPostgres(t, { isShared: true })).url
  const postgres = new pg.Client({ connectionString: url })
  await postgres.connect()
  t.teardown(() => postgres.end())
  async function copy(t: Test, template: string): Promise<string> {
    const name = `test_${randomBytes(8).toString('hex')}`
    await postgres.query(`create database ${name} template ${template} strategy file_copy`)
    t.teardown(() => postgres.query(`drop database ${name} with (force)`))
    return Object.assign(new URL(url), { pathname: `/${name}` }).href
  }
  return [
    { name: 'SQLite', make: makeSqliteDatabase, makeEmpty: makeSqliteUrl },
    { name: 'PostgreSQL', make: t => copy(t, newDatabase), makeEmpty: t => copy(t, 'template1') },
  ]
}
