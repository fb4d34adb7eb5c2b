// Tests that each mistake of a client gets its notice, and that correct clients get none.
import t from 'tap'
import { findNotices, notices } from '../../../src/sandbox/lab/explain/notices/notices.ts'
import { createLoginComparison } from '../../../src/sandbox/lab/record/compare-logins.ts'
import type { RecordedLogin } from '../../../src/sandbox/lab/record/recorded.ts'
import { openBrowser, signIn } from '../support/browser.ts'
import { seeded } from '../support/build-test-sandbox.ts'
import { buildTestLab } from '../support/call-lab.ts'
import { fault, login, type More, random, start, step } from './support/recorded-steps.ts'

/** Makes the steps of a correct login, from the login request to the revocation of its tokens. */
function goodLogin({
  state = random(),
  challenge = random(),
  userId = 'user-1',
  session = 'session-1',
  atMs = 0,
} = {}) {
  const code = random()
  const refreshToken = random()
  return login(
    step('authorize', { query: { client_id: 'app-1', state, code_challenge: challenge } }, { atMs }),
    step('consent', { headers: cookie(session) }, { atMs: atMs + 1000, about: { userId } }),
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

const cookie = (session: string) => ({ cookie: `__Host-portal-session=${session}` })

function idsOf(one: RecordedLogin, others: RecordedLogin[] = []): string[] {
  const comparison = createLoginComparison()
  for (const login of [...others, one]) comparison.update(login)
  return findNotices(one, comparison.othersOf(one)).map(({ id }) => id)
}

t.test('if a fault hides PKCE in the metadata, logins without PKCE get no notice for an hour', async t => {
  const { sandbox, lab } = await buildTestLab(t)
  const noticesOfNewest = async () => {
    await signIn(openBrowser(sandbox), { state: random() })
    const [{ id }] = (await lab('GET', `logins?clientId=${seeded.clientId}`)).json().logins
    return (await lab('GET', `logins/${id}`)).json().noticed.map((notice: { id: string }) => notice.id)
  }
  await lab('POST', 'faults', { fault: 'keys-503' })
  await sandbox.portal.inject('/.well-known/jwks.json')
  sandbox.passTime(1_000)
  t.ok((await noticesOfNewest()).includes('no-pkce'))
  await lab('POST', 'faults', { fault: 'metadata-pkce-missing' })
  await sandbox.portal.inject('/.well-known/oauth-authorization-server')
  sandbox.passTime(1_000)
  t.notOk((await noticesOfNewest()).includes('no-pkce'))
  sandbox.passTime(3_600_000)
  t.ok((await noticesOfNewest()).includes('no-pkce'), 'by now, the client has read the metadata again')
})

t.test('if a client is correct, its logins get no notice, however often the client signs people in', async t => {
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

t.test('each mistake of a client causes exactly one notice: the notice about this mistake', async t => {
  const state = random()
  const code = random()
  const begun = (query: Record<string, string> = {}) =>
    step('authorize', { query: { client_id: 'app-1', state, code_challenge: random(), ...query } })
  const inSession = (state: string, challenge: string) =>
    login(
      step('authorize', { query: { client_id: 'app-1', state, code_challenge: challenge }, headers: cookie('one') }),
      step('exchange', { body: { code: random(), state } }),
    )
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
    ['repeated-state', inSession(state, random()), [inSession(state, random())]],
    ['repeated-verifier', inSession(random(), 'c'), [inSession(random(), 'c')]],
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
        step('consent', {}, { fault: fault('redirect-state-other') }),
        step('exchange', { body: { code, state } }),
      ),
    ],
    [
      'state-not-compared',
      login(
        begun(),
        step('exchange', { body: { code, state } }, { fault: fault('exchange-state-missing') }),
        step('revoke', { body: { token: random() } }),
        step('api', { headers: { authorization: 'Bearer x' } }),
      ),
    ],
    ['code-sent-twice', login(begun(), ...[1, 2].map(() => step('exchange', { body: { code, state } })))],
    ['secret-in-address', login(step('exchange', { query: { client_secret: 's' }, body: { code } }))],
    ['secret-in-address', login(begun({ client_secret: 's' }))],
    ['secret-in-header', login(step('exchange', { body: { code }, headers: { authorization: 'Basic YTpi' } }))],
    ['old-refresh-token', login(step('refresh', { body: { refresh_token: code } }, { reason: 'refresh-token-used' }))],
    [
      'many-renewals',
      login(
        ...[0, 50].map(atMs =>
          step('refresh', { body: { refresh_token: code } }, { atMs, durationMs: 400, status: 503 }),
        ),
      ),
    ],
    ['many-renewals', login(...[0, 50].map(atMs => step('refresh', { body: { refresh_token: code } }, { atMs })))],
    [
      'revoked-token',
      login(
        step('revoke', { body: { token: random() } }),
        step('api', {}, { reason: 'token-revoked', status: 401, atMs: 1_000 }),
      ),
    ],
    [
      'revoked-token',
      login(...[0, 1_000].map(atMs => step('api', {}, { reason: 'token-revoked', status: 401, atMs }))),
    ],
    [
      'expired-token',
      login(
        step('exchange', { body: { code, state } }, { answer: { access_token: 'a', expires_in: 60 } }),
        step('api', {}, { reason: 'token-expired', status: 401, atMs: 61_000 }),
      ),
    ],
    [
      'json-exchange',
      login(step('exchange', { body: { code, state }, headers: { 'content-type': 'application/json' } })),
    ],
    [
      'flat-body',
      login(step('api', { body: { name: 'Mine', groupId: '1' } }, { method: 'POST', route: '/apps/v1', status: 201 })),
    ],
    ['token-in-query', login(step('api', { query: { access_token: 'x' } }))],
    [
      'no-revocation',
      login(
        step('consent', { headers: cookie('session-1') }),
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

t.test(
  'if a client ignores a wrong state, it gets the notice, however the developer has ordered the fault',
  async t => {
    const [state, code] = [random(), random()]
    const begun = step('authorize', { query: { client_id: 'app-1', state, code_challenge: random() } })
    const exchanged = (more: More = {}) => step('exchange', { body: { code, state } }, more)
    for (const name of ['redirect-parameter-missing', 'redirect-parameter-other', 'redirect-parameter-empty']) {
      const back = (name: string, field: string) => step('consent', {}, { fault: fault(name, { name: field }) })
      t.same(idsOf(login(begun, back(name, 'state'), exchanged())), ['state-not-compared'], name)
      t.same(idsOf(login(begun, back(name, 'code'), exchanged())), [], `${name}: another parameter`)
    }
    const orders: [name: string, options: Record<string, unknown>][] = [
      ['exchange-state', { value: 'other' }],
      ['exchange-member', { member: 'state', value: 'other' }],
      ['exchange-member-missing', { member: 'state' }],
      ['exchange-state-other', {}],
    ]
    for (const [name, options] of orders)
      t.same(idsOf(login(begun, exchanged({ fault: fault(name, options) }), step('api'))), ['state-not-compared'], name)
    const tokenType = fault('exchange-member', { member: 'token_type', value: 'other' })
    t.same(idsOf(login(begun, exchanged({ fault: tokenType }), step('api'))), [], 'another member')
  },
)

t.test('if correct steps only look like a mistake, the login gets no notice', async t => {
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
  t.same(idsOf(signed(), [signed()]), [], 'a signed state may begin like other states if it is long enough')
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

t.test('if a client reacts correctly to a failure of the platform, the login gets no notice', async t => {
  const [state, code, token, challenge] = [random(), random(), random(), random()]
  const start = (atMs = 0) =>
    step('authorize', { query: { client_id: 'app-1', state, code_challenge: challenge } }, { atMs })
  const exchanged = (more: More = {}) =>
    step('exchange', { body: { code, state } }, { answer: { access_token: 'a', expires_in: 3600 }, ...more })
  const renewed = (more: More = {}) => step('refresh', { body: { refresh_token: token } }, more)
  const called = (more: More = {}) => step('api', { headers: { authorization: 'Bearer a' } }, more)
  const declined = (atMs = 0) => step('consent', {}, { reason: 'consent-declined', status: 303, atMs })
  const allowed = step('consent', {}, { atMs: 3_000, status: 303 })
  const expired = { reason: 'token-expired', status: 401 } as const
  const revoked = { reason: 'token-revoked', status: 401 } as const
  const lost = { reason: 'refresh-token-used', status: 401 } as const
  const twoDevices = () =>
    step('exchange', { body: { code, state } }, { answer: { refresh_token: random() }, about: { userId: 'user-1' } })
  const signedIn = () => [step('consent', { headers: cookie('session-1') }), twoDevices()]
  const inSession = () =>
    step('authorize', { query: { client_id: 'app-1', state, code_challenge: challenge }, headers: cookie('one') })
  const [backBefore, back] = [login(start(), inSession(), exchanged()), login(inSession())]
  const withoutEnd = (expires_in: unknown) =>
    login(
      exchanged({
        answer: { access_token: 'a', expires_in },
        fault: fault('exchange-expires-in', { value: expires_in ?? null }),
      }),
      called({ atMs: 9_000_000, ...expired }),
    )
  const rows: [notice: string, situation: string, RecordedLogin, RecordedLogin[]?][] = [
    ['no-state', 'a restart of the sandbox, after which the login request is unknown', login(exchanged())],
    [
      'no-state',
      'a redirect from which a fault removed the state',
      login(start(), step('consent', {}, { fault: fault('redirect-state-missing') })),
    ],
    ['short-state', 'decline and start again', login(start(), declined(), start(2_000))],
    ['guessable-state', 'decline and start again', login(start(), declined(), start(2_000))],
    [
      'repeated-state',
      'decline and start again',
      login(start(), declined(), start(2_000), allowed, exchanged({ atMs: 4_000 })),
    ],
    ['repeated-state', 'Back to the portal after the exchange', back, [backBefore]],
    ['repeated-state', 'a login from which the visitor later went back', backBefore, [back]],
    ['repeated-verifier', 'Back to the portal after the exchange', back, [backBefore]],
    ['repeated-verifier', 'a login from which the visitor later went back', backBefore, [back]],
    ['no-pkce', 'a restart of the sandbox', login(exchanged(), called())],
    [
      'no-pkce',
      'a fault that removed PKCE from the metadata',
      login(step('authorize', { query: { client_id: 'app-1', state } }, { atMs: 3_500_000 })),
      [login(step('metadata', {}, { fault: fault('metadata-pkce-missing') }))],
    ],
    ['repeated-verifier', 'decline and start again', login(start(), declined(), start(2_000), allowed)],
    [
      'other-redirect-uri',
      'a fault that sends the same answer as for a wrong request',
      login(start(), exchanged({ status: 400, answer: {}, fault: fault('exchange-400') })),
    ],
    [
      'exchange-after-refusal',
      'decline, start again and allow',
      login(start(), declined(), start(2_000), allowed, exchanged({ atMs: 4_000 })),
    ],
    ['no-state-at-exchange', 'a restart of the sandbox', login(step('exchange', { body: { code } }))],
    [
      'invented-state',
      'a fault that changed the state',
      login(
        step('authorize', { query: { client_id: 'app-1', state: random(), code_challenge: challenge } }),
        step('consent', {}, { fault: fault('redirect-state-twice') }),
        exchanged(),
      ),
    ],
    ['invented-state', 'a restart of the sandbox', login(exchanged())],
    [
      'state-not-compared',
      'a second login request after a fault',
      login(
        start(),
        step('consent', {}, { fault: fault('redirect-state-other') }),
        start(2_000),
        allowed,
        exchanged({ atMs: 4_000 }),
      ),
    ],
    [
      'state-not-compared',
      'a fault after which the client sends nothing',
      login(start(), step('consent', {}, { fault: fault('redirect-state-other') })),
    ],
    [
      'code-sent-twice',
      'a retry after Retry-After',
      login(start(), exchanged({ status: 503, answer: {}, fault: fault('exchange-503') }), exchanged({ atMs: 1_000 })),
    ],
    [
      'json-exchange',
      'a form',
      login(
        step('exchange', { body: { code, state }, headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
      ),
    ],
    [
      'secret-in-address',
      'a retry after Retry-After',
      login(exchanged({ status: 503, answer: {} }), exchanged({ atMs: 1_000 })),
    ],
    ['secret-in-header', 'a call to the API, whose token belongs in this header', login(exchanged(), called())],
    [
      'secret-in-header',
      'an access token that a library adds to each call',
      login(exchanged(), step('revoke', { body: { token }, headers: { authorization: 'Bearer a' } })),
    ],
    [
      'old-refresh-token',
      'a late answer: the client never got the new token',
      login(renewed({ durationMs: 10_000, fault: fault('refresh-late-after') }), renewed({ atMs: 25_000, ...lost })),
    ],
    [
      'old-refresh-token',
      'a connection that broke after the portal had acted',
      login(renewed({ status: 0 }), renewed({ atMs: 25_000, ...lost })),
    ],
    [
      'many-renewals',
      'a retry after Retry-After',
      login(renewed({ status: 503, fault: fault('refresh-503') }), renewed({ atMs: 900 })),
    ],
    [
      'many-renewals',
      'an immediate retry, which began when the portal had only just sent the answer',
      login(renewed({ status: 503, durationMs: 25, fault: fault('refresh-503') }), renewed({ atMs: 24 })),
    ],
    [
      'many-renewals',
      'an immediate retry, before a busy sandbox had recorded the end of the first answer',
      login(renewed({ status: 503, durationMs: 250, fault: fault('refresh-503') }), renewed({ atMs: 20 })),
    ],
    [
      'many-renewals',
      'a retry after the portal refused renewals for a second',
      login(renewed({ status: 429, reason: 'renewed-too-often' }), renewed({ atMs: 990 })),
    ],
    [
      'many-renewals',
      'a late answer, for which the client did not wait',
      login(renewed({ durationMs: 500, status: 0, fault: fault('refresh-late-after') }), renewed({ atMs: 600 })),
    ],
    ['many-renewals', 'a restart before the client has stored the answer', login(renewed(), renewed({ atMs: 1_500 }))],
    [
      'expired-token',
      'a fault: the token expires early',
      login(
        exchanged({ fault: fault('exchange-early-end-of-access-token', { seconds: 4 }) }),
        called({ atMs: 5_000, ...expired }),
      ),
    ],
    [
      'expired-token',
      'a restart of the sandbox, after which the expiry of the token is unknown',
      login(called(expired)),
    ],
    ...[undefined, null, 'soon', '', true, -1, 0].map((end): [string, string, RecordedLogin] => [
      'expired-token',
      `a fault: expires_in is ${end}`,
      withoutEnd(end),
    ]),
    ['expired-token', 'a test that let the token expire', login(exchanged(), called({ atMs: 5_000, ...expired }))],
    [
      'revoked-token',
      'a call that began before the client signed out',
      login(called({ atMs: 0, durationMs: 300, ...revoked }), step('revoke', { body: { token } }, { atMs: 100 })),
    ],
    [
      'revoked-token',
      'a person who has withdrawn the consent',
      login(exchanged(), called({ atMs: 1_000, ...revoked })),
    ],
    [
      'token-in-query',
      'a retry after Retry-After',
      login(called({ status: 503, fault: fault('list-503') }), called({ atMs: 1_000 })),
    ],
    [
      'flat-body',
      'the envelope',
      login(step('api', { body: { 'data.name': 'Mine' } }, { method: 'POST', route: '/apps/v1' })),
    ],
    [
      'flat-body',
      'a call that makes no application',
      login(step('api', { body: { name: 'Group' } }, { method: 'POST', route: '/identities/v1' })),
    ],
    [
      'no-revocation',
      'a second device of the same person',
      login(step('consent', { headers: cookie('session-2') }), twoDevices()),
      [goodLogin({ atMs: 60_000 })],
    ],
    [
      'no-revocation',
      'a fault at the revocation',
      login(twoDevices(), step('revoke', { body: { token } }, { status: 503, fault: fault('revoke-503') })),
      [goodLogin({ atMs: 60_000 })],
    ],
    ...(['refresh-token-expired', 'refresh-token-used'] as const).map(
      (reason): [string, string, RecordedLogin, RecordedLogin[]] => [
        'no-revocation',
        `a session that the portal ended: ${reason}`,
        login(...signedIn(), renewed({ atMs: 5_000, status: 401, reason })),
        [goodLogin({ atMs: 60_000 })],
      ],
    ),
    [
      'no-revocation',
      'a fault that removed the revocation from the metadata',
      login(...signedIn()),
      [
        { ...login(step('metadata', {}, { fault: fault('metadata-members', { members: {} }) })), clientId: undefined },
        goodLogin({ atMs: 60_000 }),
      ],
    ],
    [
      'followed-redirect',
      'a redirect that the client does not follow',
      login(called({ status: 307, fault: fault('api-redirect-307') })),
    ],
    ['browser-headers', 'a retry after Retry-After', login(called({ status: 503 }), called({ atMs: 1_000 }))],
  ]
  for (const [notice, situation, one, others] of rows)
    t.notOk(idsOf(one, others).includes(notice), `${notice}: ${situation}`)
  t.same(
    notices.map(({ id }) => id).filter(id => !rows.some(([notice]) => notice === id)),
    [],
    'there is a row for every notice',
  )
})

t.test(
  'a notice about a missing safeguard has the severity “warning”, and a notice about a deviation that this portal accepts has the severity “info”',
  async t => {
    const severityOf = (wanted: string) => notices.find(({ id }) => id === wanted)?.severity
    t.equal(severityOf('secret-in-address'), 'error')
    t.equal(severityOf('no-pkce'), 'warning')
    t.same([severityOf('json-exchange'), severityOf('flat-body')], ['info', 'info'])
    const one = login(
      step('authorize', { query: { client_id: 'app-1', state: random() } }),
      step('exchange', {
        body: { code: random() },
        query: { code: 'c' },
        headers: { 'content-type': 'application/json' },
      }),
    )
    const comparison = createLoginComparison()
    comparison.update(one)
    const found = findNotices(one, comparison.othersOf(one)).map(({ severity }) => severity)
    t.same(found, ['error', 'error', 'warning', 'info'], 'errors come first')
  },
)

t.test('each notice says what is wrong, why it matters and how to fix the mistake', async t => {
  for (const { id, found, why, fix, reference } of notices) {
    t.match(id, /^[a-z]+(-[a-z]+)*$/)
    for (const sentence of [found, why, fix]) t.match(sentence, /^[A-Z].*\.$/, `${id}: ${sentence}`)
    t.match(reference, /RFC|rule/, id)
  }
  t.equal(new Set(notices.map(({ id }) => id)).size, notices.length)
})

t.test(
  'to find notices, the laboratory compares a login only with logins that are still stored and belong to the same client',
  async t => {
    const comparison = createLoginComparison()
    const noticedOf = (one: RecordedLogin) => findNotices(one, comparison.othersOf(one)).map(({ id }) => id)
    const state = random()
    const [one, two] = [goodLogin({ state }), goodLogin({ state, userId: 'user-2' })]
    comparison.update(one)
    comparison.update(one)
    t.same(noticedOf(one), [], 'a login is not compared with itself')
    comparison.update({ ...two, clientId: 'app-2' })
    t.same(noticedOf(one), [], 'a login must not be compared with a login of another client')
    comparison.update(two)
    t.same([noticedOf(one), noticedOf(two)], [['repeated-state'], ['repeated-state']])
    comparison.update({ ...two, steps: [] })
    t.same(noticedOf(one), [], 'the step was left out')
    comparison.update(two)
    comparison.forget(two)
    t.same(noticedOf(one), [], 'the login was forgotten')
  },
)

t.test(
  'if the tokens of a login were not revoked, the login gets a notice after the next login of the same person',
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
