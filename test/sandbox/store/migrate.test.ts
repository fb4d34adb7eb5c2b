// Tests that a database of an older sandbox keeps its rows when it gets the missing migration steps.
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { type Application, findApplication, sizeOfFields } from '../../../src/sandbox/store/applications.ts'
import { firstSchema } from '../../../src/sandbox/store/first-schema.ts'
import type { Migration } from '../../../src/sandbox/store/migrate.ts'
import { boundsOfGrants, makers, migrations } from '../../../src/sandbox/store/migrations.ts'
import { openStore } from '../../../src/sandbox/store/open-store.ts'
import type { Store } from '../../../src/sandbox/store/store.ts'
import { Secret } from '../../../src/sandbox/values/secret.ts'
import { openDatabases } from '../support/each-database.ts'

/** Opens the database like a sandbox that has these migration steps. */
async function openWith(t: Test, url: string, ...steps: Migration[]): Promise<Store> {
  const store = await openStore(new Secret(url), { clock: () => new Date(0), onLost: () => undefined }, steps)
  t.teardown(() => store.close())
  return store
}

async function fill(store: Store): Promise<void> {
  await store.transaction(async db => {
    const rows = [
      "users values ('ann', 'ann@example.test', 'Ann', 'Example', '', 0)",
      "groups values ('team', 'Team', 0, 'ann')",
      "applications values ('app', 'team', 'link', 'App', '', '', '', '', '', '', '', '', 0, 'ann', 0, 'ann')",
      "client_secrets values ('app', 1, 'hash', 0)",
      "consents values ('ann', 'app', 0)",
    ]
    for (const row of rows) await sql.raw(`insert into ${row}`).execute(db)
  })
}

async function rowsOf(store: Store, table: string): Promise<object[]> {
  const { rows } = await sql.raw<object>(`select * from ${table}`).execute(store.read)
  return rows.map(row => ({ ...row }))
}

const colours: Migration = {
  name: 'colours',
  statements: ["alter table groups add column colour text not null default 'green'"],
}

const nonsense: Migration = { name: 'nonsense', statements: ['no statement at all'] }

// SQLite cannot remove a unique constraint. So this step makes a new table, and then gives it the name of the old
// table.
const sharedLinks: Migration = {
  name: 'shared links',
  statements: [
    {
      sqlite: [
        `create table applications_new (
          id text primary key,
          group_id text not null references groups (id),
          link_id text not null,
          name text not null
        )`,
        'insert into applications_new select id, group_id, link_id, name from applications',
        'drop table applications',
        'alter table applications_new rename to applications',
      ],
      postgres: ['alter table applications drop constraint applications_link_id_key'],
    },
    'create index applications_link on applications (link_id)',
  ],
}

