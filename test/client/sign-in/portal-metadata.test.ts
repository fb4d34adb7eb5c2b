// The portal's metadata document (RFC 8414) turns on PKCE and the issuer check. The client never uses an address from
// the document.
import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import { timed } from '../../support/stopwatch.ts'
import { beginLogin, buildTestClient, callbackUrl, signIn } from '../support/build-test-client.ts'
import { holdAnswer } from '../support/hold-answer.ts'
import { setCookieLine } from '../support/read-response.ts'
import { type Script, send } from '../support/scripted-platform.ts'

const route = 'GET /.well-known/oauth-authorization-server'

/** Makes a metadata document with the portal's issuer and these fields. */
function documentWith(more: Record<string, unknown>): Script {
  return ({ headers }, response) => send(response, { body: { issuer: `http://${headers.host}`, ...more } })
}

const withPkce = documentWith({ code_challenge_methods_supported: ['plain', 'S256'] })

/** Builds a client and begins its first login. When the login begins, the client has read the metadata document. */
async function buildWith(t: Test, document: Script) {
  const test = await buildTestClient(t, { scripts: { [route]: document } })
  const started = await beginLogin(test.browser)
  return { ...test, started }
}

t.test('CL-22: if the portal lists S256, a login sends a challenge and the exchange sends its verifier', async t => {
  const { browser, platform, started, log } = await buildWith(t, withPkce)
  t.match(started.get('code_challenge'), /^[\w-]{43}$/)
  t.same(started.getAll('code_challenge_method'), ['S256'])
  t.equal([...started].length, 8)
  const response = await browser.get(callbackUrl(started), { site: 'cross-site' })
  t.equal(response.statusCode, 200)
  const { form } = platform.received('POST /api/exchangeToken')[0]!
  const verifier = form.get('code_verifier')!
  t.match(verifier, /^[\w.~-]{43,128}$/)
  t.equal(createHash('sha256').update(verifier).digest('base64url'), started.get('code_challenge'))
  t.equal([...form].length, 7)
  t.notMatch(log.join('') + response.body + JSON.stringify(response.headers), verifier)
  t.notOk(platform.received().some(({ url }) => url.includes(verifier)))
})

t.test(
  'CL-22: every login has its own verifier, even if a visitor begins two logins at the same time, in two tabs',
  async t => {
    const { browser, platform, started } = await buildWith(t, withPkce)
    const other = await beginLogin(browser)
    t.not(other.get('code_challenge'), started.get('code_challenge'))
    for (const login of [other, started]) {
      t.equal((await browser.get(callbackUrl(login), { site: 'cross-site' })).statusCode, 200)
      const verifier = platform.received('POST /api/exchangeToken').at(-1)!.form.get('code_verifier')!
      t.equal(createHash('sha256').update(verifier).digest('base64url'), login.get('code_challenge'))
    }
  },
)

t.test('CL-22: the verifier is in the sealed login cookie', async t => {
  const { browser, platform, started } = await buildWith(t, withPkce)
  const value = browser.cookie(`__Host-login-${started.get('state')}`)!
  await browser.get(callbackUrl(started), { site: 'cross-site' })
  const verifier = platform.received('POST /api/exchangeToken')[0]!.form.get('code_verifier')!
  t.notMatch(value, verifier)
  t.notOk(Buffer.from(value, 'base64url').includes(Buffer.from(verifier, 'base64url')))
  t.notOk(Buffer.from(value, 'base64url').includes(verifier))
})

const withoutPkce: Record<string, Script> = {
  'there is no metadata document': { status: 404, body: {} },
  'the metadata document is HTML': { headers: { 'content-type': 'text/html' }, body: '<html></html>' },
  'the metadata document is not JSON': { body: '{' },
  'the metadata document is null': { body: 'null' },
  'the metadata document is a list': { body: [] },
  'the metadata document is empty': { body: {} },
  'the metadata document names no issuer': { body: { code_challenge_methods_supported: ['S256'] } },
  'the metadata document names another issuer': {
    body: { issuer: 'https://evil.test', code_challenge_methods_supported: ['S256'] },
  },
  'the metadata document lists only plain': documentWith({ code_challenge_methods_supported: ['plain'] }),
  'the metadata document lists S256 as a string': documentWith({ code_challenge_methods_supported: 'S256' }),
  'the metadata document is too long': documentWith({
    code_challenge_methods_supported: ['S256'],
    more: 'x'.repeat(65 * 1024),
  }),
  'the metadata document is a redirect': { status: 302, headers: { location: '/elsewhere' }, body: {} },
  'a complete document comes with status 404': ({ headers }, response) => {
    const body = { issuer: `http://${headers.host}`, code_challenge_methods_supported: ['S256'] }
    send(response, { status: 404, body })
  },
  'the portal answers with status 500': { status: 500, body: {} },
  'the connection drops': (_request, response) => response.destroy(),
}

