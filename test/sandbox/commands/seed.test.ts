// Tests sandbox:seed, which shows and undoes changes to the seeded client and user.
import t from 'tap'
import { applySeeds } from '../../../src/sandbox/commands/seed.ts'
import { exchange, openBrowser, signIn } from '../support/browser.ts'
import { buildTestSandbox, makeSqliteUrl, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, callAsStranger } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { runCommand } from '../support/run-command.ts'

const settings = {
  SEED_CLIENT_ID: seeded.clientId,
  SEED_CLIENT_SECRET: seeded.clientSecret,
  SEED_REDIRECT_URIS: seeded.redirectUri,
  SEED_USER_EMAIL: seeded.email,
  SEED_USER_PASSWORD: seeded.password,
}

const seed = (environment: Record<string, string>, ...options: string[]) => applySeeds(environment, options)

async function isValid({ portal }: TestSandbox): Promise<boolean> {
  return (await exchange({ portal }, { code: 'a'.repeat(30) })).json().error !== 'invalid_client'
}

for (const database of await openDatabases(t)) {
  t.test(
    `sandbox:seed --force restores the seeded secret, redirect URI and application (${database.name})`,
    async t => {
      const databaseUrl = await database.make(t)
      const sandbox = await buildTestSandbox(t, { databaseUrl })
      const env = { ...settings, DATABASE_URL: databaseUrl }
      const { call } = await callAsDeveloper(sandbox)
      t.match(await seed(env), { exitCode: 0, stdout: 'Nothing had to be applied.\n', stderr: '' })

      for (let times = 0; times < 2; times += 1) await call('POST', `/apps/v1/${seeded.clientId}/refreshSecret`)
      const redirectUris = 'https://client.example.test/back'
      await call('PUT', `/apps/v1/${seeded.clientId}`, { name: 'Mine', redirectUris })
      t.match(await seed(env), {
        exitCode: 0,
        stdout:
          'Nothing had to be applied.\nChanges since the seeding: a redirect URI was removed, the client secret no longer works. The option --force undoes these changes.\n',
      })
      t.equal(await isValid(sandbox), false)
      t.match(await runCommand('seed', env, '--force'), {
        exitCode: 0,
        stdout: 'Applied: SEED_REDIRECT_URIS, SEED_CLIENT_SECRET.\n',
      })
      t.equal(await isValid(sandbox), true, 'the running sandbox must accept the secret')

      await call('DELETE', `/apps/v1/${seeded.clientId}`)
      t.match(await seed(env, '--force'), { exitCode: 0, stdout: /^Applied: SEED_CLIENT_ID/ })
      t.equal(await isValid(sandbox), true)
    },
  )

  t.test(
    `if the seeded user has changed the password, sandbox:seed says so, and sandbox:seed --force restores the password (${database.name})`,
    async t => {
      const databaseUrl = await database.make(t)
      const sandbox = await buildTestSandbox(t, { databaseUrl })
      const env = { ...settings, DATABASE_URL: databaseUrl }
      const { userId } = await callAsStranger(sandbox)
      // Change the password as the portal would: store the hash of another password.
      await sandbox.store.transaction(async db => {
        const other = await db.selectFrom('users').select('password_hash').where('id', '=', userId).executeTakeFirst()
        await db.updateTable('users').set(other!).where('email', '=', seeded.email).execute()
      })
      t.match(await seed(env), { exitCode: 0, stdout: /the password was changed/ })
      t.match(await seed(env, '--force'), { exitCode: 0, stdout: 'Applied: SEED_USER_PASSWORD.\n' })
      t.notMatch((await signIn(openBrowser(sandbox))).body, 'name="password"')
    },
  )

  t.test(
    `sandbox:seed --force does not take over an account that somebody else has made (${database.name})`,
    async t => {
      const databaseUrl = await database.make(t)
      const sandbox = await buildTestSandbox(t, { databaseUrl })
      await callAsStranger(sandbox)
      const env = { ...settings, DATABASE_URL: databaseUrl, SEED_USER_EMAIL: 'stranger@example.test' }
      t.match(await seed(env, '--force'), { exitCode: 1, stdout: '', stderr: /^SEED_USER_EMAIL names an account/ })
    },
  )
}

t.test('CT-08: if a setting is wrong, sandbox:seed says so, creates no database, and prints no secret', async t => {
  const missing = await makeSqliteUrl(t)
  t.match(await seed({ ...settings, DATABASE_URL: missing }), {
    exitCode: 1,
    stderr: /no database at DATABASE_URL yet/,
  })
  t.match(await seed({ ...settings, DATABASE_URL: 'sqlite::memory:' }), {
    exitCode: 1,
    stderr: /^This command cannot use a database in memory/,
  })
  const { config } = await buildTestSandbox(t)
  const there = { DATABASE_URL: config.databaseUrl.reveal() }
  t.match(await seed(there), { exitCode: 1, stdout: '', stderr: /There is nothing to seed/ })
  const wrong = await runCommand('seed', { ...settings, ...there, SEED_USER_PASSWORD: 'canary' })
  t.match(wrong, { exitCode: 1, stderr: /SEED_USER_PASSWORD cannot be used\. Use at least 8 characters\./ })
  t.notMatch(wrong.stderr, 'canary')
  t.match(await seed({ ...settings, ...there }, '--other'), { exitCode: 1, stderr: /--other/ })
})
