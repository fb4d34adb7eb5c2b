import { randomBytes } from 'node:crypto'
import t from 'tap'
import { findNotices, notices } from '../../../src/sandbox/lab/explain/notices/notices.ts'
import { createLoginComparison } from '../../../src/sandbox/lab/record/compare-logins.ts'
import { createHide } from '../../../src/sandbox/lab/record/hide.ts'
import { recordStep } from '../../../src/sandbox/lab/record/record.ts'
import type { LabStep, RecordedLogin, RecordedStep } from '../../../src/sandbox/lab/record/recorded.ts'

const hide = createHide()
const start = Date.parse('2026-03-01T12:00:00Z')

type Told = { query?: Record<string, string>; body?: Record<string, string>; headers?: Record<string, string> }
type More = Pick<Partial<LabStep>, 'reason' | 'about' | 'fault'> & {
  atMs?: number
  status?: number
  answer?: Record<string, unknown>
}

let count = 0
function step(
  kind: LabStep['kind'],
  { query = {}, body = {}, headers = {} }: Told = {},
  more: More = {},
): RecordedStep {
  const { atMs = 0, status = 200, answer = {}, reason, about = {}, fault } = more
  return recordStep(
    {
      id: `step-${++count}`,
      requestId: `request-${count}`,
      at: new Date(start + atMs),
      listener: kind === 'api' ? 'api' : 'portal',
      kind,
      route: '/',
      durationMs: 1,
      request: { method: 'GET', url: `/?${new URLSearchParams(query)}`, headers, body },
      response: { status, headers: {}, body: answer },
      about,
      checks: [],
      reason,
      fault,
    },
    hide,
  )
}

const login = (...steps: RecordedStep[]): RecordedLogin => ({
  id: `login-${++count}`,
  clientId: 'app-1',
  steps,
  leftOut: 0,
})
const random = () => randomBytes(16).toString('base64url')

/** A login as it should be, from the start to giving the tokens back. */
function goodLogin({ state = random(), challenge = random(), userId = 'user-1', atMs = 0 } = {}) {
  const code = random()
  const refreshToken = random()
  return login(
    step('authorize', { query: { client_id: 'app-1', state, code_challenge: challenge } }, { atMs }),
    step('consent', {}, { atMs: atMs + 1000, about: { userId } }),
    step(
      'exchange',
      { body: { code, state, code_verifier: random() }, headers: { 'user-agent': 'node', 'accept-language': '*' } },
      { atMs: atMs + 2000, answer: { refresh_token: refreshToken }, about: { userId } },
    ),
    step('api', { headers: { authorization: 'Bearer x' } }, { atMs: atMs + 3000 }),
    step('refresh', { body: { refresh_token: refreshToken } }, { atMs: atMs + 4000 }),
    step('revoke', { body: { token: random() } }, { atMs: atMs + 5000 }),
  )
}

function idsOf(one: RecordedLogin, others: RecordedLogin[] = []): string[] {
  const comparison = createLoginComparison()
  for (const login of [...others, one]) comparison.update(login)
  return findNotices(one, comparison.othersOf(one)).map(({ id }) => id)
}

t.test('a client without fault hears nothing, however often it signs people in', async t => {
  const logins = [0, 1, 2, 3].map(index => goodLogin({ atMs: index * 60_000 }))
  for (const one of logins)
    t.same(
      idsOf(
        one,
        logins.filter(other => other !== one),
      ),
      [],
    )
})

