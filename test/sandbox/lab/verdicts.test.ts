// Tests of verdicts. A verdict is the sentence at the top of a login's page, with a status.
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { nearestOf, splitAtDifference } from '../../../src/sandbox/lab/explain/value-difference.ts'
import { verdictOf } from '../../../src/sandbox/lab/explain/verdict.ts'
import { createLoginComparison } from '../../../src/sandbox/lab/record/compare-logins.ts'
import type { RecordedLogin } from '../../../src/sandbox/lab/record/recorded.ts'
import { exchange, locationOf, logIn, openBrowser, signIn, startUrl } from '../support/browser.ts'
import { seeded } from '../support/build-test-sandbox.ts'
import { buildTestLab } from '../support/call-lab.ts'
import { getTokens } from '../support/tokens.ts'
import { fault, login, type More, random, start, step } from './support/recorded-steps.ts'

const missing = 'Missing data for required field.'
const registered = 'http://localhost:3000/cb'

function verdict(one: RecordedLogin, { afterMs = 1_000, others = [] as RecordedLogin[] } = {}) {
  const comparison = createLoginComparison()
  for (const each of [...others, one]) comparison.update(each)
  return verdictOf(one, comparison.othersOf(one), new Date(start + afterMs))
}

const cookie = (session: string) => ({ cookie: `__Host-portal-session=${session}` })

/** Returns functions that make the steps of a login. Steps with the same `session` come from the same browser. */
function steps({ session = random(), atMs = 0, state = random(), code = random() } = {}) {
  const authorize = (more: More = {}) =>
    step(
      'authorize',
      { query: { client_id: 'app-1', state, redirect_uri: registered }, headers: cookie(session) },
      { atMs, ...more },
    )
  return {
    authorize,
    withCode: (more: More = {}) => authorize({ atMs: atMs + 500, location: `${registered}?code=${code}`, ...more }),
    signIn: (more: More = {}) => step('sign-in', {}, { atMs: atMs + 300, ...more }),
    declined: (more: More = {}) => step('consent', {}, { atMs: atMs + 500, reason: 'consent-declined', ...more }),
    exchange: (more: More = {}) =>
      step('exchange', { body: { code, state } }, { atMs: atMs + 1_000, answer: { access_token: 'a' }, ...more }),
    api: (more: More = {}) => step('api', { headers: { authorization: 'Bearer a' } }, { atMs: atMs + 2_000, ...more }),
    refresh: (more: More = {}) =>
      step(
        'refresh',
        { body: { refresh_token: random() } },
        { atMs: atMs + 3_000, answer: { access_token: 'b' }, ...more },
      ),
    revoke: (more: More = {}) => step('revoke', { body: { token: 'a' } }, { atMs: atMs + 4_000, ...more }),
  }
}

const refused = (reason: More['reason'], more: More = {}): More => ({ reason, status: 401, answer: {}, ...more })
const uriCheck = (received: string | undefined, expected: string | string[] = registered): More['checks'] => [
  { name: 'redirect_uri', passed: false, expected, received },
]