for (const [what, document] of Object.entries(withoutPkce)) {
  t.test(`no-extra-fields: if ${what}, the requests contain exactly the fields that the platform defines`, async t => {
    const { browser, platform, started } = await buildWith(t, document)
    t.same([...started.keys()].toSorted(), [
      'cancel_url',
      'client_id',
      'grant_type',
      'redirect_uri',
      'response_type',
      'state',
    ])
    t.equal((await browser.get(callbackUrl(started), { site: 'cross-site' })).statusCode, 200)
    const [exchange] = platform.received('POST /api/exchangeToken')
    t.same([...exchange!.form.keys()].toSorted(), [
      'client_id',
      'client_secret',
      'code',
      'grant_type',
      'redirect_uri',
      'state',
    ])
  })
}

t.test(
  'metadata-optional: a login waits at most one second for the metadata document, and then continues without the document',
  async t => {
    const never: Script = () => new Promise(() => {})
    const { browser } = await buildTestClient(t, { scripts: { [route]: never } })
    const [started, took] = await timed(beginLogin(browser))
    t.ok(took.own < 2, `${took.own} s`)
    t.equal(started.get('code_challenge'), null)
    t.equal((await browser.get(callbackUrl(started), { site: 'cross-site' })).statusCode, 200)
  },
)

t.test(
  'metadata-remembered: a login that began with PKCE sends its verifier, even if the metadata document no longer exists',
  async t => {
    const { browser, platform, clock, started } = await buildWith(t, withPkce)
    platform.answer(route, { status: 404, body: {} })
    clock.advance(9 * 60)
    await browser.get(callbackUrl(started), { site: 'cross-site' })
    t.ok(platform.received('POST /api/exchangeToken')[0]!.form.get('code_verifier'))
  },
)

t.test(
  'metadata-kept: the client reads the metadata document when it starts, and keeps the document for an hour',
  async t => {
    const { browser, platform, clock } = await buildTestClient(t, { scripts: { [route]: withPkce } })
    for (let login = 0; login < 20; login++) await beginLogin(browser)
    t.equal(platform.received(route).length, 1)
    clock.advance(59 * 60)
    await beginLogin(browser)
    t.equal(platform.received(route).length, 1)
    platform.answer(route, documentWith({}))
    clock.advance(2 * 60)
    t.equal(
      (await beginLogin(browser)).get('code_challenge'),
      null,
      'when the portal no longer lists PKCE, the client must not send a challenge',
    )
    t.equal(platform.received(route).length, 2)
  },
)

const {
  'the metadata document lists only plain': _1,
  'the metadata document lists S256 as a string': _2,
  ...unreadable
} = withoutPkce

for (const [what, document] of Object.entries(unreadable)) {
  t.test(
    `metadata-remembered: if ${what}, the client uses the last valid document and soon tries to read the document again`,
    async t => {
      const offer = {
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
        revocation_endpoint: 'listed',
      }
      const { browser, platform, clock } = await buildWith(t, documentWith(offer))
      platform.answer('POST /api/revokeToken', { body: {} })
      platform.answer(route, document)
      clock.advance(61 * 60)
      const started = await beginLogin(browser)
      t.ok(started.get('code_challenge'))
      t.equal(
        (await browser.get(callbackUrl(started), { site: 'cross-site' })).statusCode,
        400,
        'a callback without iss must be refused',
      )
      const again = await beginLogin(browser)
      t.equal((await browser.get(callbackUrl(again, { iss: platform.url }), { site: 'cross-site' })).statusCode, 200)
      await browser.post('/logout')
      t.equal(platform.received('POST /api/revokeToken').length, 1)
      const reads = platform.received(route).length
      t.ok(reads <= 3, 'the metadata document must not be read at every login')
      platform.answer(route, documentWith({}))
      clock.advance(31)
      t.equal((await beginLogin(browser)).get('code_challenge'), null)
    },
  )
}

