// The exchange, from server to server: the exact request, and the answers that the client accepts.

import t, { type Test } from 'tap'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import {
  beginLogin,
  buildTestClient,
  callbackUrl,
  clientId,
  clientSecret,
  signIn,
} from '../support/build-test-client.ts'
import { setCookieLine } from '../support/read-response.ts'
import { accessTokenOf, send, tokenAnswer } from '../support/scripted-platform.ts'

t.test(
  'CL-14: the exchange is one POST of a form with exactly six fields, and the client secret is only in the body',
  async t => {
    const { browser, platform } = await buildTestClient(t)
    const started = await beginLogin(browser)
    await browser.get(callbackUrl(started), { site: 'cross-site' })
    const [exchange, ...others] = platform.received('POST /api/exchangeToken')
    t.same(others, [])
    t.equal(exchange!.url, '/api/exchangeToken')
    t.match(exchange!.headers['content-type'], /^application\/x-www-form-urlencoded(;|$)/)
    t.equal(exchange!.headers.authorization, undefined)
    t.equal(exchange!.headers.cookie, undefined)
    t.same(Object.fromEntries(exchange!.form), {
      grant_type: 'authorization_code',
      code: 'Code0123456789Code0123456789ab',
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uri: 'http://localhost:3000/exchangeToken',
      state: started.get('state'),
    })
    t.equal([...exchange!.form].length, 6)
    t.notMatch(JSON.stringify(exchange!.headers), clientSecret)
  },
)

t.test('CL-15: if a code looks like several form fields, the client sends it as one field', async t => {
  const { browser, platform } = await buildTestClient(t)
  const started = await beginLogin(browser)
  const code = 'a&client_id=evil&x=%26+b;c=d#'
  await browser.get(callbackUrl(started, { code }), { site: 'cross-site' })
  const { form } = platform.received('POST /api/exchangeToken')[0]!
  t.same(form.getAll('client_id'), [clientId])
  t.same(form.getAll('code'), [code])
  t.equal([...form].length, 6)
})

t.test('CL-15: a code that looks like header lines is refused', async t => {
  const { browser, platform } = await buildTestClient(t)
  const started = await beginLogin(browser)
  const code = 'a&client_id=evil&x=\r\nHost:evil'
  t.equal((await browser.get(callbackUrl(started, { code }), { site: 'cross-site' })).statusCode, 400)
  t.equal(platform.received('POST /api/exchangeToken').length, 0)
})

const one = await buildTestClient(t, { scripts: { 'GET /things': { body: ['first thing'] } } })

/**
 * Signs a new visitor in. If `answer` is a string, it is the whole body of the portal's answer to the exchange. If
 * `answer` is an object, it replaces some fields of the body.
 */
async function loginAnswered(answer: Record<string, unknown> | string) {
  const { platform, clock, log } = one
  const browser = one.browser.copy()
  platform.answer('POST /api/exchangeToken', (request, response) =>
    send(response, { body: typeof answer === 'string' ? answer : tokenAnswer(request, answer) }),
  )
  return { browser, platform, clock, log, response: await signIn(browser) }
}

async function fails(t: Test, answer: Record<string, unknown> | string) {
  const { response, browser, log } = await loginAnswered(answer)
  t.equal(response.statusCode, 502)
  t.match(response.headers['content-type'], 'text/html')
  t.match(response.body, upstreamTexts.portal.unexpected)
  t.equal(setCookieLine(response, '__Host-session'), undefined)
  t.equal(setCookieLine(response, '__Host-refresh'), undefined)
  t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 302)
  t.notMatch(log.join(''), '"event":"internal"')
}

for (const [what, state] of Object.entries({
  'another state': 'x'.repeat(27),
  'an empty state': '',
  'a list as its state': ['x'],
  'null as its state': null,
  'no state': undefined,
})) {
  t.test(`CL-17: a token response with ${what} does not begin a session`, async t => {
    await fails(t, { state })
  })
}

t.test(
  'CL-17: if the state in a token response is a list that contains the right state, the client does not begin a session',
  async t => {
    const { browser, platform } = await buildTestClient(t)
    platform.answer('POST /api/exchangeToken', (request, response) =>
      send(response, { body: tokenAnswer(request, { state: [request.form.get('state')] }) }),
    )
    t.equal((await signIn(browser)).statusCode, 502)
    t.equal(browser.cookie('__Host-session'), undefined)
  },
)

for (const token_type of ['Bearer', 'bearer', 'BEARER']) {
  t.test(`CL-18: a token response with the token_type ${token_type} signs the visitor in`, async t => {
    const { browser, platform } = await loginAnswered({ token_type })
    t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
    t.equal(platform.received('GET /things').at(-1)?.headers.authorization, `Bearer ${accessTokenOf('visitor-1')}`)
  })
}

t.test(
  'CL-18: the client ignores fields that the platform does not define, whatever values these fields have',
  async t => {
    const more = { scope: '', id_token: 'x', nested: { list: [1, { deep: null }] }, expires_at: 'never' }
    const { response } = await loginAnswered(more)
    t.equal(response.statusCode, 200)
  },
)

t.test('CL-18: in a token response, the fields of nested objects can have any names', async t => {
  const { response } = await loginAnswered({ extra: { state: 'x', access_token: 'y', list: [{ expires_in: 1 }] } })
  t.equal(response.statusCode, 200)
})

