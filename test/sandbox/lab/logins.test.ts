// Tests how the laboratory combines steps into logins, and which logins it keeps if there are too many.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import t from 'tap'
import { mostStepBytes } from '../../../src/sandbox/lab/record/allowance.ts'
import { createHide } from '../../../src/sandbox/lab/record/hide.ts'
import { type Bounds, createLogins, usualBounds } from '../../../src/sandbox/lab/record/logins.ts'
import { recordStep } from '../../../src/sandbox/lab/record/record.ts'
import type { RecordedLogin } from '../../../src/sandbox/lab/record/recorded.ts'
import type { Step } from '../../../src/sandbox/observe/steps.ts'

const random = () => randomBytes(16).toString('base64url')

type StepDetails = Partial<Pick<Step, 'kind' | 'about' | 'reason' | 'route'>> & {
  query?: Record<string, string>
  body?: Record<string, string>
  headers?: Record<string, string>
  answer?: Record<string, string>
  location?: string
}

function buildLogins(bounds: Partial<Bounds> = {}) {
  const hide = createHide()
  const logins = createLogins({ ...usualBounds, ...bounds })
  let count = 0
  function record({ kind = 'authorize', query = {}, body, headers = {}, answer, location, ...more }: StepDetails) {
    const step: Step = {
      id: `step-${++count}`,
      requestId: `request-${count}`,
      at: new Date('2026-03-01T12:00:00Z'),
      listener: 'portal',
      kind,
      route: '/',
      durationMs: 1,
      request: { method: 'GET', url: `/?${new URLSearchParams(query)}`, headers, body },
      response: { status: 200, headers: location ? { location } : {}, body: answer },
      about: {},
      checks: [],
      reason: undefined,
      ...more,
    }
    return logins.record(recordStep(step, hide))
  }
  const begin = (clientId: string, state = random(), more: Partial<StepDetails> = {}) =>
    record({ query: { client_id: clientId, state }, about: { claimedClientId: clientId }, ...more })
  return { logins, record, begin, hide }
}

t.test(
  'the laboratory connects the steps of a login by their codes and tokens, from the login request to the last call',
  async t => {
    const { record, begin, logins } = buildLogins()
    const [state, code, accessToken, refreshToken, newer] = [random(), random(), random(), random(), random()]
    const login = begin('app-1', state)
    const location = `http://localhost:3000/exchangeToken?${new URLSearchParams({ code, state })}`
    const steps = [
      record({ kind: 'sign-in', about: { startPath: `/?${new URLSearchParams({ client_id: 'app-1', state })}` } }),
      begin('app-1', state),
      record({
        kind: 'consent',
        location,
        about: { startPath: `/?${new URLSearchParams({ client_id: 'app-1', state })}` },
      }),
      record({
        kind: 'exchange',
        body: { code, client_id: 'app-1' },
        answer: { access_token: accessToken, refresh_token: refreshToken },
        about: { provenClientId: 'app-1' },
      }),
      record({ kind: 'api', headers: { authorization: `bearer ${accessToken}` } }),
      record({ kind: 'refresh', body: { refresh_token: refreshToken }, answer: { refresh_token: newer } }),
      record({ kind: 'revoke', body: { token: newer } }),
    ]
    for (const step of steps) t.equal(step.id, login.id)
    t.same(
      logins.find(login.id)?.steps.map(({ kind }) => kind),
      ['authorize', 'sign-in', 'authorize', 'consent', 'exchange', 'api', 'refresh', 'revoke'],
    )
  },
)

t.test(
  'two login requests with different state values belong to two logins; if a state value is used again after the exchange, a new login begins',
  async t => {
    const { begin, record } = buildLogins()
    const state = random()
    const first = begin('app-1', state)
    t.not(begin('app-1').id, first.id, 'another state')
    t.not(begin('app-2', state).id, first.id, 'another client with the same state')
    t.equal(begin('app-1', state).id, first.id, 'a reload')
    t.equal(record({ kind: 'exchange', body: { state, client_id: 'app-1', code: 'made-up' } }).id, first.id)
    t.not(begin('app-1', state).id, first.id, 'a state that is used again')
  },
)

t.test(
  'if a login has no state, the laboratory recognises its exchange by the code, and an exchange with a made-up code does not belong to an existing login',
  async t => {
    const { record } = buildLogins()
    const code = random()
    const location = `http://localhost:3000/cb?${new URLSearchParams({ code })}`
    const login = record({ query: { client_id: 'app-1' }, location, about: { claimedClientId: 'app-1' } })
    t.equal(record({ kind: 'exchange', body: { code } }).id, login.id)
    t.not(record({ kind: 'exchange', body: { code: random(), client_id: 'app-1' } }).id, login.id)
  },
)

t.test(
  'logins are listed with the newest login first, and can be selected by client, by state, or by steps that are newer than a given step',
  async t => {
    const { logins, begin, hide } = buildLogins()
    const state = random()
    const one = begin('app-1', state)
    const two = begin('app-1')
    const other = begin('app-2')
    const ids = (wanted: Parameters<typeof logins.list>[0]) => logins.list(wanted).map(({ id }) => id)
    t.same(ids({}), [other.id, two.id, one.id])
    t.same(ids({ clientId: 'app-1' }), [two.id, one.id])
    t.same(ids({ state: hide.hash(state) }), [one.id])
    const seen = logins.newest()
    t.same(ids({ after: seen }), [])
    begin('app-1', state)
    t.same(ids({ after: seen }), [one.id], 'a login with a new step must be listed')
  },
)