t.test('however a login ends, its verdict has a status, and one sentence that names the step', async t => {
  const { authorize, withCode, signIn, declined, exchange, api, refresh, revoke } = steps()
  const long = { afterMs: 130_000 }
  const rows: [status: string, sentence: RegExp, RecordedLogin, { afterMs?: number }?][] = [
    ['under way', /the visitor was at the portal at step 1/, login(authorize())],
    [
      'under way',
      /at step 2 the portal showed the visitor the form again. The e-mail/,
      login(authorize(), signIn({ reason: 'password-wrong' })),
    ],
    ['under way', /a code at step 1, and no client has exchanged it/, login(withCode())],
    ['under way', /the visitor was at the portal at step 3/, login(authorize(), declined(), authorize({ atMs: 900 }))],
    ['abandoned', /Abandoned: the visitor was at the portal at step 1.*two minutes/, login(authorize()), long],
    [
      'abandoned',
      /the exchange at step 2 got status 500/,
      login(withCode(), exchange({ status: 500, answer: {} })),
      long,
    ],
    ['never exchanged', /Never exchanged: the portal issued a code at step 2/, login(authorize(), withCode()), long],
    ['declined', /^Declined at step 2: The visitor did not allow/, login(authorize(), declined()), long],
    [
      'refused',
      /^Refused at step 3: The visitor did not allow/,
      login(authorize(), declined(), exchange(refused('consent-declined'))),
    ],
    [
      'refused',
      /^Refused at step 2: The client_secret is not one of/,
      login(withCode(), exchange(refused('secret-wrong'))),
    ],
    ['refused', /^Refused at step 1: The call has no access token/, login(step('api', {}, refused('token-missing')))],
    ['signed in', /^Signed in at step 3\.$/, login(withCode(), exchange(refused('state-missing')), exchange()), long],
    ['signed in', /^Signed in at step 2\.$/, login(withCode(), exchange(), api(), refresh(), revoke())],
    ['signed in', /^Renewed at step 1\.$/, login(refresh())],
    [
      'signed in, then 1 call refused',
      /then 1 call was refused. Refused at step 3: The access token has expired/,
      login(withCode(), exchange(), api(refused('token-expired'))),
    ],
    [
      'signed in, then 3 calls refused',
      /3 calls were refused. Refused at step 3: The code was already used at step 2\.$/,
      login(
        withCode(),
        exchange(),
        exchange(refused('code-used')),
        api(refused('token-revoked')),
        refresh(refused('refresh-token-expired')),
      ),
    ],
    [
      'signed in, then 1 call refused',
      /at step 3: The access token has expired. Later calls succeeded\.$/,
      login(withCode(), exchange(), api(refused('token-expired')), refresh(), api({ atMs: 4_000 })),
    ],
    ...[
      refresh({ status: 503, answer: {}, fault: fault('refresh-503') }),
      refresh({ status: 0, answer: {} }),
      api({ status: 503, atMs: 4_000, fault: fault('list-503') }),
      api({ status: 200, atMs: 4_000, fault: fault('list-html') }),
      api({ status: 0, atMs: 4_000 }),
    ].map((failed): [string, RegExp, RecordedLogin] => [
      'signed in, then 1 call refused',
      /at step 3: The access token has expired\.$/,
      login(withCode(), exchange(), api(refused('token-expired')), failed),
    ]),
    [
      'refused',
      /^Refused at step 1: The access token has expired\. Later calls succeeded\.$/,
      login(api(refused('token-expired')), api({ atMs: 4_000 })),
    ],
    ['no login', /none of them was refused/, login(api(), api({ atMs: 4_000 })), long],
    ['no login', /do not belong to a login/, login(step('metadata')), long],
  ]
  for (const [status, sentence, one, options] of rows) {
    const found = verdict(one, options)
    t.equal(found.status, status, sentence.source)
    t.match(found.sentence, sentence)
  }
})