t.test(
  'CL-23: if a process has not read the metadata document yet, it reads the document before it accepts a callback without iss',
  async t => {
    const announced = documentWith({ authorization_response_iss_parameter_supported: true })
    const { browser, platform, clock, config, started } = await buildWith(t, announced)
    platform.answer(route, { status: 502, body: {} })
    const environment = { COOKIE_KEYS: config.cookieKeys[0]!.reveal() }
    const { client } = await buildTestClient(t, { platform, clock, environment })
    // This login waits until the client has read the document.
    await client.inject('/login')
    platform.answer(route, announced)
    browser.server = client
    t.equal((await browser.get(callbackUrl(started), { site: 'cross-site' })).statusCode, 400)
    t.equal(platform.received('POST /api/exchangeToken').length, 0)
  },
)

const failing: Record<string, [document: Script, logged: { reason: string; cause: unknown }]> = {
  'answers with status 500': [
    { status: 500, body: {} },
    { reason: 'portal_failed', cause: 'status 500' },
  ],
  'is busy': [
    { status: 503, body: {} },
    { reason: 'portal_busy', cause: 'status 503' },
  ],
  'answers with status 429': [
    { status: 429, body: {} },
    { reason: 'portal_busy', cause: 'status 429' },
  ],
  'drops the connection': [
    (_request, response) => response.destroy(),
    { reason: 'portal_unreachable', cause: { code: 'UND_ERR_SOCKET' } },
  ],
  'does not answer': [() => new Promise(() => {}), { reason: 'portal_timeout', cause: { name: 'TimeoutError' } }],
}

for (const [what, [document, logged]] of Object.entries(failing)) {
  t.test(
    `metadata-kept: if the portal ${what} while the client starts, the client reads the metadata again at the next login and at the next sign-out`,
    async t => {
      const { browser, platform, started } = await buildWith(t, document)
      t.equal(started.get('code_challenge'), null)
      platform.answer(
        route,
        documentWith({ code_challenge_methods_supported: ['S256'], revocation_endpoint: 'listed' }),
      )
      platform.answer('POST /api/revokeToken', { body: {} })
      t.ok(
        (await beginLogin(browser.copy())).get('code_challenge'),
        'the client must read the metadata at the next login, although no time has passed',
      )

      platform.answer(route, document)
      await signIn(browser)
      await browser.post('/logout')
      t.equal(platform.received('POST /api/revokeToken').length, 1)
    },
  )

  t.test(
    `metadata-kept: if the portal ${what} while the client reads the metadata document, the log says so`,
    async t => {
      const { log, clock, browser, platform } = await buildWith(t, document)
      const lines = () => log.map(line => JSON.parse(line)).filter(({ event }) => event === 'portal_metadata_unread')
      t.ok(lines().length > 0)
      t.match(lines()[0], { level: 40, reqId: 'start', ...logged })

      platform.answer(route, withPkce)
      await beginLogin(browser)
      const before = lines().length
      platform.answer(route, document)
      clock.advance(61 * 60)
      await beginLogin(browser)
      t.equal(lines().length, before + 1, 'the log must have one line for each failed read')
      t.match(lines().at(-1), { level: 40, ...logged })
    },
  )
}

t.test(
  'metadata-kept: if the client could not read the metadata document when it started, and again during a login, it tries once more when a visitor signs out',
  async t => {
    const { browser, platform } = await buildWith(t, { status: 503, body: {} })
    await signIn(browser)
    platform.answer(route, documentWith({ revocation_endpoint: 'listed' }))
    platform.answer('POST /api/revokeToken', { body: {} })
    await browser.post('/logout')
    t.equal(platform.received('POST /api/revokeToken').length, 1)
  },
)

for (const [what, known, document] of [
  ['the client has read the document before, and the portal is down', withPkce, { status: 503, body: {} }],
  ['the portal has no document', { status: 404, body: {} }, { status: 404, body: {} }],
] as const) {
  t.test(
    `metadata-kept: if ${what}, the client waits 30 seconds between two attempts to read the document`,
    async t => {
      const { browser, platform, clock } = await buildWith(t, known)
      platform.answer(route, document)
      clock.advance(61 * 60)
      const before = platform.received(route).length
      for (const seconds of [0, 29]) {
        clock.advance(seconds)
        await beginLogin(browser)
        t.equal(platform.received(route).length, before + 1)
      }
      clock.advance(1)
      await beginLogin(browser)
      t.equal(platform.received(route).length, before + 2)
    },
  )
}

