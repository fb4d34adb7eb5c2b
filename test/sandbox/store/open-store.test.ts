// Tests with which databases the sandbox starts, and which it refuses without a change.
import { chmodSync, closeSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import t from 'tap'
import { getAccessToken, openBrowser, startUrl } from '../support/browser.ts'
import { buildTestSandbox, makeSqliteUrl, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { openDatabases } from '../support/each-database.ts'
import { startInVain } from '../support/start-sandbox.ts'

function pathOf(databaseUrl: string): string {
  return databaseUrl.slice('sqlite:'.length)
}

const databases = await openDatabases(t)

for (const database of databases) {
  t.test(
    `F-33: the sandbox refuses to start with a database of another program, and does not change the database (${database.name})`,
    async t => {
      const url = await database.makeEmpty(t)
      const foreign = 'create table customers (name text)'
      if (database.name === 'SQLite') new DatabaseSync(pathOf(url)).exec(foreign)
      else await query(url, foreign)
      await t.rejects(buildTestSandbox(t, { databaseUrl: url }), { message: /tables of another program/ })
      const tables =
        database.name === 'SQLite'
          ? new DatabaseSync(pathOf(url)).prepare('select name from sqlite_master').all()
          : await query(url, "select table_name as name from information_schema.tables where table_schema = 'public'")
      t.strictSame(
        tables.map(table => table.name),
        ['customers'],
      )
    },
  )

  t.test(
    `F-33: if a database has an invalid version number, the sandbox refuses it, and runs no migration step (${database.name})`,
    async t => {
      const url = await database.makeEmpty(t)
      const sandbox = await buildTestSandbox(t, { databaseUrl: url })
      for (const version of [-1, 0]) {
        await sandbox.store.write(db => db.updateTable('sandbox_schema').set({ version }).execute())
        await t.rejects(
          buildTestSandbox(t, { databaseUrl: url }),
          { message: /does not contain the version of its schema/ },
          `${version}`,
        )
      }
      await sandbox.store.write(db => db.deleteFrom('sandbox_schema').execute())
      await t.rejects(buildTestSandbox(t, { databaseUrl: url }), {
        message: /does not contain the version of its schema/,
      })
    },
  )

  t.test(
    `F-33: if the sandbox creates its schema in an existing database, it logs one warning (${database.name})`,
    async t => {
      const url = await database.makeEmpty(t)
      if (database.name === 'SQLite') writeFileSync(pathOf(url), '')
      const newsOf = ({ logLines }: TestSandbox) =>
        logLines.map(line => JSON.parse(line)).filter(({ code }) => code === 'new-database')
      t.match(newsOf(await buildTestSandbox(t, { databaseUrl: url })), [{ level: 40 }])
      t.strictSame(newsOf(await buildTestSandbox(t, { databaseUrl: url })), [])
      if (database.name === 'SQLite')
        t.match(
          newsOf(await buildTestSandbox(t, { databaseUrl: await makeSqliteUrl(t) })),
          [{ level: 30 }],
          'if the sandbox has made the file itself, there must be no warning',
        )
    },
  )

  t.test(`F-33: the sandbox refuses to start with a database of a newer sandbox (${database.name})`, async t => {
    const url = await database.makeEmpty(t)
    const sandbox = await buildTestSandbox(t, { databaseUrl: url })
    await sandbox.store.write(db => db.updateTable('sandbox_schema').set({ version: 999 }).execute())
    await t.rejects(buildTestSandbox(t, { databaseUrl: url }), { message: /newer version of the sandbox \(schema 999/ })
  })

  t.test(
    `F-35: if the signing keys are missing from a database, the sandbox refuses to start with this database (${database.name})`,
    async t => {
      const url = await database.makeEmpty(t)
      const sandbox = await buildTestSandbox(t, { databaseUrl: url })
      await sandbox.store.write(db => db.deleteFrom('keys').where('kind', '=', 'signing').execute())
      await t.rejects(buildTestSandbox(t, { databaseUrl: url }), { message: /signing or sealing key/ })
    },
  )

  t.test(
    `F-35: if the signing key in a database cannot be parsed, the sandbox refuses to start, and does not show the key (${database.name})`,
    async t => {
      const url = await database.makeEmpty(t)
      const sandbox = await buildTestSandbox(t, { databaseUrl: url })
      for (const material of ['{"canary', '{"kty":"canary"}', '']) {
        await sandbox.store.write(db =>
          db.updateTable('keys').set({ material }).where('kind', '=', 'signing').execute(),
        )
        const { code, stderr } = await startInVain(t, { databaseUrl: url })
        t.equal(code, 1)
        t.match(
          stderr,
          /^The signing key [\w-]+ in the database cannot be read\. Restore the database from a copy\.\n$/,
        )
      }
    },
  )

  t.test(
    `if two instances start at the same time with an empty database, the schema and the seeds are made only once (${database.name})`,
    async t => {
      const url = await database.makeEmpty(t)
      const [one, other] = await Promise.all([
        buildTestSandbox(t, { databaseUrl: url }),
        buildTestSandbox(t, { databaseUrl: url }),
      ])
      const accessToken = await getAccessToken(one)
      const list = await other.api.inject({ url: '/apps/v1', headers: { authorization: `Bearer ${accessToken}` } })
      t.equal(list.statusCode, 200)
      t.match(list.json(), { ItemList: [{ '@id': seeded.clientId }] })
      t.equal(list.json().ItemList.length, 1)
    },
  )

  t.test(
    `if a redirect URI was changed in the settings, the sandbox changes this URI and nothing else when it starts the next time (${database.name})`,
    async t => {
      const url = await database.makeEmpty(t)
      const first = await buildTestSandbox(t, { databaseUrl: url })
      const accessToken = await getAccessToken(first)
      await first.close()
      const moved = 'http://localhost:3999/exchangeToken'
      const second = await buildTestSandbox(t, { databaseUrl: url, redirectUris: [moved] })
      const headers = { authorization: `Bearer ${accessToken}` }
      const list = await second.api.inject({ url: '/apps/v1', headers })
      t.equal(list.json().ItemList.length, 1, 'the old token still works, and there is still one application')
      const application = await second.api.inject({ url: `/apps/v1/${seeded.clientId}`, headers })
      t.equal(application.json().client.redirectUris, moved)
      t.equal((await openBrowser(second).get(startUrl({ redirect_uri: seeded.redirectUri }))).statusCode, 400)
    },
  )
}

t.test(
  'F-33: a PostgreSQL database with views of an extension counts as empty, and a database with other views does not',
  async t => {
    const postgres = databases.find(({ name }) => name === 'PostgreSQL')!
    const databaseUrl = await postgres.makeEmpty(t)
    for (const extension of ['pg_stat_statements', 'pg_buffercache'])
      await query(databaseUrl, `create extension ${extension}`)
    const views = "select viewname from pg_views where schemaname = 'public'"
    const before = await query(databaseUrl, views)
    t.ok(before.length >= 3, 'the extensions must have views')
    t.ok(await getAccessToken(await buildTestSandbox(t, { databaseUrl })))
    t.ok(
      await getAccessToken(await buildTestSandbox(t, { databaseUrl })),
      'a sandbox that starts a second time finds its own tables',
    )
    t.strictSame(await query(databaseUrl, views), before)
    const foreignUrl = await postgres.makeEmpty(t)
    await query(foreignUrl, 'create view customers as select 1 as name')
    await t.rejects(buildTestSandbox(t, { databaseUrl: foreignUrl }), { message: /tables of another program/ })
  },
)

t.test(
  'F-33: the sandbox refuses to start with a file that is not a database, and does not change the file',
  async t => {
    const url = await makeSqliteUrl(t)
    writeFileSync(pathOf(url), 'this is no database, and has never been one; it is a letter to a friend. '.repeat(50))
    const before = readFileSync(pathOf(url))
    await t.rejects(buildTestSandbox(t, { databaseUrl: url }), { message: /damaged, or is not a SQLite database/ })
    t.ok(before.equals(readFileSync(pathOf(url))))
  },
)

t.test(
  'F-33: if one page of a database file is damaged, the sandbox refuses to start, even if it does not need this page to start',
  async t => {
    const url = await makeSqliteUrl(t)
    const sandbox = await buildTestSandbox(t, { databaseUrl: url })
    await sandbox.close()
    const bytes = readFileSync(pathOf(url))
    const pageSize = 4096
    bytes.fill(0xff, bytes.length - pageSize)
    writeFileSync(pathOf(url), bytes)
    await t.rejects(buildTestSandbox(t, { databaseUrl: url }), { message: /damaged/ })
    t.ok(bytes.equals(readFileSync(pathOf(url))))
  },
)

t.test('F-34: if a record in a database file is incomplete, the sandbox refuses to start', async t => {
  const halves: [string, RegExp][] = [
    ['delete from client_secrets', /damaged \(the application [\w-]+ has no client secret\)/],
    [
      'delete from groups',
      /damaged \(a row of (memberships|applications) refers to a row of groups that does not exist\)/,
    ],
  ]
  for (const [statement, message] of halves) {
    const url = await makeSqliteUrl(t)
    await (await buildTestSandbox(t, { databaseUrl: url })).close()
    const other = new DatabaseSync(pathOf(url), { enableForeignKeyConstraints: false })
    other.exec(statement)
    other.close()
    await t.rejects(buildTestSandbox(t, { databaseUrl: url }), { message }, statement)
  }
})

t.test('F-33: if a page of a large database file is damaged, the sandbox refuses to start', async t => {
  const url = await makeSqliteUrl(t)
  await (await buildTestSandbox(t, { databaseUrl: url })).close()
  const other = new DatabaseSync(pathOf(url))
  const columns = 'id, name, created_at, created_by'
  other.exec(`insert into groups (${columns}) select 'large', hex(zeroblob(40000000)), 0, id from users`)
  other.close()
  const file = openSync(pathOf(url), 'r+')
  writeSync(file, Buffer.alloc(8192, 0xff), 0, 8192, 40 * 1024 * 1024)
  closeSync(file)
  await t.rejects(buildTestSandbox(t, { databaseUrl: url }), { message: /damaged/ })
})

t.test(
  'F-35: if other users can read the database file, the sandbox makes the file private, because it contains the keys',
  async t => {
    const url = await makeSqliteUrl(t)
    await (await buildTestSandbox(t, { databaseUrl: url })).close()
    chmodSync(pathOf(url), 0o666)
    await buildTestSandbox(t, { databaseUrl: url })
    for (const suffix of ['', '-wal', '-shm']) t.equal(statSync(pathOf(url) + suffix).mode & 0o777, 0o600, suffix)
  },
)

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(text)
  await client.end()
  return rows
}
