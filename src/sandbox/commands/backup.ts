// Copies the SQLite database, while the sandbox runs: npm run sandbox:backup -- FILE
import { parseArgs } from 'node:util'
import { backUpSqlite } from '../store/back-up-sqlite.ts'
import { defineCommand, NothingDone, runCommand, sqlitePathOf } from './run-command.ts'

export const backUp = defineCommand('Nothing was copied', async (config, args) => {
  const { positionals } = parseArgs({ args, allowPositionals: true })
  const [copyPath, ...others] = positionals
  if (!copyPath || others.length > 0) throw new NothingDone('Name one file for the copy, which is not there yet.')
  const path = sqlitePathOf(config)
  if (!path) throw new NothingDone('PostgreSQL is copied by its own pg_dump: docs/backup.md has the line.')
  // Not through the store, which would bring the database up to date: a copy is made before that, above all.
  backUpSqlite(path, copyPath)
  return `The database is copied to ${copyPath}, keys and all: keep it as safe as the database.`
})

if (import.meta.main) await runCommand(backUp)
