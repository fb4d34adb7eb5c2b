// Tests the store with an SQLite file and with a database in memory.
import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { makeTemporaryFile } from '../../../src/sandbox/store/temporary-file.ts'
import { getAccessToken } from '../support/browser.ts'
import { buildTestSandbox, makeSqliteUrl } from '../support/build-test-sandbox.ts'
import { isAccepted } from '../support/tokens.ts'

t.test(
  'SQLite writes a change to the disk before the store confirms the change, and only the owner can open the database folder',
  async t => {
    const folder = join(dirname((await makeSqliteUrl(t)).slice('sqlite:'.length)), 'data')
    const { store } = await buildTestSandbox(t, { databaseUrl: `sqlite:${join(folder, 'sandbox.db')}` })
    const { rows } = await store.write(db => sql<{ synchronous: number }>`pragma synchronous`.execute(db))
    t.equal(rows[0]?.synchronous, 2, 'full')
    t.equal(statSync(folder).mode & 0o777, 0o700)
  },
)

t.test('with the address sqlite::memory:, readers and writers use the same database, and no file is left', async t => {
  const sandbox = await buildTestSandbox(t, { databaseUrl: 'sqlite::memory:' })
  t.ok(await isAccepted(sandbox, await getAccessToken(sandbox)))
  const { rows } = await sql<{ file: string }>`pragma database_list`.execute(sandbox.store.read)
  const path = rows[0]?.file ?? ''
  t.ok(existsSync(path))
  t.notOk(existsSync(':memory:'))
  const { rows: settings } = await sandbox.store.write(db =>
    sql<{ synchronous: number }>`pragma synchronous`.execute(db),
  )
  t.equal(settings[0]?.synchronous, 0, 'a temporary database must not wait for the disk')
  await sandbox.close()
  t.notOk(existsSync(dirname(path)))
})

t.test(
  'all temporary databases share one exit listener, and the listener is removed with the last database',
  async t => {
    const before = process.listenerCount('exit')
    const files = Array.from({ length: 12 }, makeTemporaryFile)
    t.equal(process.listenerCount('exit'), before + 1)
    for (const { remove } of [...files, ...files]) remove()
    t.equal(process.listenerCount('exit'), before)
    for (const { path } of files) t.notOk(existsSync(dirname(path)))
  },
)

t.test('if a signing key was removed, the sandbox does not trust it, even after the clock was set back', async t => {
  const sandbox = await buildTestSandbox(t)
  const token = await getAccessToken(sandbox)
  await sandbox.store.write(db => db.updateTable('keys').set({ id: 'another' }).where('kind', '=', 'signing').execute())
  sandbox.passTime(-30_000)
  t.notOk(await isAccepted(sandbox, token))
})