for (const token_type of ['mac', 'Bearer ', '', null, 7, undefined]) {
  t.test(
    `CL-18: a token response with the token_type ${JSON.stringify(token_type)} does not begin a session`,
    async t => {
      await fails(t, { token_type })
    },
  )
}

for (const access_token of ['', 123, 'a b', 'a\r\nX: y', 'é', 'a\u0000', null, ['a'], {}, undefined]) {
  t.test(
    `CL-18: a token response with the access_token ${JSON.stringify(access_token)} does not begin a session`,
    async t => {
      await fails(t, { access_token })
    },
  )
}

for (const refresh_token of ['a|b', 'a b', '{"part":"1"}&x=y', '~ !'])
  t.test(
    `RF-01: the client sends the refresh token ${refresh_token} unchanged, because a refresh token can contain any printable ASCII character`,
    async t => {
      const { browser, clock, platform, response } = await loginAnswered({ refresh_token })
      t.equal(response.statusCode, 200)
      clock.advance(3601)
      t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
      t.equal(platform.received('POST /api/exchangeToken').at(-1)?.form.get('refresh_token'), refresh_token)
    },
  )

t.test(
  'refresh-token-optional: if the refresh token in a token response is null, there is no refresh token',
  async t => {
    const { browser, response } = await loginAnswered({ refresh_token: null })
    t.equal(response.statusCode, 200)
    t.ok(setCookieLine(response, '__Host-session='))
    t.notOk(browser.names().some(name => name.startsWith('__Host-refresh-')))
  },
)

for (const refresh_token of [7, '', 'a\r\nX: y', 'é', {}]) {
  t.test(
    `CL-18: a token response with the refresh_token ${JSON.stringify(refresh_token)} does not begin a session`,
    async t => {
      await fails(t, { refresh_token })
    },
  )
}

for (const body of ['null', '[]', '"x"', '7', '', '{', '<html></html>', '{"access_token":"a"}']) {
  t.test(`CL-18: a token response with the body ${JSON.stringify(body)} does not begin a session`, async t => {
    await fails(t, body)
  })
}

const doubled = { access_token: '"other"', state: '"x"', expires_in: '9', token_type: '"mac"' }

for (const [name, value] of Object.entries(doubled)) {
  for (const place of ['first', 'last']) {
    t.test(
      `doubled-names: if a token response has ${name} twice, and the wrong value comes ${place}, the last value counts, as in JSON.parse`,
      async t => {
        const { browser, platform } = await buildTestClient(t, { scripts: { 'GET /things': { body: [] } } })
        platform.answer('POST /api/exchangeToken', (request, response) => {
          const good = JSON.stringify(tokenAnswer(request)).slice(1, -1)
          const other = `"${name}":${value}`
          send(response, { body: place === 'first' ? `{${other},${good}}` : `{${good},${other}}` })
        })
        const response = await signIn(browser)
        const isRefused = place === 'last' && ['state', 'token_type'].includes(name)
        t.equal(response.statusCode, isRefused ? 502 : 200)
        if (isRefused) return t.equal(setCookieLine(response, '__Host-session'), undefined)
        const isOther = (counts: string) => place === 'last' && name === counts
        t.match(setCookieLine(response, '__Host-session='), `Max-Age=${isOther('expires_in') ? 9 : 3600};`)
        await browser.get('/page', { site: 'same-origin' })
        const token = isOther('access_token') ? 'other' : accessTokenOf('visitor-1')
        t.equal(platform.received('GET /things')[0]?.headers.authorization, `Bearer ${token}`)
      },
    )
  }
}

t.test(
  'token-is-opaque: if the access token is not a JWT, the visitor is signed in, and the client sends the token to the API',
  async t => {
    const { browser, response, platform } = await loginAnswered({ access_token: 'opaque-access-token' })
    t.equal(response.statusCode, 200)
    t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
    t.equal(platform.received('GET /things').at(-1)?.headers.authorization, 'Bearer opaque-access-token')
  },
)

for (const [sent, kept] of [
  [3600, 3600],
  [1, 1],
  [0.4, 1],
  [3600.9, 3600],
  [90 * 24 * 3600, 90 * 24 * 3600],
  // Browsers keep a cookie for at most 400 days.
  [1e9, 400 * 24 * 3600],
  [1e300, 400 * 24 * 3600],
] as const) {
  t.test(`CL-19: the expires_in ${sent} of a token response becomes Max-Age=${kept} of the session cookie`, async t => {
    const { response } = await loginAnswered({ expires_in: sent })
    t.equal(response.statusCode, 200)
    t.match(setCookieLine(response, '__Host-session='), new RegExp(`; Max-Age=${kept};`))
  })
}

for (const expires_in of [0, -1, -0.5, '3600', '', null, true, {}, [3600], undefined]) {
  t.test(
    `CL-19: a token response with the expires_in ${JSON.stringify(expires_in)} does not begin a session`,
    async t => {
      await fails(t, { expires_in })
    },
  )
}

t.test('CL-19: a token response with an infinite expires_in does not begin a session', async t => {
  const { browser, platform } = await buildTestClient(t)
  platform.answer('POST /api/exchangeToken', (request, response) =>
    send(response, { body: JSON.stringify(tokenAnswer(request)).replace(':3600', ':1e309') }),
  )
  const response = await signIn(browser)
  t.equal(response.statusCode, 502)
  t.equal(setCookieLine(response, '__Host-session'), undefined)
})
