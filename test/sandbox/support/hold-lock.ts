// Locks a database from outside the sandbox, for as long as a test needs.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import pg from 'pg'
import type { Test } from 'tap'

/** Locks the database against other writers. Readers are not locked. Resolves to a function that releases the lock. */
export async function holdLock(t: Test, databaseUrl: string): Promise<() => Promise<void>> {
  const release = databaseUrl.startsWith('sqlite:')
    ? await lockFile(databaseUrl.slice('sqlite:'.length))
    : await lockTables(databaseUrl)
  let isHeld = true
  const releaseOnce = async () => {
    if (isHeld) await release()
    isHeld = false
  }
  t.teardown(releaseOnce)
  return releaseOnce
}

async function lockFile(path: string): Promise<() => Promise<void>> {
  const program = `
    const database = new (require('node:sqlite').DatabaseSync)(process.argv[1])
    database.exec('begin immediate')
    console.log('locked')
    setInterval(() => undefined, 60_000)`
  const child = spawn(process.execPath, ['--eval', program, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  return async () => {
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
}

async function lockTables(databaseUrl: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const { rows } = await client.query('select table_name from information_schema.tables where table_schema = $1', [
    'public',
  ])
  await client.query('begin')
  await client.query(`lock table ${rows.map(row => row.table_name).join(', ')} in exclusive mode`)
  return () => client.end()
}
