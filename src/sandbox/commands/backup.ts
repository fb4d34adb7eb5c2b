// Copies the SQLite database. The sandbox can keep running: npm run sandbox:backup -- FILE
import { parseArgs } from 'node:util'
import { backUpSqlite } from '../store/back-up-sqlite.ts'
import { defineCommand, NothingDone, runCommand, sqlitePathOf } from './run-command.ts'

const usage = `npm run sandbox:backup -- FILE

Copies the sandbox's SQLite database to FILE, which must not exist yet. You can use this command while the sandbox runs.
DATABASE_URL says where the database is. For PostgreSQL, use pg_dump: see docs/backup.md.`

export const backUp = defineCommand({ usage, failure: 'Nothing was copied' }, async (config, args) => {
  const { positionals } = parseArgs({ args, allowPositionals: true })
  const [copyPath, ...others] = positionals
  if (!copyPath || others.length > 0) throw new NothingDone('Name one file for the copy. It must not exist yet.')
  const path = sqlitePathOf(config)
  if (!path) throw new NothingDone('Copy a PostgreSQL database with pg_dump. docs/backup.md shows the command.')
  // The command does not call openStore, because openStore would migrate the database. An operator needs the backup
  // before the migration.
  backUpSqlite(path, copyPath)
  return `The database is copied to ${copyPath}. The copy contains the keys: keep it as safe as the database.`
})

if (import.meta.main) await runCommand(backUp)
