// Tests sandbox:register, which registers a client while the sandbox runs.
import t from 'tap'
import { registerClient } from '../../../src/sandbox/commands/register.ts'
import { exchange, openBrowser, startUrl } from '../support/browser.ts'
import { buildTestSandbox, makeSqliteUrl } from '../support/build-test-sandbox.ts'
import { callAsStranger } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { runCommand } from '../support/run-command.ts'

const redirectUri = 'http://localhost:3456/back'
const register = (settings: Record<string, string>, ...options: string[]) => registerClient(settings, options)

for (const database of await openDatabases(t)) {
  t.test(
    `while the sandbox runs, sandbox:register registers a client, and prints all settings of the client (${database.name})`,
    async t => {
      const url = await database.make(t)
      const sandbox = await buildTestSandbox(t, { databaseUrl: url, seed: false })
      const none = await runCommand('register', { DATABASE_URL: url }, '--redirect-uri', redirectUri)
      t.match(none, {
        exitCode: 1,
        stdout: '',
        stderr: /no account yet.*Sign up at http:\/\/127\.0\.0\.1:4000 .*SEED_/,
      })

      const { call } = await callAsStranger(await buildTestSandbox(t, { databaseUrl: url }), 'ann@example.test')
      const several = await register({ DATABASE_URL: url }, '--redirect-uri', redirectUri)
      t.match(several, { exitCode: 1, stderr: /several accounts.*--email/ })
      const made = await runCommand(
        'register',
        { DATABASE_URL: url },
        ...['--redirect-uri', redirectUri, '--redirect-uri', 'https://b.test/', '--email', 'Ann@example.test'],
      )
      t.match(made, { exitCode: 0, stderr: '' })
      const settings = Object.fromEntries(
        [...made.stdout.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
      )
      t.match(settings, {
        LOGIN_URL: 'http://127.0.0.1:4000',
        API_URL: 'http://127.0.0.1:4001',
        CLIENT_ID: /^[\w-]{36}$/,
        CLIENT_SECRET: /^[\w-]{43}$/,
        REDIRECT_URI: redirectUri,
      })
      const { CLIENT_ID: id, CLIENT_SECRET: secret } = settings
      t.equal((await call('GET', `/apps/v1/${id}`)).json().client.redirectUris, `${redirectUri},https://b.test/`)
      const start = startUrl({ client_id: id, redirect_uri: redirectUri, cancel_url: redirectUri })
      t.match((await openBrowser(sandbox).get(start)).body, 'My client', 'the running sandbox must know the client')
      const answer = await exchange(sandbox, { client_id: id, client_secret: secret, code: 'a'.repeat(30) })
      t.equal(answer.json().error, 'invalid_grant', 'the running sandbox must accept the secret')
    },
  )
}

t.test('if sandbox:register cannot register a client, the command gives advice and creates nothing', async t => {
  const { config, store } = await buildTestSandbox(t)
  const settings = { DATABASE_URL: config.databaseUrl.reveal() }
  const rows: [Record<string, string>, string[], RegExp][] = [
    [settings, [], /--redirect-uri http/],
    [settings, ['--redirect-uri', 'http://client.example.test/'], /redirectUris: Not a valid redirect URI/],
    [settings, ['--redirect-uri', redirectUri, '--email', 'nobody@example.test'], /No account has the address/],
    [
      settings,
      ['--redirect-uri', redirectUri, '--other'],
      /'--other'.*\n\nnpm run sandbox:register -- --redirect-uri URI/s,
    ],
    [{ ...settings, PORTAL_PORT: '0' }, ['--redirect-uri', redirectUri], /PORTAL_PORT/],
    [{ DATABASE_URL: 'sqlite::memory:' }, ['--redirect-uri', redirectUri], /POST \/lab\/v1\/applications/],
    [{ DATABASE_URL: await makeSqliteUrl(t) }, ['--redirect-uri', redirectUri], /Start the sandbox first/],
  ]
  for (const [env, options, stderr] of rows)
    t.match(await register(env, ...options), { exitCode: 1, stdout: '', stderr }, options.join(' '))
  t.equal((await store.read.selectFrom('applications').select('id').execute()).length, 1)
})