t.test('metadata-kept: simultaneous logins read the metadata document only once', async t => {
  const { browser, platform } = await buildWith(t, { status: 503, body: {} })
  const { script, asked, release } = holdAnswer(withPkce)
  platform.answer(route, script)
  const before = platform.received(route).length
  const logins = Array.from({ length: 20 }, () => beginLogin(browser.copy()))
  await Promise.race([asked, ...logins])
  release()
  for (const login of await Promise.all(logins)) t.ok(login.get('code_challenge'))
  t.equal(platform.received(route).length, before + 1)
})

t.test(
  'metadata-optional: if the portal has no metadata document, the log has no warning, and the client asks only once for several logins',
  async t => {
    const { browser, platform, log, clock } = await buildWith(t, { status: 404, body: {} })
    for (let login = 0; login < 5; login++) await beginLogin(browser)
    t.equal(platform.received(route).length, 1)
    const lines = () => log.map(line => JSON.parse(line)).filter(({ event }) => event === 'portal_metadata_unread')
    t.match(lines(), [{ level: 30, cause: 'status 404' }])
    platform.answer(route, withPkce)
    clock.advance(31)
    t.ok((await beginLogin(browser)).get('code_challenge'))
    platform.answer(route, { status: 404, body: {} })
    clock.advance(61 * 60)
    await beginLogin(browser)
    t.match(
      lines().at(-1),
      { level: 40, cause: 'status 404' },
      'the log must have a warning if the document has disappeared',
    )
  },
)

t.test('CL-04: if the state of a callback is unknown, the client does not even read the metadata document', async t => {
  const { browser, platform, clock, started } = await buildWith(t, withPkce)
  clock.advance(61 * 60)
  const before = platform.received().length
  t.equal((await browser.get(callbackUrl(started, { state: 'x'.repeat(27) }))).statusCode, 400)
  t.equal(platform.received().length, before)
})

t.test('UP-01: the client never uses addresses from the metadata document', async t => {
  const evil = 'http://127.0.0.1:1/evil'
  const { platform, started, browser } = await buildWith(
    t,
    documentWith({
      authorization_endpoint: evil,
      token_endpoint: evil,
      revocation_endpoint: evil,
      jwks_uri: evil,
      code_challenge_methods_supported: ['S256'],
    }),
  )
  t.equal((await browser.get(callbackUrl(started), { site: 'cross-site' })).statusCode, 200)
  const again = await browser.get('/login')
  t.match(again.headers.location, new RegExp(`^${platform.url}/\\?`))
})

for (const [iss, status] of [
  ['https://evil.test', 400],
  ['the portal', 200],
  [undefined, 200],
] as const) {
  t.test(
    `CL-23: if the metadata document does not announce iss, a callback whose iss is ${iss ?? 'missing'} gets a ${status} answer`,
    async t => {
      const { browser, platform, started } = await buildWith(t, documentWith({}))
      const change = { iss: iss === 'the portal' ? platform.url : iss }
      const response = await browser.get(callbackUrl(started, change), { site: 'cross-site' })
      t.equal(response.statusCode, status)
      t.equal(platform.received('POST /api/exchangeToken').length, status === 200 ? 1 : 0)
      t.equal(Boolean(setCookieLine(response, '__Host-session=')), status === 200)
    },
  )
}

for (const [iss, status] of [
  ['https://evil.test', 400],
  ['the portal', 200],
  ['', 400],
  [undefined, 400],
] as const) {
  t.test(
    `CL-23: if the metadata document announces iss, a callback whose iss is ${iss ?? 'missing'} gets a ${status} answer`,
    async t => {
      const announced = documentWith({ authorization_response_iss_parameter_supported: true })
      const { browser, platform, started } = await buildWith(t, announced)
      const change = { iss: iss === 'the portal' ? platform.url : iss }
      const response = await browser.get(callbackUrl(started, change), { site: 'cross-site' })
      t.equal(response.statusCode, status)
      t.equal(platform.received('POST /api/exchangeToken').length, status === 200 ? 1 : 0)
    },
  )
}

t.test('CL-23: a callback with an error and the iss of another server is refused', async t => {
  const { browser, started } = await buildWith(t, documentWith({}))
  const change = {
    code: undefined,
    error: 'server_error',
    error_description: 'call 555-1234',
    iss: 'https://evil.test',
  }
  const response = await browser.get(callbackUrl(started, change), { site: 'cross-site' })
  t.equal(response.statusCode, 400)
  t.notMatch(response.body, '555-1234')
})

t.test('if the portal has no metadata document, visitors can sign in', async t => {
  const { browser } = await buildTestClient(t)
  t.equal((await signIn(browser)).statusCode, 200)
})