t.test(
  'if a busy client or made-up client ids cause many logins, the laboratory still keeps the logins of a quiet client',
  async t => {
    const { logins, begin } = buildLogins({ logins: 10 })
    const quiet = [begin('quiet'), begin('quiet')]
    for (let index = 0; index < 30; index++) begin('busy')
    for (let index = 0; index < 30; index++) begin(`made-up-${index}`, random(), { reason: 'client-unknown' })
    t.equal(logins.list({}).length, 10)
    for (const { id } of quiet) t.ok(logins.find(id), 'the quiet client keeps its logins')
    t.ok(logins.list({ clientId: 'busy' }).length >= 3, 'the busy client must keep some logins')
  },
)

t.test('if a login has too many steps, the laboratory removes successful calls first', async t => {
  const { logins, begin, record } = buildLogins({ steps: 6 })
  const [state, code, accessToken] = [random(), random(), random()]
  const login = begin('app-1', state)
  record({ kind: 'exchange', body: { state, client_id: 'app-1', code }, answer: { access_token: accessToken } })
  record({ kind: 'api', headers: { authorization: `Bearer ${accessToken}` }, reason: 'not-found' })
  for (let index = 0; index < 20; index++) record({ kind: 'api', headers: { authorization: `Bearer ${accessToken}` } })
  const { steps, leftOut } = logins.find(login.id)!
  t.equal(steps.length, 6)
  t.equal(leftOut, 17)
  t.match(steps.slice(0, 3), [{ kind: 'authorize' }, { kind: 'exchange' }, { reason: 'not-found' }])
})

t.test('whatever a client sends, the laboratory uses only a limited amount of memory for a login', async t => {
  const { logins, begin } = buildLogins()
  const state = random()
  const login = begin('app-1', state)
  for (let index = 0; index < 40; index++) begin('app-1', state, { headers: { 'user-agent': 'x'.repeat(9_000) } })
  t.ok(JSON.stringify(logins.find(login.id)?.steps).length < 17 * 1024)
  t.ok(logins.find(login.id)!.leftOut > 0)
})

t.test('a login with one huge step and a login with many small steps both stay within the size limits', async t => {
  const { begin, record } = buildLogins()
  const query = { client_id: 'x'.repeat(9_000), state: random(), other: 'x'.repeat(9_000) }
  const huge = record({ query, about: { claimedClientId: query.client_id } })
  t.ok(Buffer.byteLength(JSON.stringify(huge.steps[0])) <= mostStepBytes)

  const state = random()
  let refreshToken = random()
  const long = begin('app-1', state, { answer: { refresh_token: refreshToken } })
  for (let count = 0; count < 500; count++) {
    const next = random()
    const answer = { access_token: random(), refresh_token: next }
    t.equal(record({ kind: 'refresh', body: { refresh_token: refreshToken }, answer }).id, long.id)
    refreshToken = next
  }
  const { keys, steps } = long as RecordedLogin & { keys: Set<string> }
  t.ok(Buffer.byteLength(JSON.stringify(steps)) + [...keys].join('').length <= 16 * 1024)
  t.ok(keys.size <= 50, `${keys.size} keys`)
  t.equal(begin('app-1', state).id, long.id, 'the login must still be found by its login request')
})

t.test('recording thousands of huge requests does not crash a process with a small heap', async t => {
  const args = ['--max-old-space-size=48', 'test/sandbox/lab/support/fill-lab.ts']
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: {}, timeout: 60_000 })
  const { logins, largest } = JSON.parse(stdout)
  t.equal(logins, 1_000)
  t.ok(largest <= 16 * 1024, `${largest} bytes`)
})

t.test(
  'after a login is removed, the laboratory no longer finds the login by its id, and a login request with the same state value begins a new login',
  async t => {
    const { logins, begin, hide } = buildLogins({ logins: 1 })
    const state = random()
    const { id } = begin('app-1', state)
    begin('app-1')
    t.equal(logins.find(id), undefined)
    const again = begin('app-1', state)
    t.not(again.id, id)
    const hash = hide.hash(state)
    t.notOk(logins.othersOf(again).haveState(hash), 'the state must not count as repeated')
  },
)

t.test(
  'if a browser sends a login request again, and only the consent page shows that it is the same browser, the state does not count as repeated',
  async t => {
    const { logins, begin, record, hide } = buildLogins()
    const state = random()
    const headers = { cookie: '__Host-portal-session=a-session' }
    const first = begin('app-1', state, { headers, location: 'http://localhost/?code=a-code' })
    t.equal(record({ kind: 'exchange', body: { code: 'a-code' } }), first)
    const again = begin('app-1', state)
    t.not(again, first)
    t.ok(logins.othersOf(again).haveState(hide.hash(state)))
    const startPath = `/?${new URLSearchParams({ client_id: 'app-1', state })}`
    t.equal(record({ kind: 'consent', headers, about: { startPath } }), again)
    t.notOk(logins.othersOf(again).haveState(hide.hash(state)))
  },
)

t.test('a listener for steps gets each new step until the listener is removed', async t => {
  const { logins, begin } = buildLogins()
  const heard: number[] = []
  const end = logins.listen((_login, _step, number) => heard.push(number))
  begin('app-1')
  begin('app-1')
  end()
  begin('app-1')
  t.same(heard, [1, 2])
})
