// Makes a backup under load, restores it with the commands in docs/backup.md, and starts a sandbox with the restored
// database.
import { execFile } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { backUp } from '../../../src/sandbox/commands/backup.ts'
import { buildTestSandbox, makeSqliteUrl } from '../support/build-test-sandbox.ts'
import { findBrokenPromises, findHalves } from '../support/check-promises.ts'
import { installedPostgres, startInstalledPostgres } from '../support/installed-postgres.ts'
import { prepareVisitor, putUnderLoad } from '../support/put-under-load.ts'
import { runCommand } from '../support/run-command.ts'
import { startSandbox } from '../support/start-sandbox.ts'
import { getTokens, isAccepted } from '../support/tokens.ts'

const page = readFileSync('docs/backup.md', 'utf8')

const pathOf = (sqliteUrl: string) => sqliteUrl.slice('sqlite:'.length)

interface Place {
  url: string
  backUp(): Promise<unknown>
  /** Restores the backup, and resolves to the address of the restored database. */
  restore(): Promise<string>
}

async function makeSqlitePlace(t: Test): Promise<Place> {
  const url = await makeSqliteUrl(t)
  const copy = `${pathOf(url)}.copy`
  return {
    url,
    async backUp() {
      t.match(await runCommand('backup', { DATABASE_URL: url }, copy), { exitCode: 0, stderr: '' })
      t.equal(statSync(copy).mode & 0o777, 0o600, 'only the owner must be able to read the copy')
    },
    async restore() {
      const restored = await makeSqliteUrl(t)
      copyFileSync(copy, pathOf(restored))
      return restored
    },
  }
}

async function makePostgresPlace(t: Test, tools: string): Promise<Place> {
  const url = await startInstalledPostgres(t, tools)
  const restored = Object.assign(new URL(url), { pathname: '/restored' }).href
  const cwd = t.testdir()
  const env = { PATH: `${tools}:${process.env.PATH}`, DATABASE_URL: url, EMPTY_DATABASE_URL: restored }
  const runLine = (tool: string) => {
    const [line = 'false'] = page.match(new RegExp(`^${tool} .*$`, 'm')) ?? []
    return promisify(execFile)('sh', ['-c', line], { cwd, env })
  }
  return {
    url,
    backUp: () => runLine('pg_dump'),
    async restore() {
      await promisify(execFile)('createdb', ['--maintenance-db', url, 'restored'], { env })
      await runLine('pg_restore')
      return restored
    },
  }
}

async function restoresWhole(t: Test, { url, backUp, restore }: Place): Promise<void> {
  const sandbox = await startSandbox(t, { databaseUrl: url })
  const visitor = await prepareVisitor(sandbox)
  const before = await putUnderLoad(sandbox, visitor).stop()
  const load = putUnderLoad(sandbox, visitor)
  await backUp()
  const during = await load.stop()
  t.ok(during.answers > 5, `${during.answers} calls were answered meanwhile`)
  t.strictSame([during.surprises, during.unanswered], [[], 0], 'the backup must not disturb any request')
  await sandbox.stop()

  const databaseUrl = await restore()
  const restored = await startSandbox(t, { databaseUrl })
  t.strictSame(await findHalves(databaseUrl), [], 'the copy must contain no half-finished changes')
  t.strictSame(
    await findBrokenPromises(restored, before),
    [],
    'secrets, codes and tokens from before the backup must still work',
  )
  const browser = visitor.browser.copy(restored.portal)
  t.match((await browser.get('/account')).body, '<h1>Your account</h1>', 'a signed-in visitor must stay signed in')
  t.ok(await isAccepted(restored, (await getTokens(restored)).access_token), 'a visitor must be able to sign in')
  t.notMatch(restored.logLines.join(), 'new-database')
}

t.test('F-33: a backup of SQLite that was made under load can be restored completely', async t => {
  await restoresWhole(t, await makeSqlitePlace(t))
})

t.test(
  'F-33: a backup of PostgreSQL that was made under load can be restored completely',
  {
    skip:
      !installedPostgres &&
      'PostgreSQL and its command-line tools are not installed on this machine (apt-get install postgresql)',
  },
  async t => {
    await restoresWhole(t, await makePostgresPlace(t, installedPostgres ?? ''))
  },
)

t.test(
  'sandbox:backup never overwrites a file, and refuses a database that is damaged, missing or PostgreSQL; each time it says why',
  async t => {
    const url = await makeSqliteUrl(t)
    const copy = `${pathOf(url)}.copy`
    const copyTo = (databaseUrl: string, ...names: string[]) => backUp({ DATABASE_URL: databaseUrl }, names)
    t.match(await copyTo(url, copy), { exitCode: 1, stderr: /^There is no database at DATABASE_URL yet/ })
    t.match(await copyTo('sqlite::memory:', copy), {
      exitCode: 1,
      stderr: /^This command cannot use a database in memory/,
    })
    const sandbox = await buildTestSandbox(t, { databaseUrl: url })
    t.match(await copyTo(url), { exitCode: 1, stderr: /^Name one file/ })
    t.match(await copyTo(url, `${copy}/missing/copy.db`), { exitCode: 1, stderr: /^Nothing was copied: ENOENT/ })
    t.match(await copyTo('postgres://127.0.0.1:1/none', copy), { exitCode: 1, stderr: /with pg_dump. docs\/backup.md/ })

    await sandbox.store.write(db => db.deleteFrom('client_secrets').execute())
    t.match(await copyTo(url, copy), {
      exitCode: 1,
      stderr: /^The database file is damaged \(the application .* has no/,
    })
    t.notOk(existsSync(copy), 'an incomplete copy must be removed')

    writeFileSync(copy, 'the only good one')
    const again = await runCommand('backup', { DATABASE_URL: url }, copy)
    t.match(again, { exitCode: 1, stderr: /^Nothing was copied: EEXIST/ })
    t.equal(readFileSync(copy, 'utf8'), 'the only good one')
  },
)
