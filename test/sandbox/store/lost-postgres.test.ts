// Tests the sandbox while PostgreSQL is down, refuses connections, no longer answers, or is read-only.
import { once } from 'node:events'
import { createServer } from 'node:net'
import { sql } from 'kysely'
import pg from 'pg'
import t from 'tap'
import type { Store } from '../../../src/sandbox/store/store.ts'
import { exchange, getAccessToken, logIn, openBrowser, startUrl } from '../support/browser.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { type PostgresProxy, startPostgresProxy } from '../support/postgres-proxy.ts'
import { startPostgres } from '../support/start-postgres.ts'
import { startInVain } from '../support/start-sandbox.ts'

const postgres = await startPostgres(t)

async function list({ api }: Pick<TestSandbox, 'api'>, accessToken: string) {
  return api.inject({ url: '/apps/v1', headers: { authorization: `Bearer ${accessToken}` } })
}

for (const end of ['stop', 'kill'] as const)
  t.test(
    `F-32: while PostgreSQL is down (after ${end}), requests get a 503 answer; when it is up again, everything works`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await postgres.makeDatabase() })
      const accessToken = await getAccessToken(sandbox)
      const code = (await logIn(sandbox)).get('code') ?? ''
      await postgres[end]()
      t.match(await list(sandbox, accessToken), { statusCode: 503, headers: { 'retry-after': /^\d+$/ } })
      t.match(await exchange(sandbox, { code }), { statusCode: 503, headers: { 'retry-after': /^\d+$/ } })
      t.match(await openBrowser(sandbox).get(startUrl()), { statusCode: 503, headers: { 'retry-after': /^\d+$/ } })
      for (const listener of [sandbox.portal, sandbox.api]) {
        const ready = await listener.inject('/health/ready')
        t.match(ready, { statusCode: 503 })
        t.match(ready.json(), { status: 'not ready', store: 'unreachable' })
        t.equal((await listener.inject('/health/live')).statusCode, 200)
      }
      await postgres.startAgain()
      sandbox.passTime(1000)
      t.equal((await sandbox.api.inject('/health/ready')).statusCode, 200)
      t.equal((await list(sandbox, accessToken)).statusCode, 200)
      t.equal((await exchange(sandbox, { code })).statusCode, 200, 'the code must not be used up')
    },
  )

interface RoleAndDatabase {
  role: string
  name: string
}

// The reasons why a running server can refuse every new connection. Each reason has two statements: after the first,
// the server refuses connections, and after the second, it accepts connections again.
const refusals: Record<string, (at: RoleAndDatabase) => { refuse: string; accept: string }> = {
  'the database is closed to connections': ({ name }) => ({
    refuse: `alter database ${name} with allow_connections false`,
    accept: `alter database ${name} with allow_connections true`,
  }),
  'the database does not exist': ({ name }) => ({
    refuse: `alter database ${name} rename to ${name}_away`,
    accept: `alter database ${name}_away rename to ${name}`,
  }),
  'the database has no connection left': ({ name }) => ({
    refuse: `alter database ${name} connection limit 0`,
    accept: `alter database ${name} connection limit -1`,
  }),
  'the role may not sign in': ({ role }) => ({
    refuse: `alter role ${role} nologin`,
    accept: `alter role ${role} login`,
  }),
  'the password has changed': ({ role }) => ({
    refuse: `alter role ${role} password 'another'`,
    accept: `alter role ${role} password 'own'`,
  }),
}

for (const [index, [reason, statementsFor]] of Object.entries(refusals).entries())
  t.test(
    `F-32: while PostgreSQL refuses connections (${reason}), every request gets a 503 answer; when it accepts connections again, everything works`,
    async t => {
      const address = new URL(await postgres.makeDatabase())
      const [role, name] = [`role_${index}`, address.pathname.slice(1)]
      await ask(postgres.url, `create role ${role} login password 'own'; alter database ${name} owner to ${role}`)
      address.username = role
      address.password = 'own'
      const sandbox = await buildTestSandbox(t, { databaseUrl: address.href })
      const accessToken = await getAccessToken(sandbox)
      const code = (await logIn(sandbox)).get('code') ?? ''
      const { refuse, accept } = statementsFor({ role, name })
      // PostgreSQL renames a database only if it has no connections.
      const end = `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}'`
      await ask(postgres.url, end)
      await ask(postgres.url, refuse)
      const isAway = { statusCode: 503, headers: { 'retry-after': /^\d+$/ } }
      const withToken = { headers: { authorization: `Bearer ${accessToken}` } }
      const start = Object.fromEntries(new URLSearchParams(startUrl().slice(2)))
      const payload = { ...start, email: seeded.email, password: seeded.password }
      t.match(await list(sandbox, accessToken), isAway, 'the application API')
      t.match(await exchange(sandbox, { code }), isAway, 'a call from a client')
      t.match(await sandbox.portal.inject({ url: '/api/me', ...withToken }), isAway, 'a call with a token')
      const authorize = { method: 'POST', url: '/api/authorize', payload } as const
      t.match(await sandbox.portal.inject(authorize), isAway, 'a call on behalf of a user')
      t.match(await openBrowser(sandbox).get(startUrl()), isAway, 'a page')
      for (const listener of [sandbox.portal, sandbox.api]) {
        sandbox.passTime(1000)
        const ready = await listener.inject('/health/ready')
        t.equal(ready.statusCode, 503)
        t.match(ready.json(), { status: 'not ready', store: 'unreachable' })
        t.equal((await listener.inject('/health/live')).statusCode, 200)
      }
      await ask(postgres.url, accept)
      sandbox.passTime(1000)
      t.equal((await sandbox.api.inject('/health/ready')).statusCode, 200)
      t.equal((await list(sandbox, accessToken)).statusCode, 200)
      t.equal((await exchange(sandbox, { code })).statusCode, 200, 'the code must not be used up')
    },
  )