t.test('each mistake is noticed by its own notice, and by no other', async t => {
  const state = random()
  const code = random()
  const begun = (query: Record<string, string> = {}) =>
    step('authorize', { query: { client_id: 'app-1', state, code_challenge: random(), ...query } })
  const rows: [expected: string, RecordedLogin, RecordedLogin[]?][] = [
    ['no-state', login(step('authorize', { query: { code_challenge: random() } }))],
    ['no-state', login(begun({ state: '' }))],
    ['short-state', login(begun({ state: 'xyz' }))],
    ['short-state', login(begun({ state: '42' }))],
    ['short-state', login(begun({ state: '7d9c1f0e-5f2e-4a57-9d0a-0f4b1b1f6b11' }))],
    ['short-state', login(begun({ state: 'a'.repeat(60) }))],
    ['guessable-state', login(begun({ state: String(start) }))],
    ['guessable-state', login(begun({ state: String(start / 1000) }))],
    [
      'guessable-state',
      login(begun({ state: 'counting-upwards-from-000002' })),
      [login(begun({ state: 'counting-upwards-from-000001' }))],
    ],
    ['repeated-state', login(begun()), [login(begun())]],
    ['no-pkce', login(step('authorize', { query: { state } }))],
    [
      'repeated-verifier',
      login(begun({ code_challenge: 'the-same-challenge-every-time-012345678901' })),
      [login(begun({ state: random(), code_challenge: 'the-same-challenge-every-time-012345678901' }))],
    ],
    ['other-redirect-uri', login(step('exchange', { body: { code, state } }, { reason: 'redirect-uri-differs' }))],
    ['other-redirect-uri', login(step('page', {}, { reason: 'redirect-uri-unregistered', status: 400 }))],
    [
      'exchange-after-refusal',
      login(begun(), step('consent', {}, { reason: 'consent-declined' }), step('exchange', { body: { code, state } })),
    ],
    ['no-state-at-exchange', login(begun(), step('exchange', { body: { code } }, { reason: 'state-missing' }))],
    ['invented-state', login(begun(), step('exchange', { body: { code, state: random() } }))],
    [
      'state-not-compared',
      login(
        begun(),
        step('consent', {}, { fault: { id: '1', name: 'redirect-state-other', acted: 'after' } }),
        step('exchange', { body: { code, state } }),
      ),
    ],
    [
      'state-not-compared',
      login(
        begun(),
        step(
          'exchange',
          { body: { code, state } },
          { fault: { id: '1', name: 'exchange-state-missing', acted: 'after' } },
        ),
        step('revoke', { body: { token: random() } }),
        step('api', { headers: { authorization: 'Bearer x' } }),
      ),
    ],
    ['code-sent-twice', login(begun(), ...[1, 2].map(() => step('exchange', { body: { code, state } })))],
    ['secret-in-address', login(step('exchange', { query: { client_secret: 's' }, body: { code } }))],
    ['secret-in-address', login(begun({ client_secret: 's' }))],
    ['secret-in-header', login(step('exchange', { body: { code }, headers: { authorization: 'Basic YTpi' } }))],
    ['old-refresh-token', login(step('refresh', { body: { refresh_token: code } }, { reason: 'refresh-token-used' }))],
    ['many-renewals', login(...[0, 50].map(atMs => step('refresh', { body: { refresh_token: code } }, { atMs })))],
    ['expired-token', login(step('api', {}, { reason: 'token-expired', status: 401 }))],
    ['revoked-token', login(step('api', {}, { reason: 'token-revoked', status: 401 }))],
    ['token-in-query', login(step('api', { query: { access_token: 'x' } }))],
    [
      'no-revocation',
      login(
        step(
          'exchange',
          { body: { code, state } },
          { answer: { refresh_token: random() }, about: { userId: 'user-1' } },
        ),
      ),
      [goodLogin({ atMs: 60_000 })],
    ],
    ['followed-redirect', login(step('trap', {}, { reason: 'redirect-followed', status: 400 }))],
    ['browser-headers', login(step('api', { headers: { 'user-agent': 'Mozilla/5.0' } }))],
    ['browser-headers', login(step('exchange', { body: { code, state }, headers: { cookie: 'a=b' } }))],
    ['browser-headers', login(step('refresh', { headers: { 'accept-language': 'de-DE,de' } }))],
  ]
  for (const [expected, one, others = []] of rows) t.same(idsOf(one, others), [expected], expected)
  t.same(
    notices.map(({ id }) => id).filter(id => !rows.some(([expected]) => expected === id)),
    [],
    'there is a row for every notice',
  )
})

t.test('steps that only look like a mistake get no notice', async t => {
  const state = random()
  const first = goodLogin()
  const withoutRevocation = login(...first.steps.filter(({ kind }) => kind !== 'revoke'))
  t.same(idsOf(withoutRevocation), [], 'somebody who is still signed in')
  t.same(idsOf(withoutRevocation, [goodLogin({ userId: 'user-2', atMs: 60_000 })]), [], 'another person’s login')
  t.same(
    idsOf(login(...[0, 5_000].map(atMs => step('refresh', { body: { refresh_token: state } }, { atMs })))),
    [],
    'a renewal that is tried again after its answer was lost',
  )
  const long = (end: string) => `eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.${'eyJ0IjoibG9naW4ifQ'.repeat(3)}${end}`
  const signed = () =>
    login(
      step('authorize', {
        query: { state: long(random() + random() + random() + random()), code_challenge: random() },
      }),
    )
  t.same(idsOf(signed(), [signed()]), [], 'a signed state begins like the others and is as long as it must be')
  t.same(
    idsOf(
      login(
        step('authorize', {
          query: { state, code_challenge: random() },
          headers: { cookie: 'a=b', 'user-agent': 'Mozilla/5.0' },
        }),
      ),
    ),
    [],
    'a browser has the headers of a browser',
  )
})

t.test('a notice says what is wrong, why it matters and how to fix it, in a sentence or two each', async t => {
  for (const { id, found, why, fix, reference } of notices) {
    t.match(id, /^[a-z]+(-[a-z]+)*$/)
    for (const sentence of [found, why, fix]) t.match(sentence, /^[A-Z].*\.$/, `${id}: ${sentence}`)
    t.match(reference, /RFC|specification/, id)
  }
  t.equal(new Set(notices.map(({ id }) => id)).size, notices.length)
})

t.test('a login is compared with the current logins of the same client', async t => {
  const comparison = createLoginComparison()
  const noticedOf = (one: RecordedLogin) => findNotices(one, comparison.othersOf(one)).map(({ id }) => id)
  const state = random()
  const [one, two] = [goodLogin({ state }), goodLogin({ state, userId: 'user-2' })]
  comparison.update(one)
  comparison.update(one)
  t.same(noticedOf(one), [], 'a login is not compared with itself')
  comparison.update({ ...two, clientId: 'app-2' })
  t.same(noticedOf(one), [], 'nor with one of another client')
  comparison.update(two)
  t.same([noticedOf(one), noticedOf(two)], [['repeated-state'], ['repeated-state']])
  comparison.update({ ...two, steps: [] })
  t.same(noticedOf(one), [], 'the step was left out')
  comparison.update(two)
  comparison.forget(two)
  t.same(noticedOf(one), [], 'the login was forgotten')
})

t.test(
  'tokens that were not given back are noticed after the next login of the same person, however many there are',
  async t => {
    const comparison = createLoginComparison()
    const logins = [0, 1, 2, 3].map(index => {
      const one = goodLogin({ atMs: index * 60_000 })
      return { ...one, steps: one.steps.filter(({ kind }) => kind !== 'revoke') }
    })
    for (const one of logins) comparison.update(one)
    const noticed = () => logins.map(one => findNotices(one, comparison.othersOf(one)).length)
    t.same(noticed(), [1, 1, 1, 0])
    comparison.forget(logins[3]!)
    t.same(noticed(), [1, 1, 0, 0])
  },
)
