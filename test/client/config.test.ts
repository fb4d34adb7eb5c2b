// Tests how the client reads its settings: the defaults, the values that it refuses, and the messages about them.
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { ConfigError, readConfig } from '../../src/client/config.ts'
import { defineSettings, type Setting } from '../../src/client/read-settings.ts'

const key = () => randomBytes(32).toString('base64url')
const good = {
  LOGIN_URL: 'https://portal.test',
  API_URL: 'https://api.test',
  CLIENT_ID: 'client-1',
  CLIENT_SECRET: 'a-good-client-credential',
  COOKIE_KEYS: key(),
}
const secretNames = ['CLIENT_SECRET', 'COOKIE_KEYS'] as const

function problemsOf(environment: Record<string, string | undefined>): string[] {
  try {
    readConfig({ ...good, ...environment })
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

/** Checks that there is exactly one problem, and that it names this setting. */
function refuses(t: Test, environment: Record<string, string | undefined>, name: string) {
  const problems = problemsOf(environment)
  t.equal(problems.length, 1, JSON.stringify(problems))
  t.match(problems[0], new RegExp(`\\b${name}`))
}

t.test(
  'without optional settings, the client listens on localhost and has the address http://localhost:3000',
  async t => {
    const config = readConfig(good)
    t.match(config, {
      host: 'localhost',
      port: 3000,
      publicUrl: 'http://localhost:3000',
      redirectUri: 'http://localhost:3000/exchangeToken',
      cancelUrl: 'http://localhost:3000/cancelled',
      loginUrl: 'https://portal.test',
      loginInternalUrl: 'https://portal.test',
      apiUrl: 'https://api.test',
      apiInternalUrl: 'https://api.test',
      clientId: 'client-1',
      maxConnections: 1000,
      prestopDelayMs: 0,
      logLevel: 'info',
    })
    t.equal(config.clientSecret.reveal(), good.CLIENT_SECRET)
    t.same(
      config.cookieKeys.map(secret => secret.reveal()),
      [good.COOKIE_KEYS],
    )
  },
)

t.test('the client removes slashes at the end of the addresses in its settings', async t => {
  const config = readConfig({
    ...good,
    HOST: '::',
    PORT: '8080',
    PUBLIC_URL: 'https://client.test/',
    CANCEL_URL: 'https://client.test/came/back',
    LOGIN_URL: ' https://platform.test/portal// ',
    API_URL: 'http://127.0.0.1:4001/',
    MAX_CONNECTIONS: '250',
    PRESTOP_DELAY: '7',
    LOG_LEVEL: 'debug',
  })
  t.match(config, {
    host: '::',
    port: 8080,
    publicUrl: 'https://client.test',
    redirectUri: 'https://client.test/exchangeToken',
    cancelUrl: 'https://client.test/came/back',
    loginUrl: 'https://platform.test/portal',
    apiUrl: 'http://127.0.0.1:4001',
    maxConnections: 250,
    prestopDelayMs: 7000,
    logLevel: 'debug',
  })
})

t.test(
  'CT-08: if an address in the settings has an empty query or fragment (`?` or `#` at its end), the client refuses the address or removes this character',
  async t => {
    for (const end of ['?', '#', '/?', '/#']) {
      const environment = { LOGIN_URL: `https://portal.test${end}` }
      if (problemsOf(environment).length === 0)
        t.equal(readConfig({ ...good, ...environment }).loginUrl, 'https://portal.test')
      else refuses(t, environment, 'LOGIN_URL')
    }
  },
)

t.test('metrics are served only if METRICS_PORT is set', async t => {
  t.equal(readConfig(good).metricsPort, undefined)
  t.equal(readConfig({ ...good, METRICS_PORT: '9464' }).metricsPort, 9464)
})

t.test('METRICS_PORT must differ from PORT, unless both are 0, which means a free port', async t => {
  const same = { PORT: '9464', METRICS_PORT: '9464' }
  t.throws(() => readConfig({ ...good, ...same }), { message: /METRICS_PORT must not be the same as PORT/ })
  t.equal(readConfig({ ...good, PORT: '0', METRICS_PORT: '0' }).metricsPort, 0)
})

t.test('the default public address contains the port', async t => {
  t.equal(readConfig({ ...good, PORT: '8080' }).publicUrl, 'http://localhost:8080')
})

t.test('CT-08: the client reports all problems with the settings together, one on each line', async t => {
  try {
    readConfig({
      HOST: ' ',
      PORT: 'many',
      PUBLIC_URL: 'http://client.test',
      CANCEL_URL: 'nowhere',
      LOGIN_URL: 'ftp://portal.test',
      API_URL: '',
      CLIENT_SECRET: 'changeme',
      COOKIE_KEYS: 'short',
      PRESTOP_DELAY: '-1',
      LOG_LEVEL: 'loud',
    })
    t.fail('not refused')
  } catch (error) {
    t.type(error, ConfigError)
    const names = [
      'PORT',
      'PUBLIC_URL',
      'CANCEL_URL',
      'LOGIN_URL',
      'API_URL',
      'CLIENT_ID',
      'CLIENT_SECRET',
      'COOKIE_KEYS',
      'PRESTOP_DELAY',
      'LOG_LEVEL',
    ]
    const { problems, message } = error as ConfigError
    for (const name of names) t.equal(problems.filter(problem => problem.includes(name)).length, 1, name)
    t.equal(problems.length, names.length, message)
    t.equal(message.split('\n').length, names.length + 1)
  }
})

for (const [name, value] of [
  ['PORT', '65536'],
  ['PORT', '-1'],
  ['PORT', '3000.5'],
  ['PORT', '0x1f'],
  ['MAX_CONNECTIONS', '0'],
  ['MAX_CONNECTIONS', 'many'],
  ['METRICS_PORT', '65536'],
  ['METRICS_PORT', 'on'],
  ['PRESTOP_DELAY', '3601'],
  ['PRESTOP_DELAY', 'soon'],
  ['LOG_LEVEL', 'verbose'],
  ['PUBLIC_URL', 'localhost:3000'],
  ['PUBLIC_URL', 'https://client.test/path'],
  ['PUBLIC_URL', 'https://client.test/?a=b'],
  ['PUBLIC_URL', 'https://user@client.test'],
  ['CANCEL_URL', 'javascript:alert(1)'],
  ['CANCEL_URL', 'https://client.test/cancelled'],
  ['CANCEL_URL', 'http://localhost:3001/cancelled'],
  ['LOGIN_URL', 'https://portal.test/#x'],
  ['LOGIN_URL', '//portal.test'],
  ['API_URL', 'https://api.test?x=1'],
  ['LOGIN_INTERNAL_URL', 'portal:4000'],
  ['API_INTERNAL_URL', 'file:///etc/passwd'],
] as const) {
  t.test(`CT-08: the client refuses the setting ${name}=${value}, and the message names ${name}`, async t => {
    refuses(t, { [name]: value }, name)
  })
}

for (const name of ['LOGIN_URL', 'API_URL', 'CLIENT_ID', 'CLIENT_SECRET', 'COOKIE_KEYS']) {
  t.test(`SE-03: there is no default for ${name}`, async t => {
    refuses(t, { [name]: undefined }, name)
    refuses(t, { [name]: '  ' }, name)
  })
}

t.test('SE-03: a client secret that looks like a placeholder is refused', async t => {
  for (const secret of [
    'changeme',
    'change-me-please-soon',
    'CHANGE_ME_CHANGE_ME',
    'your-secret-goes-here',
    'placeholder-for-a-secret',
    'short',
  ])
    refuses(t, { CLIENT_SECRET: secret }, 'CLIENT_SECRET')
})

t.test('SE-03: a cookie key is 32 random bytes in base64url', async t => {
  const bad = {
    'sixteen bytes': randomBytes(16).toString('base64url'),
    'thirty-one bytes': randomBytes(31).toString('base64url'),
    'thirty-three bytes': randomBytes(33).toString('base64url'),
    'another alphabet': `${key().slice(0, 41)}+/`,
    'a valid key and an invalid key': `${key()},changeme`,
    'a valid key and an empty string': `${key()},`,
    'an empty string and a valid key': `,${key()}`,
    'two empty strings': ',',
  }
  for (const [what, keys] of Object.entries(bad)) {
    const problems = problemsOf({ COOKIE_KEYS: keys })
    t.equal(problems.length, 1, what)
    t.match(problems[0], 'COOKIE_KEYS')
  }
})

t.test('CK-11: the client keeps several cookie keys in the order of the setting', async t => {
  const [newest, older] = [key(), key()]
  const { cookieKeys } = readConfig({ ...good, COOKIE_KEYS: `${newest}, ${older}` })
  t.same(
    cookieKeys.map(secret => secret.reveal()),
    [newest, older],
  )
})

t.test('SE-03: neither a message nor the printed settings contain the value of a secret', async t => {
  const values = { CLIENT_SECRET: 'placeholder-hunter2', COOKIE_KEYS: 'hunter2,hunter2' }
  try {
    readConfig({ ...good, ...values })
    t.fail('not refused')
  } catch (error) {
    t.notMatch(`${inspect(error)}${JSON.stringify(error)}`, 'hunter2')
  }
  const config = readConfig(good)
  const printed = `${inspect(config, { depth: 9 })}${JSON.stringify(config)}${config.clientSecret}${config.cookieKeys}`
  for (const name of secretNames) t.notMatch(printed, good[name], name)
  t.match(printed, 'redacted')
})

for (const name of secretNames) {
  t.test(`${name}_FILE names a file that contains the secret`, async t => {
    const path = join(t.testdir({}), 'secret')
    const value = name === 'COOKIE_KEYS' ? key() : 'from-a-file-of-its-own'
    writeFileSync(path, `${value}\n`)
    const config = readConfig({ ...good, [name]: undefined, [`${name}_FILE`]: path })
    const read = name === 'COOKIE_KEYS' ? config.cookieKeys[0] : config.clientSecret
    t.equal(read?.reveal(), value)
  })

  t.test(`the client refuses the settings if both ${name} and ${name}_FILE are set`, async t => {
    const path = join(t.testdir({}), 'secret')
    writeFileSync(path, good[name])
    refuses(t, { [`${name}_FILE`]: path }, `${name} and ${name}_FILE are both set`)
    t.same(problemsOf({ [name]: ' ', [`${name}_FILE`]: path }), [], 'an empty setting must count as not set')
  })

  t.test(`if ${name}_FILE is empty, missing or a folder, the message names ${name}_FILE`, async t => {
    const folder = t.testdir({ empty: '' })
    for (const path of [join(folder, 'empty'), join(folder, 'missing'), folder])
      refuses(t, { [name]: undefined, [`${name}_FILE`]: path }, `${name}_FILE`)
  })
}

/** A product with several kinds of settings. */
const product = defineSettings({
  list: [
    { name: 'NOTES_DATABASE', isSecret: true, about: 'The database.' },
    { name: 'NOTES_PER_PAGE', default: '20', about: 'How many notes a page shows.' },
    { name: 'NOTES_MODERATORS', default: '', about: 'Ids of users, comma-separated.' },
    { name: 'NOTES_ARCHIVE', about: 'The archive.' },
    { name: 'NOTES_ORDER', default: 'newest', about: 'newest or oldest.' },
  ],
  read({ text, secret, integer, address, oneOf, problem }) {
    const moderators = text('NOTES_MODERATORS').split(',').filter(Boolean)
    if (moderators.length > 2) problem('NOTES_MODERATORS must be at most two.')
    return {
      database: secret('NOTES_DATABASE', 'Ask the operator.'),
      perPage: integer('NOTES_PER_PAGE', 100, 1),
      archive: address('NOTES_ARCHIVE'),
      order: oneOf('NOTES_ORDER', ['newest', 'oldest']),
      moderators,
    }
  },
})

t.test('the settings of a product are read together with the settings of the client', async t => {
  const environment = { ...good, NOTES_DATABASE: 'postgres://notes', NOTES_ARCHIVE: 'https://archive.test/' }
  const { product: notes, port } = readConfig(environment, product)
  t.equal(port, 3000)
  t.equal(notes.database.reveal(), 'postgres://notes')
  t.match(notes, { perPage: 20, archive: 'https://archive.test', order: 'newest', moderators: [] })
  t.notMatch(`${inspect(notes, { depth: 9 })}${JSON.stringify(notes)}`, 'postgres')

  const path = join(t.testdir({}), 'secret')
  writeFileSync(path, 'postgres://file\n')
  const fromFile = readConfig({ ...environment, NOTES_DATABASE: '', NOTES_DATABASE_FILE: path }, product)
  t.equal(fromFile.product.database.reveal(), 'postgres://file')
})

t.test('CT-08: one error reports all problems with the settings of the client and of the product', async t => {
  const environment = {
    ...good,
    PORT: 'many',
    NOTES_PER_PAGE: '0',
    NOTES_ARCHIVE: 'http://archive.test',
    NOTES_ORDER: 'hunter2',
    NOTES_MODERATORS: 'a,b,c',
  }
  const error = t.throws(() => readConfig(environment, product), ConfigError) as unknown as ConfigError
  t.same(error.problems, [
    'PORT must be a whole number from 0 to 65535.',
    'NOTES_MODERATORS must be at most two.',
    'NOTES_DATABASE is missing. Ask the operator.',
    'NOTES_PER_PAGE must be a whole number from 1 to 100.',
    'NOTES_ARCHIVE must begin with https://, because http:// is only for loopback addresses.',
    'NOTES_ORDER must be newest or oldest.',
  ])
  const missing = t.throws(() => readConfig({}, product), ConfigError) as unknown as ConfigError
  t.same(missing.problems.map(problem => problem.split(' ')[0]).toSorted(), [
    'API_URL',
    'CLIENT_ID',
    'CLIENT_SECRET',
    'COOKIE_KEYS',
    'LOGIN_URL',
    'NOTES_ARCHIVE',
    'NOTES_DATABASE',
  ])
})

t.test(
  'if the list of a product’s settings is wrong, the client does not start, and the message names the setting',
  async t => {
    const read = (list: Setting[], name: string, isSecret = false) =>
      readConfig(
        good,
        defineSettings({ list, read: ({ text, secret }) => ({ it: isSecret ? secret(name) : text(name) }) }),
      )
    const about = 'A setting.'
    t.throws(() => read([{ name: 'PORT', about }], 'PORT'), { message: 'Two settings have the same name: PORT.' })
    t.throws(() => read([], 'NOTES'), { message: 'The list of settings does not contain NOTES.' })
    t.throws(() => read([{ name: 'NOTES', about, isSecret: true }], 'NOTES'), {
      message: 'NOTES is a secret. Read it with secret().',
    })
    t.throws(() => read([{ name: 'NOTES', about }], 'NOTES', true), {
      message: 'NOTES needs isSecret in the list of settings.',
    })
  },
)

t.test('CK-02: plain http is allowed only for loopback addresses, where browsers keep Secure cookies', async t => {
  for (const url of ['http://localhost:3000', 'http://127.0.0.1:3000', 'http://127.8.9.1', 'http://[::1]:3000'])
    t.equal(readConfig({ ...good, PUBLIC_URL: url }).publicUrl, url)
  for (const url of [
    'http://client.test',
    'http://192.168.1.7:3000',
    'http://localhost.test',
    // The platform registers no redirect URI with this host and http.
    'http://client.localhost',
    'http://127.0.0.1.test',
    'http://0.0.0.0',
  ])
    refuses(t, { PUBLIC_URL: url }, 'PUBLIC_URL')
})

t.test('UP-10: a portal or an API without https is refused, except on loopback', async t => {
  for (const name of ['LOGIN_URL', 'API_URL']) {
    refuses(t, { [name]: 'http://portal.example' }, name)
    refuses(t, { [name]: 'http://10.0.0.1:4000' }, name)
    t.same(problemsOf({ [name]: 'http://127.0.0.1:4000' }), [])
    t.same(problemsOf({ [name]: 'http://[::1]:4000' }), [])
  }
})

t.test(
  'UP-10: plain http is allowed for an internal address, because the operator has set this address on purpose',
  async t => {
    const config = readConfig({
      ...good,
      LOGIN_INTERNAL_URL: 'http://portal:4000/',
      API_INTERNAL_URL: 'http://api:4001',
    })
    t.match(config, {
      loginUrl: 'https://portal.test',
      loginInternalUrl: 'http://portal:4000',
      apiUrl: 'https://api.test',
      apiInternalUrl: 'http://api:4001',
    })
  },
)

t.test('UP-09: certificate checks cannot be switched off', async t => {
  refuses(t, { NODE_TLS_REJECT_UNAUTHORIZED: '0' }, 'NODE_TLS_REJECT_UNAUTHORIZED')
})