/**
 * A fault that breaks connections to the server. Until the test calls `repair`, an exchange with a wrong code gets the
 * status `meanwhile`.
 */
interface Cut {
  meanwhile: 401 | 503
  repair(): Promise<unknown>
}

// Each function causes one fault of the server, or of the connections to the server.
const cuts: Record<string, (at: { databaseUrl: string; proxy: PostgresProxy }) => Promise<Cut>> = {
  async 'ended one by one'({ databaseUrl }) {
    await ask(databaseUrl, `select pg_terminate_backend(pid) ${waiting}`)
    // Wait until the idle connections have also ended. A later request on a connection that is about to end would get a
    // 503.
    await untilThere(databaseUrl, waiting, found => found === 0)
    return { meanwhile: 401, repair: async () => undefined }
  },
  async 'an immediate restart'() {
    await postgres.stopAtOnce()
    return { meanwhile: 503, repair: () => postgres.startAgain() }
  },
  async 'a TCP reset'({ proxy }) {
    proxy.reset()
    return { meanwhile: 401, repair: async () => undefined }
  },
  async 'a failover to a server that refuses changes'({ databaseUrl }) {
    await setReadOnly(databaseUrl, 'on')
    // The repair makes the server accept changes again, but does not end the connections.
    return { meanwhile: 503, repair: () => ask(databaseUrl, alterReadOnly(databaseUrl, 'off')) }
  },
}

for (const [name, cut] of Object.entries(cuts))
  t.test(
    `F-32: if connections to PostgreSQL are lost during statements, the sandbox keeps working (${name})`,
    async t => {
      const databaseUrl = await postgres.makeDatabase()
      const proxy = await startPostgresProxy(t, databaseUrl)
      const sandbox = await buildTestSandbox(t, { databaseUrl: proxy.url })
      const accessToken = await getAccessToken(sandbox)
      const code = (await logIn(sandbox)).get('code') ?? ''
      // Hold a lock, so that one read and several writes are waiting in the middle of their queries.
      const holder = new pg.Client({ connectionString: databaseUrl })
      holder.on('error', () => undefined)
      await holder.connect()
      await holder.query('begin; lock table grants, failures in access exclusive mode')
      const inFlight = [
        list(sandbox, accessToken),
        ...Array.from({ length: 3 }, () => exchange(sandbox, { code: 'a'.repeat(30) })),
      ]
      let given = 0
      for (const answer of inFlight) answer.then(() => given++)
      // On a slow machine a request may have already waited too long and got a 503 answer.
      await untilThere(databaseUrl, `${others} and wait_event_type = 'Lock'`, found => found + given >= inFlight.length)
      const [{ meanwhile, repair }] = await Promise.all([
        cut({ databaseUrl, proxy }),
        ...inFlight.map(async answer => {
          t.match(await answer, { statusCode: 503, headers: { 'retry-after': /^\d+$/ } })
        }),
      ])
      await holder.end()
      t.equal((await exchange(sandbox, { code: 'a'.repeat(30) })).statusCode, meanwhile)
      await repair()
      const repairedAt = performance.now()
      t.equal((await list(sandbox, accessToken)).statusCode, 200)
      const answers = []
      while (performance.now() - repairedAt < 2000 && answers.at(-1) !== 200)
        answers.push((await exchange(sandbox, { code })).statusCode)
      t.equal(answers.at(-1), 200)
      // For /health/ready, the sandbox checks the database at most once a second.
      do sandbox.passTime(1000)
      while (performance.now() - repairedAt < 3000 && (await sandbox.portal.inject('/health/ready')).statusCode !== 200)
      t.equal((await sandbox.portal.inject('/health/ready')).statusCode, 200)
      t.equal((await sandbox.api.inject('/health/ready')).statusCode, 200)
    },
  )

