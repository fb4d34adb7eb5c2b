// Tests npm run setup, which makes a .env with a fresh key, and says which settings are still missing.
import { spawnSync } from 'node:child_process'
import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import t, { type Test } from 'tap'
import { ConfigError, clientSettings, readConfig } from '../../src/client/config.ts'
import { productSettings } from '../../src/client/settings.ts'

/** Makes a folder that contains only the project's .env.example. `run` makes a .env in this folder. */
function openFolder(t: Test) {
  const folder = t.testdir()
  copyFileSync('.env.example', join(folder, '.env.example'))
  const script = resolve('scripts/make-env.ts')
  return {
    path: join(folder, '.env'),
    read: () => readFileSync(join(folder, '.env'), 'utf8'),
    /** `prefix` is a command that runs the program. */
    run(...prefix: string[]) {
      const [command, ...parameters] = [...prefix, process.execPath, script]
      const { status, stdout, stderr } = spawnSync(command!, parameters, { cwd: folder, encoding: 'utf8' })
      return { status, output: stdout + stderr }
    },
  }
}

t.test('npm run setup names exactly the settings that are still missing', async t => {
  const { run, read } = openFolder(t)
  const { status, output } = run()
  t.equal(status, 0)
  const environment = parseEnv(read())
  const error = t.throws(() => readConfig(environment, productSettings), ConfigError) as unknown as ConfigError
  const missing = error.problems.map(problem => problem.match(/^([A-Z_]+) is missing/)?.[1])
  const needed = [...clientSettings, ...productSettings.list]
    .filter(setting => setting.default === undefined && setting.name !== 'COOKIE_KEYS')
    .map(({ name }) => name)
  t.same(missing.toSorted(), needed.toSorted())
  t.match(output, 'LOGIN_URL, API_URL, CLIENT_ID')
  t.match(output, /Put .* into \.env, then run: npm start/)
  for (const name of needed) t.match(output, name)

  const address = 'https://platform.test'
  const given = { LOGIN_URL: address, API_URL: address, CLIENT_ID: 'an-id', CLIENT_SECRET: 'a-credential-for-tests' }
  t.equal(readConfig({ ...environment, ...given }).port, 3000, 'the client must accept these settings')
})

t.test('a new .env contains no address, so visitors are sent only to a portal that the operator has set', async t => {
  const { run, read } = openFolder(t)
  run()
  const { LOGIN_URL, API_URL } = parseEnv(read())
  t.same([LOGIN_URL, API_URL], ['', ''])
  t.notMatch(read(), /:400\d/)
})

t.test('npm run setup adds only the missing settings to an existing .env', async t => {
  const { run, read, path } = openFolder(t)
  const own = '# Mine.\nPORT=3100\nCLIENT_ID=an-id\nCLIENT_SECRET_FILE=data/client-secret'
  writeFileSync(path, own, { mode: 0o644 })
  const { status, output } = run()
  t.equal(status, 0)
  t.ok(read().startsWith(`${own}\n`))
  const { PORT, CLIENT_ID, CLIENT_SECRET, COOKIE_KEYS, LOGIN_URL, API_URL } = parseEnv(read())
  t.same([PORT, CLIENT_ID, LOGIN_URL, API_URL], ['3100', 'an-id', '', ''])
  t.equal(CLIENT_SECRET, undefined, 'the client refuses a secret that is set twice')
  t.match(COOKIE_KEYS, /^[\w-]{43}$/)
  t.match(output, 'LOGIN_URL')
  t.notMatch(output, 'CLIENT_ID')
  if (process.platform !== 'win32') t.equal(statSync(path).mode & 0o777, 0o600)
})

t.test('npm run setup makes a key in a file that only its owner can read, and never replaces a key', async t => {
  const { run, read, path } = openFolder(t)
  run()
  const text = read()
  const key = parseEnv(text).COOKIE_KEYS!
  t.match(key, /^[\w-]{43}$/)
  if (process.platform !== 'win32') t.equal(statSync(path).mode & 0o777, 0o600)
  const again = run()
  t.equal(again.status, 0)
  t.match(again.output, /^Put .*\bLOGIN_URL, API_URL, CLIENT_ID\b.* into \.env, then run: npm start\n$/)
  t.equal(read(), text, 'a setting without a value must not be added a second time')

  writeFileSync(path, text.replace(/^(?!COOKIE_KEYS)([A-Z_]+)=$/gm, '$1=a-value'))
  const complete = read()
  t.match(run().output, 'already has all required settings')
  t.equal(read(), complete, 'an existing file with all settings must not change')
})

t.test('in a copy of .env.example, npm run setup fills in a key and lists the settings without a value', async t => {
  const { run, read, path } = openFolder(t)
  copyFileSync('.env.example', path)
  const { status, output } = run()
  t.equal(status, 0)
  t.match(output, 'Added to .env: a fresh key for the cookies.\nPut ')
  t.match(output, 'LOGIN_URL, API_URL, CLIENT_ID')
  const { COOKIE_KEYS } = parseEnv(read())
  t.match(COOKIE_KEYS, /^[\w-]{43}$/)
  t.equal(read().replace(COOKIE_KEYS!, ''), readFileSync('.env.example', 'utf8'), 'the rest must not change')
})

t.test('npm run setup fills in an empty COOKIE_KEYS, however it is written', async t => {
  for (const line of ['COOKIE_KEYS=', 'COOKIE_KEYS = ""', "export COOKIE_KEYS=''", 'COOKIE_KEYS=  # not yet']) {
    const { run, read, path } = openFolder(t)
    writeFileSync(path, `PORT=3100\n${line}\nLOG_LEVEL=warn\n`)
    t.match(run().output, 'a fresh key for the cookies')
    t.match(parseEnv(read()), { PORT: '3100', COOKIE_KEYS: /^[\w-]{43}$/, LOG_LEVEL: 'warn' }, line)
  }
})

t.test('if npm run setup cannot write the new .env, the old .env keeps its secrets', async t => {
  const { run, read, path } = openFolder(t)
  const own = 'CLIENT_SECRET=a-credential-for-tests\n'
  writeFileSync(path, own)
  // Without the variables of tap, the process writes no other file.
  const { status, output } = run('env', '-u', 'NODE_OPTIONS', '-u', 'NODE_COMPILE_CACHE', 'prlimit', '--fsize=0')
  t.equal(status, 1)
  t.match(output, 'EFBIG')
  t.equal(read(), own)
})