for (const database of await openDatabases(t)) {
  t.test(
    `F-33: a database of an older sandbox gets all missing migration steps; if one step fails, the database stays unchanged (${database.name})`,
    async t => {
      const url = await database.makeEmpty(t)
      const store = await openWith(t, url, firstSchema)
      await fill(store)
      await t.rejects(openWith(t, url, firstSchema, colours, nonsense), { message: /step “nonsense” .* syntax error/ })
      t.strictSame(await rowsOf(store, 'sandbox_schema'), [{ version: 1 }])
      t.notOk('colour' in (await rowsOf(store, 'groups'))[0]!)
      await openWith(t, url, firstSchema, colours)
      t.strictSame(await rowsOf(store, 'sandbox_schema'), [{ version: 2 }])
      t.match(await rowsOf(store, 'groups'), [{ id: 'team', colour: 'green' }], 'the earlier rows must stay')
      await openWith(t, url, firstSchema, colours)
      await t.rejects(openWith(t, url, firstSchema), {
        message: /newer version of the sandbox \(schema 2; this version knows 1/,
      })
    },
  )

  t.test(
    `F-33: if rows were written before the store recorded who made an application, a migration keeps these rows and stores an unknown creator (${database.name})`,
    async t => {
      const url = await database.makeEmpty(t)
      await fill(await openWith(t, url, firstSchema))
      const store = await openWith(t, url, firstSchema, makers)
      t.match(await rowsOf(store, 'applications'), [{ id: 'app', name: 'App', made_by_client: '' }])
      t.match(await rowsOf(store, 'client_secrets'), [{ hash: 'hash', made_by_client: '', created_by: '' }])
      t.equal((await rowsOf(store, 'consents')).length, 1)
    },
  )

  t.test(
    `F-33: old rows, stored before the sandbox had any limits, count towards the limits like new rows (${database.name})`,
    async t => {
      const url = await database.makeEmpty(t)
      const before = await openWith(t, url, firstSchema)
      await fill(before)
      const awkward = '"quoted" \\ \u0001\t\n\r\b\f\u007f é 🐎 \u2028 </script>'
      await before.write(db =>
        sql`update applications set description = ${awkward}, scopes = ${awkward}, redirect_uris = 'https://a/,https://b/'`.execute(
          db,
        ),
      )
      const store = await openWith(t, url, ...migrations)
      const application = (await findApplication(store.read, 'app')) as Application
      t.equal(application.description, awkward)
      t.match(await rowsOf(store, 'applications'), [{ fields_bytes: sizeOfFields(application) }])
    },
  )

  t.test(
    `if a migration step replaces a table, it keeps the rows of other tables that refer to this table (${database.name})`,
    async t => {
      const url = await database.makeEmpty(t)
      await fill(await openWith(t, url, firstSchema))
      const store = await openWith(t, url, firstSchema, sharedLinks)
      for (const table of ['applications', 'client_secrets', 'consents'])
        t.equal((await rowsOf(store, table)).length, 1, table)
      await store.write(db => sql`delete from applications`.execute(db))
      for (const table of ['client_secrets', 'consents'])
        t.strictSame(await rowsOf(store, table), [], `${table}: foreign keys must apply again, now to the new table`)
    },
  )

  t.test(
    `a migration deletes all replaced refresh tokens except the last 100 of each family (${database.name})`,
    async t => {
      const url = await database.makeEmpty(t)
      const earlier = migrations.slice(0, migrations.indexOf(boundsOfGrants))
      const before = await openWith(t, url, firstSchema)
      await fill(before)
      await before.transaction(async db => {
        for (const [id, generation] of [
          ['long', 150],
          ['short', 20],
        ] as const) {
          await sql`insert into grants (id, user_id, application_id, created_at, expires_at, redirect_uri, state_hash,
          code_challenge, generation) values (${id}, 'ann', 'app', 0, 0, '', '', '', ${generation})`.execute(db)
          for (let number = 1; number <= generation; number += 1)
            await sql`insert into spent_refresh_tokens values (${`${id} ${number}`}, ${id}, ${number}, 0)`.execute(db)
        }
      })
      await before.close()
      const store = await openWith(t, url, ...earlier, boundsOfGrants)
      const { rows } = await sql<{ grant_id: string; count: number; oldest: number }>`
      select grant_id, count(*) as count, min(generation) as oldest from spent_refresh_tokens
      group by grant_id order by grant_id`.execute(store.read)
      t.strictSame(
        rows.map(row => [row.grant_id, Number(row.count), Number(row.oldest)]),
        [
          ['long', 100, 51],
          ['short', 20, 1],
        ],
      )
    },
  )

  t.test(
    `if a migration step leaves rows that refer to a missing row, the migration fails and is undone (${database.name})`,
    async t => {
      const url = await database.makeEmpty(t)
      const store = await openWith(t, url, firstSchema)
      await fill(store)
      const noGroups: Migration = { name: 'no groups', statements: [colours.statements[0]!, 'delete from groups'] }
      await t.rejects(openWith(t, url, firstSchema, noGroups), {
        message:
          database.name === 'SQLite'
            ? /a row of applications refers to a row of groups that does not exist/
            : /step “no groups” .* violates foreign key constraint/,
      })
      t.strictSame(await rowsOf(store, 'sandbox_schema'), [{ version: 1 }])
      t.equal((await rowsOf(store, 'groups')).length, 1)
    },
  )
}
