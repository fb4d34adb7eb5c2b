// Tests how the conformance command reads its options and the list of known failures.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SettingsError } from '../../src/conformance/arguments.ts'
import { readSettings, whyMissing } from '../../src/conformance/settings.ts'

t.test('without arguments, the conformance command has the right settings for the client of this project', async t => {
  const settings = readSettings([])
  t.match(settings, {
    client: 'http://localhost:3000',
    login: '/login',
    callback: '/exchangeToken',
    page: '/applications',
    create: '/applications/new',
    logout: { method: 'POST', path: '/logout' },
    returnTo: 'returnTo',
  })
  for (const need of ['page', 'logout', 'create', 'returnTo'] as const) t.equal(whyMissing(settings, need), undefined)
  for (const [need, option] of [
    ['replica', '--replica'],
    ['process', '--start'],
  ] as const)
    t.match(whyMissing(settings, need), option)
})

t.test('if an option has an empty value, the suite assumes that the client has no such page or parameter', async t => {
  const settings = readSettings(['--page', '', '--logout', '', '--create', '', '--return-to', ''])
  for (const need of ['page', 'logout', 'create', 'returnTo'] as const) t.type(whyMissing(settings, need), 'string')
})

t.test('if the settings have several problems, one error names all of them', async t => {
  const args = [
    ...['--client', 'localhost:3000', '--login', 'login', '--logout', 'logout', '--env', 'no', '--only', '('],
    ...['--portal-port', 'x', '--expect-fail', '/nowhere', '--client-at', 'no port'],
  ]
  try {
    readSettings(args, { CLIENT_ID: 'alone' })
    t.fail('it was taken')
  } catch (error) {
    t.type(error, SettingsError)
    const { message } = error as Error
    for (const name of ['client', 'login', 'logout', 'env', 'only', 'portal-port', 'expect-fail', 'client-at'])
      t.match(message, new RegExp(`--${name} `), name)
    t.match(message, 'CLIENT_ID and CLIENT_SECRET')
  }
  t.throws(() => readSettings(['--nonsense']), /Unknown option '--nonsense'/)
})

t.test('the suite starts a second instance only if it starts the client itself, and can reach it directly', async t => {
  const started = readSettings(['--replica', 'start', '--start', 'npm start'])
  t.match(started, { startsReplica: true, replica: undefined })
  for (const others of [[], ['--start', 'npm start', '--client-at', 'host:3000']])
    t.throws(() => readSettings(['--replica', 'start', ...others]), /--replica start needs --start/)
  const named = readSettings(['--replica', 'http://localhost:3001'])
  t.match(named, { startsReplica: false, replica: 'http://localhost:3001' })
})

t.test('each entry in a list of known failures needs a reason', async t => {
  const path = join(
    t.testdir({ list: '# known\n\nlogin-works  the portal is down\n  page-no-store: next week\n' }),
    'list',
  )
  t.same(
    [...readSettings(['--expect-fail', path]).expectFail],
    [
      ['login-works', 'the portal is down'],
      ['page-no-store:', 'next week'],
    ],
  )
  writeFileSync(path, 'login-works\n')
  t.throws(() => readSettings(['--expect-fail', path]), /login-works has no reason/)
})

t.test(
  'the command that repeats a check has the arguments of the run, except the arguments for report files',
  async t => {
    const { repeat } = readSettings([
      '--client=http://localhost:1',
      '--json',
      'x',
      '--only',
      'y',
      '--env',
      'A={PORT}',
      '--env',
      'B=2',
    ])
    t.same(repeat, ['--client', 'http://localhost:1', '--env', 'A={PORT}', '--env', 'B=2'])
  },
)
