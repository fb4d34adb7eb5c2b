// Tests how the sandbox reads its settings: the defaults, the values that it refuses, and the messages about them.
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t from 'tap'
import { ConfigError, readConfig, settings } from '../../src/sandbox/config.ts'

const seed = {
  SEED_CLIENT_ID: '5a0e3f4c-52f5-4d2e-9a49-0a4f7d8f7c11',
  SEED_CLIENT_SECRET: 'canary-client-secret-0123456789',
  SEED_REDIRECT_URIS: 'http://localhost:3000/exchangeToken, https://app.example.test/exchangeToken',
  SEED_USER_EMAIL: 'developer@example.test',
  SEED_USER_PASSWORD: 'canary-password',
}

function problemsOf(environment: Record<string, string>): string[] {
  try {
    readConfig(environment)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

t.test('without any settings the sandbox uses its default ports and an SQLite file, and seeds no account', async t => {
  const config = readConfig({})
  t.match(config, {
    host: 'localhost',
    portalPort: 4000,
    apiPort: 4001,
    portalUrl: 'http://127.0.0.1:4000',
    apiUrl: 'http://127.0.0.1:4001',
    maxConnections: 1000,
    prestopDelayMs: 0,
    logLevel: 'info',
    seed: undefined,
  })
  t.match(readConfig({ LAB_PORT: '4002' }).lab, { host: '127.0.0.1' })
  t.equal(config.databaseUrl.reveal(), 'sqlite:data/sandbox.db')
})

t.test('CT-08: a setting that is a number must contain only digits', t => {
  for (const name of ['PORTAL_PORT', 'API_PORT', 'PRESTOP_DELAY'])
    for (const text of [' ', '0x10', '1e3', '-1', '4.5', '+4', '65536'])
      t.match(problemsOf({ [name]: text }), { length: 1, 0: new RegExp(`^${name} must be`) }, `${name}="${text}"`)
  t.match(readConfig({ PORTAL_PORT: '0', API_PORT: '65535', PRESTOP_DELAY: '3600' }), {
    portalPort: 0,
    apiPort: 65535,
    prestopDelayMs: 3_600_000,
  })
  t.end()
})

t.test('CT-08: MAX_CONNECTIONS must be a whole number of at least 1', t => {
  for (const text of ['0', '-1', '1e3', '10.5', 'many', '1000000'])
    t.match(problemsOf({ MAX_CONNECTIONS: text }), [/^MAX_CONNECTIONS must be a whole number, 1 to 999999$/], text)
  t.match(readConfig({ MAX_CONNECTIONS: '250' }), { maxConnections: 250 })
  t.end()
})

t.test('the default values of PORTAL_URL and API_URL contain the configured ports', t => {
  t.match(readConfig({ PORTAL_PORT: '4100' }), { portalUrl: 'http://127.0.0.1:4100', apiUrl: 'http://127.0.0.1:4001' })
  t.match(readConfig({ API_PORT: '80' }), { portalUrl: 'http://127.0.0.1:4000', apiUrl: 'http://127.0.0.1' })
  t.match(readConfig({ PORTAL_PORT: '4100', PORTAL_URL: 'https://portal.example.test' }), {
    portalUrl: 'https://portal.example.test',
  })
  t.end()
})

t.test('CT-08: the settings allow access tokens of at most one day and codes of at most ten minutes', t => {
  t.match(readConfig({}), { accessTokenSeconds: 86_400, codeSeconds: 60 })
  t.match(readConfig({ ACCESS_TOKEN_SECONDS: '1', CODE_SECONDS: '600' }), { accessTokenSeconds: 1, codeSeconds: 600 })
  for (const [name, values] of Object.entries({
    ACCESS_TOKEN_SECONDS: ['0', '86401', '1e3', '-1', '1.5'],
    CODE_SECONDS: ['0', '601', 'x'],
  }))
    for (const value of values) t.match(problemsOf({ [name]: value }), [new RegExp(`^${name} must be`)], value)
  t.end()
})

t.test('PS-06: TRUSTED_PROXIES accepts addresses and networks, but not a network that contains all addresses', t => {
  const good = '10.1.2.3, 10.0.0.0/8,::1,fd00::/8, 2001:db8::5/128'
  t.strictSame(readConfig({ TRUSTED_PROXIES: good }).trustedProxies, good.split(/, */))
  t.strictSame(readConfig({ TRUSTED_PROXIES: ' ' }).trustedProxies, [])
  const everybody = ['0.0.0.0/0', '::/0', '10.0.0.0/00', '::ffff:0:0/96', '*']
  const wrong = [
    'caddy',
    '10.0.0',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/8/8',
    '10.0.0.0/',
    'loopback',
    'fe80::1%eth0',
    '1',
  ]
  for (const text of [...everybody, ...wrong])
    t.match(problemsOf({ TRUSTED_PROXIES: `127.0.0.1,${text}` }), [/^TRUSTED_PROXIES must be/], text)
  t.end()
})

t.test('SEED_CLIENT_ID cannot be docs, because /apps/v1/docs is the API’s documentation', t => {
  t.match(problemsOf({ ...seed, SEED_CLIENT_ID: 'docs' }), [/^SEED_CLIENT_ID cannot be docs/])
  t.strictSame(problemsOf({ ...seed, SEED_CLIENT_ID: 'Docs-1' }), [])
  t.end()
})

t.test('CT-08: HOST must be a host name or an IP address', t => {
  for (const host of ['localhost', '0.0.0.0', '::', 'fe80::1%eth0', 'sandbox.example.test'])
    t.equal(readConfig({ HOST: host }).host, host)
  for (const host of ['http://localhost', ' ', 'localhost:4000/x', 'two words'])
    t.match(problemsOf({ HOST: host }), [/^HOST must be/], host)
  t.end()
})

t.test('the sandbox reports all problems with the settings together, and prints no secret', async t => {
  const problems = problemsOf({
    PORTAL_PORT: 'abc',
    API_PORT: '70000',
    PORTAL_URL: 'http://portal.example.test',
    API_URL: 'http://127.0.0.1:4001/',
    DATABASE_URL: 'mysql://root:canary@localhost/x',
    PRESTOP_DELAY: 'soon',
    LOG_LEVEL: 'loud',
    SEED_CLIENT_SECRET: 'canary',
  })
  const named = [
    'PORTAL_PORT',
    'API_PORT',
    'PORTAL_URL',
    'API_URL',
    'DATABASE_URL',
    'PRESTOP_DELAY',
    'LOG_LEVEL',
    'SEED_CLIENT_ID',
  ]
  for (const name of named)
    t.ok(
      problems.some(problem => problem.startsWith(name)),
      name,
    )
  t.notMatch(problems.join(), /canary/)
})

t.test('SE-03: if a seeded secret is too short to be random, the sandbox does not start', async t => {
  t.strictSame(problemsOf(seed), [])
  t.match(problemsOf({ ...seed, SEED_CLIENT_SECRET: 'changeme' }), [/^SEED_CLIENT_SECRET/])
  t.match(problemsOf({ ...seed, SEED_USER_PASSWORD: '1234567' }), [/^SEED_USER_PASSWORD/])
  t.match(problemsOf({ ...seed, SEED_REDIRECT_URIS: 'http://app.example.test/x' }), [/^SEED_REDIRECT_URIS/])
})

t.test('SE-03: a seeded secret or password that looks like a placeholder is refused, however long it is', t => {
  for (const text of ['changeme', 'Change-Me', 'placeholder', 'your-secret', 'YOUR_CLIENT_SECRET', 'your password']) {
    const long = `${text}-0123456789-0123456789`
    t.match(problemsOf({ ...seed, SEED_CLIENT_SECRET: long }), [/^SEED_CLIENT_SECRET looks like a placeholder/], text)
    t.match(problemsOf({ ...seed, SEED_USER_PASSWORD: long }), [/^SEED_USER_PASSWORD looks like a placeholder/], text)
  }
  t.end()
})

t.test('a setting with a secret or with the database address can be read from a file', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'config-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const path = join(folder, 'secret')
  await writeFile(path, 'a-secret-from-a-file-0123456789\n')
  const config = readConfig({ ...seed, SEED_CLIENT_SECRET: '', SEED_CLIENT_SECRET_FILE: path })
  t.equal(config.seed?.clientSecret.reveal(), 'a-secret-from-a-file-0123456789')
  t.match(problemsOf({ ...seed, SEED_CLIENT_SECRET_FILE: path }), [/both set/])
  t.match(problemsOf({ DATABASE_URL_FILE: join(folder, 'nothing') }), [/^DATABASE_URL_FILE/])
  await writeFile(path, '\n')
  for (const name of ['DATABASE_URL', 'LAB_TOKEN'])
    t.strictSame(problemsOf({ LAB_PORT: '4002', [`${name}_FILE`]: path }), [`${name}_FILE names an empty file`])
})

t.test('SE-04: whichever function prints the settings, [redacted] replaces each secret', async t => {
  const config = readConfig({ ...seed, DATABASE_URL: 'postgres://user:canary-db@localhost/x' })
  const printed = [inspect(config, { depth: 9 }), JSON.stringify(config), `${config.databaseUrl}`].join()
  t.notMatch(printed, /canary/)
  t.match(printed, /\[redacted\]/)
})

t.test(
  'the laboratory starts only if LAB_PORT is set, and by default listens only on loopback, whatever HOST is',
  t => {
    t.equal(readConfig({ LAB_HOST: '0.0.0.0', LAB_TOKEN: 'x' }).lab, undefined)
    t.same(readConfig({ HOST: '0.0.0.0', LAB_PORT: '4002' }).lab, {
      host: '127.0.0.1',
      port: 4002,
      urls: ['http://127.0.0.1:4002'],
      token: undefined,
    })
    const LAB_TOKEN = 'a-token-that-is-long-enough'
    t.match(
      readConfig({ LAB_PORT: '1', LAB_HOST: '::1', LAB_URL: 'https://a.test, http://localhost:1', LAB_TOKEN }).lab,
      { host: '::1', urls: ['https://a.test', 'http://localhost:1'] },
    )
    t.match(problemsOf({ LAB_PORT: '4002', LAB_URL: 'http://a.test' }), [/^LAB_URL must be/])
    for (const LAB_PORT of ['0x1', '65536'])
      t.match(problemsOf({ LAB_PORT }), { length: 1, 0: /^LAB_PORT must be/ }, LAB_PORT)
    t.end()
  },
)

t.test('laboratory-token: LAB_TOKEN can be left out only if both the laboratory and the portal are on loopback', t => {
  for (const LAB_HOST of ['0.0.0.0', '::', '192.0.2.1', 'lab.example.test', 'localhost.example.test'])
    t.match(problemsOf({ LAB_PORT: '4002', LAB_HOST }), [/^LAB_TOKEN is missing: LAB_HOST is not loopback/], LAB_HOST)
  const both = { LAB_PORT: '4002', LAB_HOST: '0.0.0.0', PORTAL_URL: 'https://portal.example.test' }
  t.match(problemsOf(both), [/^LAB_TOKEN is missing: LAB_HOST is not loopback, PORTAL_URL is not loopback, so/])
  t.match(readConfig({ ...both, LAB_TOKEN: 'a-token-that-is-long-enough' }).lab, { host: '0.0.0.0', token: Object })
  for (const LAB_HOST of ['127.0.0.1', '127.0.0.2', 'localhost', '::1'])
    t.match(readConfig({ LAB_PORT: '4002', LAB_HOST }).lab, { token: undefined }, LAB_HOST)
  const settings = { LAB_PORT: '4002', PORTAL_URL: 'https://portal.example.test' }
  t.match(problemsOf(settings), [/^LAB_TOKEN is missing/])
  t.match(problemsOf({ ...settings, LAB_TOKEN: 'short' }), [/^LAB_TOKEN must have/])
  t.equal(readConfig({ ...settings, LAB_TOKEN: 'a-token-that-is-long-enough' }).lab?.token?.reveal().length, 27)
  t.match(readConfig({ LAB_PORT: '4002', PORTAL_URL: 'http://localhost:4000' }).lab, { token: undefined })
  const behindProxy = { LAB_PORT: '4002', LAB_URL: 'http://127.0.0.1:4002, https://lab.example.test' }
  t.match(problemsOf(behindProxy), [/^LAB_TOKEN is missing: LAB_URL is not loopback/])
  t.match(readConfig({ ...behindProxy, LAB_TOKEN: 'a-token-that-is-long-enough' }).lab, { token: Object })
  t.match(readConfig({ LAB_PORT: '4002', LAB_URL: 'https://localhost:4443, https://[::1]' }).lab, { token: undefined })
  t.end()
})

t.test('the list of documented settings contains exactly the settings that the sandbox reads', async t => {
  const source = readFileSync('src/sandbox/config.ts', 'utf8')
  const read = [...source.matchAll(/\benv\.([A-Z_]+)|env, '([A-Z_]+)'|env,\s+'([A-Z_]+)'/g)].map(
    ([, property, name, onLine]) => property ?? name ?? onLine,
  )
  t.strictSame([...new Set(read)].sort(), settings.map(({ name }) => name).sort())
})

t.test('the documented default of each setting is its real default', async t => {
  const listed = Object.fromEntries(settings.map(({ name, default: value }) => [name, value]))
  const filled = { ...listed, PORTAL_URL: 'http://127.0.0.1:4000', API_URL: 'http://127.0.0.1:4001' }
  t.equal(listed.PORTAL_URL?.replace('PORTAL_PORT', listed.PORTAL_PORT ?? ''), filled.PORTAL_URL)
  t.equal(listed.API_URL?.replace('API_PORT', listed.API_PORT ?? ''), filled.API_URL)
  const [all, none] = [readConfig(filled), readConfig({})]
  t.strictSame({ ...all, databaseUrl: all.databaseUrl.reveal() }, { ...none, databaseUrl: none.databaseUrl.reveal() })
})

t.test('if a seeded value is too long for the portal, the sandbox does not start', async t => {
  const longest = {
    SEED_CLIENT_SECRET: 'x'.repeat(2048),
    SEED_USER_EMAIL: `${'x'.repeat(64)}@${'y'.repeat(185)}.org`,
    SEED_USER_PASSWORD: '😀'.repeat(1000),
  }
  t.strictSame(problemsOf({ ...seed, ...longest }), [])
  const problems: Record<string, string> = {
    SEED_CLIENT_SECRET: 'SEED_CLIENT_SECRET must have at most 2048 characters',
    SEED_USER_EMAIL: 'SEED_USER_EMAIL cannot be used. Enter an e-mail address like name@example.org.',
    SEED_USER_PASSWORD: 'SEED_USER_PASSWORD cannot be used. Use 1000 characters or fewer.',
  }
  for (const [name, value] of Object.entries(longest))
    t.strictSame(problemsOf({ ...seed, [name]: `x${value}` }), [problems[name]], name)
})

t.test('the seeded account follows the same rules as an account from the sign-up page', async t => {
  const problemsWith = (changed: Record<string, string>) => problemsOf({ ...seed, ...changed })
  t.strictSame(problemsWith({ SEED_USER_PASSWORD: '🙂🙂🙂🙂' }), [
    'SEED_USER_PASSWORD cannot be used. Use at least 8 characters.',
  ])
  t.strictSame(problemsWith({ SEED_USER_PASSWORD: seed.SEED_USER_EMAIL }), [
    'SEED_USER_PASSWORD cannot be used. Choose a password that is not your e-mail address.',
  ])
  t.strictSame(problemsWith({ SEED_USER_EMAIL: 'developer@müller.test' }), [
    'SEED_USER_EMAIL cannot be used. Enter an e-mail address like name@example.org.',
  ])
})
