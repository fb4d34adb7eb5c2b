// Tests the command sandbox:rotate-keys while instances of the sandbox run.
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import t from 'tap'
import { rotateKeys } from '../../../src/sandbox/commands/rotate-keys.ts'
import { buildTestSandbox, makeSqliteUrl, type TestSandbox } from '../support/build-test-sandbox.ts'
import { openDatabases } from '../support/each-database.ts'
import { runCommand } from '../support/run-command.ts'
import { getTokens, isAccepted, refresh } from '../support/tokens.ts'

const rotate = (databaseUrl: string, ...options: string[]) => rotateKeys({ DATABASE_URL: databaseUrl }, options)
const rotateApart = (databaseUrl: string) => runCommand('rotate-keys', { DATABASE_URL: databaseUrl })

async function getKeys({ portal }: TestSandbox) {
  return (await portal.inject({ url: '/.well-known/jwks.json' })).json()
}

const keyIdOf = (token: string) => decodeProtectedHeader(token).kid

for (const database of await openDatabases(t)) {
  t.test(
    `oidcc-server-rotate-keys, SE-06, F-35: after a rotation, running instances sign with the new key, and old tokens stay valid (${database.name})`,
    async t => {
      const databaseUrl = await database.make(t)
      const one = await buildTestSandbox(t, { databaseUrl })
      const other = await buildTestSandbox(t, { databaseUrl })
      const old = await getTokens(one)
      t.match(await rotateApart(databaseUrl), {
        exitCode: 0,
        stdout: /signs access tokens with the key [0-9a-f-]{36}/,
        stderr: '',
      })

      one.passTime(5000)
      const fresh = (await refresh(one, old.refresh_token)).json()
      t.not(keyIdOf(fresh.access_token), keyIdOf(old.access_token))
      other.passTime(1000)
      t.equal(
        await isAccepted(other, fresh.access_token),
        true,
        'an instance that does not know the key yet reads it now',
      )
      for (const sandbox of [one, other]) {
        t.equal(await isAccepted(sandbox, old.access_token), true, 'the old token is still valid')
        const keys = await getKeys(sandbox)
        t.strictSame(
          keys.keys.map(({ kid }: { kid: string }) => kid),
          [keyIdOf(fresh.access_token), keyIdOf(old.access_token)],
          'both keys are published, newest first',
        )
        for (const { access_token } of [old, fresh])
          t.ok(await jwtVerify(access_token, createLocalJWKSet(keys), { currentDate: sandbox.now() }))
        const endMs = (decodeJwt(old.access_token).exp ?? 0) * 1000
        sandbox.passTime(endMs - sandbox.now().getTime() - 1000)
        t.equal(await isAccepted(sandbox, old.access_token), true, 'the old token must stay valid until it expires')
        // The token expires after one second. From then on the API refuses it.
        sandbox.passTime(1000 + 60_000)
        t.equal(await isAccepted(sandbox, old.access_token), false)
      }
    },
  )

  t.test(
    `SE-06: after a rotation with --remove-old, tokens that were signed with older keys are refused (${database.name})`,
    async t => {
      const databaseUrl = await database.make(t)
      const sandbox = await buildTestSandbox(t, { databaseUrl })
      const old = await getTokens(sandbox)
      await rotate(databaseUrl)
      t.match(await rotate(databaseUrl, '--remove-old'), { exitCode: 0, stdout: /Older keys removed: 2/ })
      sandbox.passTime(5000)
      const fresh = (await refresh(sandbox, old.refresh_token)).json()
      t.equal(await isAccepted(sandbox, old.access_token), false)
      t.equal(await isAccepted(sandbox, fresh.access_token), true, 'a renewal must return a valid token')
      t.equal((await getKeys(sandbox)).keys.length, 1)
    },
  )
}

t.test(
  'F-35: a new signing key counts as the newest key, even if it was made on a machine whose clock is behind',
  async t => {
    const databaseUrl = await makeSqliteUrl(t)
    const ahead = await buildTestSandbox(t, { databaseUrl, at: new Date('2090-01-01T00:00:00Z') })
    const old = await getTokens(ahead)
    await rotate(databaseUrl)
    ahead.passTime(5000)
    t.not(keyIdOf((await refresh(ahead, old.refresh_token)).json().access_token), keyIdOf(old.access_token))
  },
)

t.test(
  'CT-08: if a setting is wrong, sandbox:rotate-keys says so, creates no database, and prints no secret',
  async t => {
    const missing = await makeSqliteUrl(t)
    for (let attempt = 0; attempt < 2; attempt += 1)
      t.match(await rotate(missing), { exitCode: 1, stdout: '', stderr: /no database at DATABASE_URL yet/ })
    const inMemory = await rotate('sqlite::memory:')
    t.match(inMemory, { exitCode: 1, stdout: '', stderr: /^This command cannot use a database in memory/ })
    const unreachable = await rotateApart('postgres://postgres:canary-password@127.0.0.1:1/none')
    t.match(unreachable, { exitCode: 1, stdout: '', stderr: /^The keys were not rotated: / })
    t.notMatch(unreachable.stderr, 'canary-password')
    t.match(await rotate('canary-setting'), { exitCode: 1, stderr: /DATABASE_URL/ })
    t.notMatch((await rotate('canary-setting')).stderr, 'canary-setting')
    t.match(await rotate(missing, '--other'), { exitCode: 1, stderr: /--other/ })
  },
)