t.test(
  'F-32: if connections to PostgreSQL no longer answer, the sandbox closes them in time, and opens new connections',
  async t => {
    const proxy = await startPostgresProxy(t, await postgres.makeDatabase())
    const sandbox = await buildTestSandbox(t, { databaseUrl: proxy.url })
    const accessToken = await getAccessToken(sandbox)
    const askOften = async () => {
      sandbox.passTime(1000)
      const lists = Array.from({ length: 20 }, () => list(sandbox, accessToken))
      // The readiness check writes, so it uses the connections for writes.
      const probes = Array.from({ length: 10 }, () => sandbox.api.inject('/health/ready'))
      const answers = await Promise.all([...lists, ...probes])
      return [...new Set(answers.map(answer => answer.statusCode))]
    }
    t.strictSame(await askOften(), [200])
    proxy.fallSilent()
    const startedAt = performance.now()
    t.strictSame(await askOften(), [503])
    t.ok(performance.now() - startedAt < 10_000)
    proxy.speakAgain()
    t.strictSame(await askOften(), [200])
  },
)

t.test('F-32: if an SQL statement takes too long, PostgreSQL cancels it, and the sandbox stops waiting', async t => {
  const { store } = await buildTestSandbox(t, { databaseUrl: await postgres.makeDatabase() })
  const sleep = (db: Store['read']) => sql`select pg_sleep(20)`.execute(db)
  await Promise.all([
    t.rejects(sleep(store.read), { code: '57014' }, 'a query'),
    t.rejects(store.write(sleep), { code: '57014' }, 'a change'),
  ])
})

t.test('F-32: if PostgreSQL cannot be reached or does not answer, the sandbox does not start', async t => {
  const mute = createServer(() => undefined).listen(0, '127.0.0.1')
  await once(mute, 'listening')
  t.teardown(() => mute.close())
  const { port } = mute.address() as { port: number }
  const reasons: [string, RegExp][] = [
    ['postgres://user:canary@127.0.0.1:1/sandbox', /did not start: .*ECONNREFUSED/],
    [`postgres://user:canary@127.0.0.1:${port}/sandbox`, /did not start: .*timeout/i],
    ['postgres://user:canary@nowhere.invalid/sandbox', /did not start: .*nowhere\.invalid/],
  ]
  const exits = await Promise.all(reasons.map(([databaseUrl]) => startInVain(t, { databaseUrl })))
  for (const [index, { code, stderr }] of exits.entries()) {
    t.equal(code, 1)
    t.match(stderr, reasons[index]![1])
    t.notMatch(stderr, /canary|\n.*\n/, 'one line, without the password')
  }
})

t.test(
  'F-31: while PostgreSQL is read-only, requests that read data succeed and requests that write get a 503 answer; afterwards everything works',
  async t => {
    const databaseUrl = await postgres.makeDatabase()
    const sandbox = await buildTestSandbox(t, { databaseUrl })
    const accessToken = await getAccessToken(sandbox)
    const code = (await logIn(sandbox)).get('code') ?? ''
    await setReadOnly(databaseUrl, 'on')
    t.match(await exchange(sandbox, { code }), { statusCode: 503, headers: { 'retry-after': /^\d+$/ } })
    t.equal((await list(sandbox, accessToken)).statusCode, 200)
    t.match((await sandbox.api.inject('/health/ready')).json(), { store: 'read-only' })
    await setReadOnly(databaseUrl, 'off')
    sandbox.passTime(1000)
    t.equal((await exchange(sandbox, { code })).statusCode, 200)
    t.equal((await sandbox.api.inject('/health/ready')).statusCode, 200)
  },
)

const others = 'from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'
/**
 * All connections except the connection that holds the lock. The connection that holds the lock must end last.
 * Otherwise a waiting request could get the lock, and then an ordinary answer.
 */
const waiting = `${others} and query not like 'begin; lock %'`

async function setReadOnly(databaseUrl: string, value: 'on' | 'off'): Promise<void> {
  await ask(databaseUrl, alterReadOnly(databaseUrl, value))
  // The setting applies only to new connections, so end the old connections.
  for (const connections of [waiting, others]) {
    await ask(databaseUrl, `select pg_terminate_backend(pid) ${connections}`)
    await untilThere(databaseUrl, connections, found => found === 0)
  }
}

function alterReadOnly(databaseUrl: string, value: 'on' | 'off'): string {
  return `alter database ${new URL(databaseUrl).pathname.slice(1)} set default_transaction_read_only = ${value}`
}

/** Resolves when `isEnough` returns true for the number of the given connections. */
async function untilThere(databaseUrl: string, connections: string, isEnough: (count: number) => boolean) {
  const client = await connect(databaseUrl)
  while (!isEnough((await client.query(`select 1 ${connections}`)).rows.length));
  await client.end()
}

async function ask(databaseUrl: string, statement: string): Promise<void> {
  const client = await connect(databaseUrl)
  await client.query(statement)
  await client.end()
}

async function connect(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl, options: '-c default_transaction_read_only=off' })
  await client.connect()
  return client
}