t.test('if a redirect URI differs from the registered URI, the verdict of the login names the difference', async t => {
  const { authorize, exchange, withCode } = steps()
  const rows: [received: string | undefined, sentence: string][] = [
    [`${registered}/`, 'Refused at step 1: redirect_uri ends with /, but the registered address does not.'],
    [
      'http://127.0.0.1:3000/cb',
      'Refused at step 1: redirect_uri has the host 127.0.0.1, but the registered address has localhost.',
    ],
    [
      'http://localhost:3001/cb',
      'Refused at step 1: redirect_uri has the port 3001, but the registered address has 3000.',
    ],
    [
      'https://localhost:3000/cb',
      'Refused at step 1: redirect_uri has the scheme https:, but the registered address has http:.',
    ],
    [
      'http://localhost:3000/callback',
      'Refused at step 1: redirect_uri has the path /callback, but the registered address has /cb.',
    ],
    [
      'http://localhost:3000/CB',
      `Refused at step 1: redirect_uri has different capital letters, but the registered address is ${registered}.`,
    ],
    [
      'https://elsewhere.test/',
      `Refused at step 1: redirect_uri is https://elsewhere.test/, but the registered address is ${registered}.`,
    ],
    [
      'not an address',
      `Refused at step 1: redirect_uri is not an address, but the registered address is ${registered}.`,
    ],
    [undefined, 'Refused at step 1: redirect_uri is missing.'],
  ]
  for (const [received, sentence] of rows) {
    const one = login(authorize(refused('redirect-uri-unregistered', { checks: uriCheck(received) })))
    t.equal(verdict(one).sentence, sentence)
  }
  const several = uriCheck(`${registered}/`, ['http://localhost:3000/c', registered])
  t.match(verdict(login(authorize(refused('redirect-uri-unregistered', { checks: several })))).sentence, /ends with \//)
  const atExchange = exchange(refused('redirect-uri-differs', { checks: uriCheck(`${registered}/`) }))
  t.match(verdict(login(withCode(), atExchange)), {
    sentence: 'Refused at step 2: redirect_uri ends with /, but the address that started the login does not.',
    fix: 'Send the same address both times.',
  })
})

t.test('if a request was refused because of a missing field, the verdict of the login names the field', async t => {
  const { authorize, exchange } = steps()
  const noCancelUrl = [{ name: 'cancel_url' as const, passed: false, expected: 'http://localhost:3000' }]
  t.match(
    verdict(login(authorize(refused('cancel-url-foreign', { checks: noCancelUrl })))).sentence,
    'cancel_url is missing.',
  )
  const noSecret = exchange(refused('field-missing', { answer: { error_description: 'client_secret is missing.' } }))
  t.match(verdict(login(noSecret)).sentence, 'Refused at step 1: client_secret is missing.')
})

t.test(
  'the verdict of a failed login says how late a code was, where a token was sent, or which group was wrong',
  async t => {
    const { withCode, exchange } = steps()
    const create = (more: More, groupId = 'g-1') =>
      step('api', { body: { 'data.groupId': groupId } }, { method: 'POST', route: '/apps/v1', ...more })
    const rows: [sentence: string, RecordedLogin][] = [
      [
        'Refused at step 2: The code has expired. It was issued at step 1, 75 seconds earlier.',
        login(withCode(), exchange(refused('code-expired', { atMs: 75_500 }))),
      ],
      ['Refused at step 1: The code has expired.', login(exchange(refused('code-expired')))],
      [
        'Refused at step 2: The code has expired. It was issued at step 1, 12 minutes earlier.',
        login(withCode(), exchange(refused('code-unknown', { atMs: 720_000 }))),
      ],
      [
        'Refused at step 2: The portal does not know this code.',
        login(withCode(), exchange(refused('code-unknown', { atMs: 75_500 }))),
      ],
      ['Refused at step 1: The portal does not know this code.', login(exchange(refused('code-unknown')))],
      [
        'Refused at step 2: The portal no longer knows the refresh token that it issued at step 1. Perhaps the token was replaced more than 100 renewals ago.',
        login(
          exchange({ answer: { access_token: 'a', refresh_token: 'first' }, status: 500 }),
          step('refresh', { body: { refresh_token: 'first' } }, refused('refresh-token-unknown')),
        ),
      ],
      [
        'Refused at step 1: The portal does not know this refresh token.',
        login(step('refresh', { body: { refresh_token: 'first' } }, refused('refresh-token-unknown'))),
      ],
      [
        'Refused at step 1: The Authorization header does not begin with Bearer.',
        login(step('api', { headers: { authorization: 'a' } }, refused('token-missing'))),
      ],
      [
        'Refused at step 1: The Authorization header does not begin with Bearer.',
        login(step('api', { headers: { authorization: 'Basic YTpi' } }, refused('token-missing'))),
      ],
      [
        'Refused at step 1: The Authorization header contains no token after Bearer.',
        login(step('api', { headers: { authorization: 'Bearer' } }, refused('token-missing'))),
      ],
      [
        'Refused at step 3: The code was already used at step 2.',
        login(exchange(refused('secret-wrong')), exchange({ status: 500 }), exchange(refused('code-used'))),
      ],
      [
        'Refused at step 1: The user does not have the right to do this.',
        login(step('api', {}, { method: 'POST', route: '/apps/v1', ...refused('not-allowed') })),
      ],
      [
        'Refused at step 1: The access token was sent in the address.',
        login(step('api', { query: { access_token: 'a' } }, refused('token-missing'))),
      ],
      [
        'Refused at step 1: The visitor is not a member of the group g-1.',
        login(create(refused('not-allowed', { status: 403 }))),
      ],
      [
        'Refused at step 1: groupId is missing.',
        login(create(refused('fields-invalid', { answer: { error: { message: { groupId: [missing] } } } }))),
      ],
      [
        'Refused at step 1: name is missing. iconUrl: Not a valid URL.',
        login(
          create(
            refused('fields-invalid', {
              answer: { error: { message: { name: [missing], iconUrl: ['Not a valid URL.'] } } },
            }),
          ),
        ),
      ],
    ]
    for (const [sentence, one] of rows) t.equal(verdict(one).sentence, sentence)
    const [, noGroup] = rows.at(-2)!
    t.match(verdict(noGroup).fix, /^Use the id of one of your groups/)
  },
)

t.test(
  'the verdict of a login does not contain the query of a URL, because the verdict is logged and a query may be secret',
  async t => {
    const { authorize } = steps()
    const rows: [received: string, registered: string, sentence: string][] = [
      [
        `${registered}?token=secret`,
        registered,
        'redirect_uri has another query, but the registered address has none.',
      ],
      [registered, `${registered}?token=secret`, 'redirect_uri has no query, but the registered address has one.'],
      [
        'https://elsewhere.test/?token=secret',
        `${registered}?token=secret`,
        `redirect_uri is https://elsewhere.test/?…, but the registered address is ${registered}?….`,
      ],
    ]
    for (const [received, expected, sentence] of rows) {
      const one = login(authorize(refused('redirect-uri-unregistered', { checks: uriCheck(received, expected) })))
      t.equal(verdict(one).sentence, `Refused at step 1: ${sentence}`)
    }
  },
)

t.test(
  'if a code was never exchanged, the verdict names a mix-up of two hosts as the cause only if the login began at a loopback host other than the callback’s',
  async t => {
    const begunAt = (referer: string) => {
      const authorize = { headers: { referer }, query: { client_id: 'app-1', state: 'a' } }
      return login(step('authorize', authorize, { location: `${registered}?code=1` }))
    }
    t.match(verdict(begunAt('http://127.0.0.1:3000/')), {
      sentence: /exchanged it. The login began at http:\/\/127.0.0.1:3000, and came back to http:\/\/localhost:3000\.$/,
      fix: /^Open the client at http:\/\/localhost:3000/,
    })
    t.match(verdict(begunAt('http://127.0.0.2:3000/')).fix, /register a redirect URI at http:\/\/127\.0\.0\.2:3000\./)
    for (const referer of ['http://localhost:3000/', 'https://elsewhere.test/', 'nothing', ''])
      t.match(
        verdict(begunAt(referer)),
        { sentence: /exchanged it\.$/, fix: /^Check which program answers at/ },
        referer,
      )
  },
)

t.test('the verdict names a fault as the cause of a failure only if the fault can cause this failure', async t => {
  const { authorize, withCode, exchange, api, refresh } = steps()
  const other = withCode({ fault: fault('redirect-state-other') })
  const rows: [faultName: string | undefined, sentence: RegExp, RecordedLogin][] = [
    [
      'redirect-state-other',
      /^Refused at step 2: .* The cause is the fault redirect-state-other at step 1\.$/,
      login(other, exchange(refused('state-differs'))),
    ],
    [undefined, /^Refused at step 2: The client_secret [^.]*\.$/, login(other, exchange(refused('secret-wrong')))],
    [
      undefined,
      /^Refused at step 2: The client_secret [^.]*\.$/,
      login(withCode(), exchange(refused('secret-wrong', { fault: fault('exchange-late') }))),
    ],
    [
      'exchange-late',
      /^Refused at step 2: The code has expired\. .* The cause is the fault exchange-late at step 2\.$/,
      login(withCode(), exchange(refused('code-expired', { fault: fault('exchange-late') }))),
    ],
    [
      undefined,
      /^Refused at step 2: The code has expired\.[^.]*\.[^.]*$/,
      login(withCode(), exchange(refused('code-expired', { fault: fault('exchange-late-after') }))),
    ],
    [
      'redirect-code-other',
      /^Refused at step 2: The portal does not know this code\. The cause is the fault redirect-code-other at step 1\.$/,
      login(withCode({ fault: fault('redirect-code-other') }), exchange(refused('code-unknown', { atMs: 720_000 }))),
    ],
    [
      'exchange-503',
      /the client has not continued after the fault exchange-503 at step 2/,
      login(withCode(), exchange({ status: 503, answer: {}, fault: fault('exchange-503') })),
    ],
    [
      'refresh-500-after',
      /at step 4: .* The cause is the fault refresh-500-after at step 3/,
      login(
        withCode(),
        exchange(),
        refresh({ status: 500, answer: {}, fault: fault('refresh-500-after') }),
        refresh(refused('refresh-token-used')),
      ),
    ],
    [
      undefined,
      /at the portal at step 2/,
      login(step('metadata', {}, { status: 503, fault: fault('metadata-503') }), authorize()),
    ],
    [
      undefined,
      /Refused at step 3: The access token is valid, but [^.]*\.$/,
      login(withCode(), exchange({ fault: fault('exchange-late') }), api(refused('token-of-another-kind'))),
    ],
    [
      'list-503',
      /^Signed in at step 2. There was the fault list-503 at step 3\.$/,
      login(withCode(), exchange(), api({ status: 503, fault: fault('list-503') })),
    ],
  ]
  for (const [name, sentence, one] of rows) {
    const found = verdict(one)
    t.match(found.sentence, sentence)
    t.equal(found.faulted?.fault?.name, name, found.sentence)
  }
})

t.test('after a fault in the redirect, the verdict asks only for a check that the client could make', async t => {
  const { withCode, exchange } = steps()
  const fixAfter = (name: string, reason: More['reason'], options = {}) =>
    verdict(login(withCode({ fault: fault(name, options) }), exchange(refused(reason)))).fix
  t.match(fixAfter('redirect-state-other', 'state-differs'), /^Check error, state, iss and client_id/)
  t.match(fixAfter('redirect-client-id-other', 'client-unknown'), /^Check error, state, iss and client_id/)
  t.match(fixAfter('redirect-code-other', 'code-unknown'), /^A client cannot know that the code .* is wrong/)
  t.match(fixAfter('redirect-code-missing', 'field-missing'), /^Compare the required fields/)
  const [state, code] = [{ name: 'state' }, { name: 'code' }]
  t.match(fixAfter('redirect-parameter-other', 'state-differs', state), /^Check error, state, iss and client_id/)
  t.match(fixAfter('redirect-parameter-other', 'code-unknown', code), /^A client cannot know that the code .* is wrong/)
})

t.test(
  'three logins of one browser within a minute, without an API call between them, count as a possible loop',
  async t => {
    const session = random()
    const times = [0, 3_000, 6_000, 9_000, 12_000]
    const complete = (atMs: number, more: { session?: string } = {}) => {
      const { withCode, exchange } = steps({ session, atMs, ...more })
      return login(withCode(), exchange())
    }
    const loop = times.map(atMs => complete(atMs))
    for (const one of loop) {
      const found = verdict(one, { others: loop.filter(other => other !== one) })
      t.match(found, { status: 'signed in, possibly in a loop', outcome: 'signed in', isLoop: true })
      t.match(
        found.sentence,
        /^Signed in at step 2. This login is one of 5 logins in one browser, and the client made no call between them/,
      )
      t.match(
        found.causes.map(({ cause }) => cause),
        [/Strict/, /Secure/, /127\.0\.0\.1/, /too large/, /keys/],
      )
      for (const { check } of found.causes) t.match(check, /^(Look|Compare|Measure|Check)/)
    }
    const used = (atMs: number) => {
      const { withCode, exchange, api } = steps({ session, atMs })
      return login(withCode(), exchange(), api())
    }
    const signedOut = (atMs: number) => {
      const { withCode, exchange, revoke } = steps({ session, atMs })
      return login(withCode(), exchange(), revoke())
    }
    const unfinished = (atMs: number) => login(steps({ session, atMs }).withCode())
    const faulted = (atMs: number) => {
      const { withCode, exchange } = steps({ session, atMs })
      return login(withCode(), exchange({ fault: fault('exchange-state-other') }))
    }
    const asking = [0, 3_000, 6_000].map(atMs => {
      const { withCode, exchange } = steps({ session, atMs })
      return login(withCode(), exchange(), step('me', {}, { atMs: atMs + 1_100 }))
    })
    const asked = verdict(asking[0]!, { others: asking.slice(1) })
    t.equal(asked.isLoop, true, 'a client that asks at its callback who signed in')
    const innocent: Record<string, RecordedLogin[]> = {
      'two logins': [0, 3_000].map(atMs => complete(atMs)),
      'a visitor who uses the client each time': [0, 20_000, 40_000].map(used),
      'a visitor who signs out and signs in again, three times': [0, 20_000, 40_000].map(signedOut),
      'a call between them': [complete(0), used(3_000), complete(6_000)],
      'three visitors': [0, 3_000, 6_000].map(atMs => complete(atMs, { session: random() })),
      'three logins within an hour': [0, 1_200_000, 2_400_000].map(atMs => complete(atMs)),
      'logins in which the portal issued no tokens': [0, 3_000, 6_000].map(unfinished),
      'answers with a fault, after which a client starts again': [0, 3_000, 6_000].map(faulted),
      'logins of three clients': [0, 3_000, 6_000].map((atMs, index) => ({
        ...complete(atMs),
        clientId: `app-${index}`,
      })),
    }
    for (const [name, logins] of Object.entries(innocent))
      for (const one of logins)
        t.equal(verdict(one, { others: logins.filter(other => other !== one) }).isLoop, false, name)
  },
)

t.test(
  'if a browser repeats logins in a loop, the list of logins and each login show the loop, in JSON and on the pages',
  async t => {
    const { sandbox, lab } = await buildTestLab(t)
    const browser = openBrowser(sandbox)
    const goRound = async () => {
      const state = random()
      const page = browser.cookies.size > 0 ? await browser.get(startUrl({ state })) : await signIn(browser, { state })
      const answer = page.statusCode === 303 ? page : await browser.submit(page, { decision: 'allow' })
      const code = new URL(locationOf(answer)).searchParams.get('code') ?? ''
      t.equal((await exchange(sandbox, { code, state })).statusCode, 200)
      sandbox.passTime(2_000)
    }
    const readLogins = async () => (await lab('GET', 'logins')).json().logins
    await goRound()
    await goRound()
    t.match(await readLogins(), [
      { status: 'signed in', isLoop: false },
      { status: 'signed in', isLoop: false },
    ])
    await goRound()
    const [newest, ...others] = await readLogins()
    t.equal(others.length, 2)
    t.match(newest, { status: 'signed in, possibly in a loop', isLoop: true, outcome: 'signed in' })
    t.match(newest.verdict, { sentence: /one of 3 logins in one browser/, causes: [{ cause: /Strict/ }] })
    const whole = (await lab('GET', `logins/${newest.id}`)).json()
    t.same(whole.verdict, newest.verdict)
    const oldest = (await lab('GET', `logins/${others.at(-1).id}`)).json()
    const noticed = oldest.noticed.map(({ id }: { id: string }) => id)
    t.notOk(noticed.includes('no-revocation'), 'a client that has lost its session could not revoke the tokens')
    const read = async (url: string) => (await sandbox.lab!.inject({ url, headers: { host: '127.0.0.1:4002' } })).body
    for (const page of [await read('/'), await read(`/logins/${newest.id}`)])
      t.match(page, 'one of 3 logins in one browser')
    t.match(await read(`/logins/${newest.id}`), 'Compare the address that you open with the redirect URI')
  },
)

t.test('the page of a login shows first the verdict, then the evidence, and last the notices', async t => {
  const { sandbox, lab } = await buildTestLab(t)
  await exchange(sandbox, { code: (await logIn(sandbox, { state: 'k7Rq' })).get('code') ?? '', state: 'another' })
  const [login] = (await lab('GET', 'logins')).json().logins
  t.match(login.verdict, {
    sentence: /^Refused at step 5: The state of the exchange differs/,
    fix: /^Keep the state/,
    step: { number: 5, url: `${login.url}#step-5` },
  })
  const headers = { host: '127.0.0.1:4002' }
  const page = (await sandbox.lab!.inject({ url: `/logins/${login.id}`, headers })).body
  const places = ['Refused at <a href="#step-5">step 5</a>', 'What happened', 'What we noticed'].map(one =>
    page.indexOf(one),
  )
  t.ok(!places.includes(-1), String(places))
  t.same(
    places,
    places.toSorted((one, other) => one - other),
  )
  t.match(page, /<summary>Errors: 1<\/summary>.*<summary>Warnings: 2<\/summary>/s)
  const list = (await sandbox.lab!.inject({ url: '/', headers })).body
  t.match(list, `Refused at <a href="/logins/${login.id}#step-5">step 5</a>`)
  t.match(list, /<summary><bdi>[^<]+<\/bdi>: 1 error, 2 warnings<\/summary>/)
})

t.test(
  'the page of a login marks the characters in which a redirect URI differs from the registered one, and breaks no line within a word of the URI',
  async t => {
    const { sandbox } = await buildTestLab(t)
    const read = async (url: string) => (await sandbox.lab!.inject({ url, headers: { host: '127.0.0.1:4002' } })).body
    const sent = seeded.redirectUri.replace('exchangeToken', 'exchangetoken')
    await sandbox.portal.inject(startUrl({ redirect_uri: sent }))
    const [, path] = /href="(\/logins\/[^"#]+)"/.exec(await read('/')) ?? []
    const page = await read(path!)
    t.match(page, /exchange<mark>T<\/mark>oken/)
    t.match(page, /exchange<mark>t<\/mark>oken/)
    t.match(page, 'http:<wbr>/<wbr>/<wbr>localhost:<wbr>')
  },
)

t.test(
  'if an application has many redirect URIs, the laboratory shows each of them, and names each origin once',
  async t => {
    const redirectUris = Array.from(
      { length: 12 },
      (_, index) => `http://localhost:3000/applications/${index}/exchangeToken`,
    )
    redirectUris.push('https://client.example.test/cb')
    const { sandbox, lab } = await buildTestLab(t, { redirectUris })
    await sandbox.portal.inject(startUrl({ redirect_uri: `${redirectUris[11]}/` }))
    await sandbox.portal.inject(
      startUrl({ redirect_uri: redirectUris[0]!, cancel_url: 'http://localhost:4000/', state: 'b' }),
    )
    const { logins } = (await lab('GET', 'logins')).json()
    const sentences = logins.map(({ verdict }: { verdict: { sentence: string } }) => verdict.sentence)
    t.same(sentences, [
      'Refused at step 1: cancel_url is http://localhost:4000/, which is not an address at http://localhost:3000 or https://client.example.test.',
      'Refused at step 1: redirect_uri ends with /, but the registered address does not.',
    ])
    const { steps } = (await lab('GET', `logins/${logins[1].id}`)).json()
    t.match(steps[0], { checks: [{ expected: redirectUris }], isShortened: false })
    const page = await sandbox.lab!.inject({ url: `/logins/${logins[1].id}`, headers: { host: '127.0.0.1:4002' } })
    const text = page.body.replaceAll('<wbr>', '')
    for (const uri of redirectUris) t.match(text, uri)
  },
)

t.test('for a wrong redirect URI, the verdict names the difference from the most similar registered URI', async t => {
  const registered = [
    'https://localhost:3000/exchangeToken',
    'http://localhost:3000/exchangeToken',
    'https://other.test/',
  ]
  t.equal(nearestOf(registered, 'http://localhost:3000/exchangeToken/'), 'http://localhost:3000/exchangeToken')
  t.equal(nearestOf(registered, 'https://localhost:3001/exchangeToken'), 'https://localhost:3000/exchangeToken')
  t.equal(nearestOf(registered, 'https://other.test'), 'https://other.test/')
  const parts = splitAtDifference('/cb/', '/cb').map(({ words, isDifferent }) => [words.join(''), isDifferent])
  t.same(parts, [
    ['/cb', false],
    ['/', true],
  ])
})

t.test('a login without a new step counts as abandoned after two minutes of the sandbox’s clock', async t => {
  const { sandbox, lab } = await buildTestLab(t)
  await sandbox.portal.inject(startUrl())
  const read = async () => (await lab('GET', 'logins')).json().logins[0].outcome
  t.equal(await read(), 'under way')
  sandbox.passTime(121_000)
  t.equal(await read(), 'abandoned')
})

t.test('the log names a refused call once, however many calls follow', async t => {
  const { sandbox } = await buildTestLab(t)
  const headers = { authorization: `Bearer ${(await getTokens(sandbox)).access_token}` }
  await sandbox.api.inject({ url: `/apps/v1/${randomUUID()}`, headers })
  for (let count = 0; count < 80; count++) await sandbox.api.inject({ url: '/apps/v1', headers })
  const verdicts = sandbox.logLines.filter(line => line.includes('"lab-verdict"'))
  t.equal(verdicts.length, 1)
  const { requestId } = JSON.parse(verdicts[0]!)
  t.type(requestId, 'string')
  const isOfRequest = (line: string) => JSON.parse(line).requestId === requestId && !line.includes('"lab-verdict"')
  t.ok(sandbox.logLines.some(isOfRequest), 'the verdict and the lines about the request have the same field requestId')
})

t.test(
  'if a request with a wrong redirect URI was refused for another reason, the verdict names this reason',
  async t => {
    const { authorize, withCode, exchange } = steps()
    const twice = login(authorize(refused('field-repeated', { checks: uriCheck(undefined) })))
    t.match(verdict(twice).sentence, /^Refused at step 1: .*more than once/)
    const again = exchange(refused('code-used', { checks: uriCheck(`${registered}/`) }))
    const sentence = /Refused at step 3: The code was already used at step 2\.$/
    t.match(verdict(login(withCode(), exchange(), again)).sentence, sentence)
  },
)
