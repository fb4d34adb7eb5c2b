// Tests the pages and calls of the laboratory, and who can use them.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { buildLab, type LabOptions } from '../../../src/sandbox/lab/build-lab.ts'
import type { LabStep } from '../../../src/sandbox/lab/record/recorded.ts'
import type { SetUpServices } from '../../../src/sandbox/lab/set-up/set-up.ts'
import { StoreBusy } from '../../../src/sandbox/store/store-failure.ts'
import { Secret } from '../../../src/sandbox/values/secret.ts'
import { checkLabAnswer } from '../support/call-lab.ts'

const state = 'SECRETstate0123456789012345678'
const code = 'SECRETcode01234567890123456789'
const local = { host: '127.0.0.1:4002' }

async function buildTestLab(t: Test, options: Partial<LabOptions> = {}) {
  const lab = await buildLab({
    addresses: { portalUrl: 'http://127.0.0.1:4000', apiUrl: 'http://127.0.0.1:4001' },
    labUrls: ['http://127.0.0.1:4002'],
    token: undefined,
    clock: () => new Date('2026-03-01T12:00:00Z'),
    logger: pino({ level: 'silent' }),
    ...options,
  })
  t.teardown(() => lab.server.close())
  let count = 0
  const observe = (step: Partial<LabStep> = {}) =>
    lab.record({
      id: `step-${++count}`,
      requestId: `request-${count}`,
      at: new Date('2026-03-01T12:00:00Z'),
      listener: 'portal',
      kind: 'authorize',
      route: '/',
      durationMs: 4,
      request: {
        method: 'GET',
        url: `/?${new URLSearchParams({ client_id: 'app-1', state })}`,
        headers: { host: '127.0.0.1:4000' },
        body: undefined,
      },
      response: { status: 200, headers: { 'content-type': 'text/html' }, body: undefined },
      about: { claimedClientId: 'app-1' },
      checks: [],
      reason: undefined,
      ...step,
    })
  const refuseExchange = () =>
    observe({
      kind: 'exchange',
      route: '/api/exchangeToken',
      request: {
        method: 'POST',
        url: '/api/exchangeToken',
        headers: { 'content-type': 'application/x-www-form-urlencoded', 'user-agent': "a client's own" },
        body: {
          grant_type: 'authorization_code',
          client_id: 'app-1',
          client_secret: 'SECRETsecret',
          code,
          state: 'other',
        },
      },
      response: { status: 401, headers: { 'content-type': 'application/json' }, body: '{"error":"invalid_grant"}' },
      about: { claimedClientId: 'app-1', provenClientId: 'app-1' },
      checks: [
        { name: 'client_secret', passed: true },
        { name: 'state', passed: false, expected: state, received: 'other' },
      ],
      reason: 'state-differs',
    })
  const get = async (url: string, headers: Record<string, string> = {}) => {
    const answer = await lab.server.inject({ url, headers: { ...local, ...headers } })
    await checkLabAnswer(lab.server, { url }, answer)
    return answer
  }
  return { lab, observe, refuseExchange, get }
}

t.test('if a request is too long, the laboratory shortens it, and the page of the login says so', async t => {
  const { observe, get } = await buildTestLab(t)
  const fields = Array.from({ length: 100 }, (_, index) => [`field-${index}`, Array.from({ length: 100 }, () => 1)])
  observe({
    kind: 'exchange',
    request: { method: 'POST', url: '/api/exchangeToken', headers: {}, body: Object.fromEntries(fields) },
  })
  const { id } = (await get('/lab/v1/logins')).json().logins[0]
  const login = await get(`/lab/v1/logins/${id}`)
  t.match(login.json().steps, [{ isShortened: true, request: { body: { 'field-0': Array } } }])
  t.ok(JSON.stringify(login.json().steps[0].request).length <= 8 * 1024)
  t.match((await get(`/logins/${id}`)).body, 'The laboratory has not kept the whole request.')
})

t.test('the page of a refused exchange shows the reason, the compared values, and how to fix the mistake', async t => {
  const { observe, refuseExchange, get, lab } = await buildTestLab(t)
  observe()
  refuseExchange()
  const list = (await get('/lab/v1/logins')).json()
  t.match(list, {
    cursor: 2,
    logins: [{ clientId: 'app-1', steps: 1, outcome: 'refused', reasons: ['state-differs'] }, {}],
  })
  const login = (await get(`/lab/v1/logins/${list.logins[0].id}`)).json()
  t.match(login.steps[0], {
    kind: 'exchange',
    reason: 'state-differs',
    explanation: { found: /state/, mend: /cookie/, source: /rule TK-08/ },
    checks: [
      { name: 'client_secret', passed: true },
      {
        name: 'state',
        passed: false,
        expected: { length: 30 },
        received: { length: 5 },
        why: /browser/,
        source: /10\.12/,
      },
    ],
    curl: "curl -X POST 'http://127.0.0.1:4000/api/exchangeToken' --data-urlencode 'grant_type=authorization_code' --data-urlencode 'client_id=app-1' --data-urlencode 'client_secret=<client_secret>' --data-urlencode 'code=<code>' --data-urlencode 'state=<state>'",
  })
  t.equal(lab.urlOf('step-2'), 'http://127.0.0.1:4002/requests/step-2')
  const { statusCode, headers } = await get('/requests/step-2')
  t.match({ statusCode, location: headers.location }, { statusCode: 303, location: `/logins/${list.logins[0].id}` })
  t.equal((await get('/requests/request-3')).statusCode, 404)
})

t.test('if a request needs no login, the laboratory lists the request with the outcome “no login”', async t => {
  const { observe, get } = await buildTestLab(t)
  observe({ kind: 'metadata', about: {} })
  observe()
  t.match((await get('/lab/v1/logins')).json().logins, [{ outcome: 'under way' }, { outcome: 'no login' }])
})

t.test('if the portal compared a secret, the page of the login says whether the two values were the same', async t => {
  const { observe, get } = await buildTestLab(t)
  observe({ checks: [{ name: 'code', passed: true, received: code }] })
  observe({ checks: [{ name: 'state', passed: false, received: 'other' }], reason: 'state-differs' })
  const pages = (await get('/lab/v1/logins')).json().logins.map(({ id }: { id: string }) => get(`/logins/${id}`))
  const [page] = await Promise.all(pages)
  t.match(page.body, /✓ code<\/th>\s*<td[^>]*>[^/]*the same</)
  t.match(page.body, /✗ state<\/th>\s*<td[^>]*>[^/]*another value</)
})

t.test('the JSON of a login lists the notices about the client', async t => {
  const { observe, get } = await buildTestLab(t)
  observe()
  const { id } = (await get('/lab/v1/logins')).json().logins[0]
  t.match((await get(`/lab/v1/logins/${id}`)).json().noticed, [{ id: 'no-pkce', steps: ['step-1'] }])
})

t.test(
  'the logins call of the laboratory can select logins by client, by state, or by steps that are newer than a given step',
  async t => {
    const { observe, get } = await buildTestLab(t)
    observe()
    const count = async (query: string) => (await get(`/lab/v1/logins?${query}`)).json().logins.length
    t.equal(await count('clientId=app-1'), 1)
    t.equal(await count('clientId=app-2'), 0)
    t.equal(await count(`state=${state}`), 1)
    t.equal(await count('state=another'), 0)
    t.equal(await count('after=0'), 1)
    t.equal(await count('after=1'), 0)
  },
)

t.test('a long poll for logins is answered when the next matching step is recorded', async t => {
  const { observe, get } = await buildTestLab(t)
  observe()
  const answer = get('/lab/v1/logins?after=1&clientId=app-1&wait=30')
  // When this request is answered, the laboratory has received the long poll.
  await get('/lab/v1/logins')
  observe({
    about: { claimedClientId: 'app-2' },
    request: { method: 'GET', url: '/?client_id=app-2', headers: {}, body: undefined },
  })
  observe()
  const { logins, cursor } = (await answer).json()
  t.match(logins, [{ clientId: 'app-1', steps: 2 }])
  t.equal(cursor, 3)
})

t.test('the laboratory can return a login in the format HAR 1.2', async t => {
  const { observe, get } = await buildTestLab(t)
  observe()
  const { id } = (await get('/lab/v1/logins')).json().logins[0]
  const { log } = (await get(`/lab/v1/logins/${id}/har`)).json()
  t.match(log, {
    version: '1.2',
    entries: [
      {
        startedDateTime: '2026-03-01T12:00:00.000Z',
        time: 4,
        request: { method: 'GET', url: /^http:\/\/127\.0\.0\.1:4000\/\?client_id=app-1/, cookies: [] },
        response: { status: 200, statusText: 'OK' },
        timings: { send: 0, wait: 4, receive: 0 },
      },
    ],
  })
})

t.test('no page or answer from the laboratory contains a secret', async t => {
  const { observe, refuseExchange, get } = await buildTestLab(t)
  observe({
    request: {
      method: 'GET',
      url: `/?client_id=app-1&state=${state}`,
      headers: { cookie: 'SECRETcookie' },
      body: undefined,
    },
  })
  refuseExchange()
  for (const { id } of (await get('/lab/v1/logins')).json().logins)
    for (const path of ['', '/har']) t.notMatch((await get(`/lab/v1/logins/${id}${path}`)).body, 'SECRET', path)
})

t.test(
  'if the query of a logins call is wrong, the answer names the wrong parameter and the allowed values',
  async t => {
    const { get } = await buildTestLab(t)
    const rows: [string, object][] = [
      ['wait=31', { wait: [/0 to 30/] }],
      ['wait=soon', { wait: [/0 to 30/] }],
      ['after=-1', { after: [/whole number/] }],
      ['after=9007199254740991', { after: [/whole number of at most 15 digits/] }],
      ['state=a&state=b', { state: [/once/] }],
      ['client=app-1', { client: [/clientId, state, after, wait/] }],
    ]
    for (const [query, message] of rows) {
      const response = await get(`/lab/v1/logins?${query}`)
      t.equal(response.statusCode, 422, query)
      t.match(response.json(), { error: { status: 422, message } }, query)
    }
    t.equal((await get('/lab/v1/logins/none')).statusCode, 404)
    t.equal((await get('/lab/v1/events?clientId=a&clientId=b')).statusCode, 422)
  },
)

t.test('if the database is locked, a call that makes a test person gets a 503 answer with Retry-After', async t => {
  const store = { transaction: () => Promise.reject(new StoreBusy('locked')) }
  const setUp = { store, passwords: { hash: async () => '' }, clock: () => new Date() } as unknown as SetUpServices
  const { lab } = await buildTestLab(t, { setUp })
  const answer = await lab.server.inject({ method: 'POST', url: '/lab/v1/people', headers: local, payload: {} })
  t.match([answer.statusCode, answer.headers, answer.json()], [503, { 'retry-after': '2' }, { error: { status: 503 } }])
})

t.test('the laboratory answers only requests to its own host names, which prevents DNS rebinding', async t => {
  const { lab } = await buildTestLab(t, { labUrls: ['https://lab.example.test'] })
  const status = async (host: string) =>
    (await lab.server.inject({ url: '/lab/v1/logins', headers: { host } })).statusCode
  for (const host of ['lab.example.test', 'localhost:4002', '127.0.0.1:9', '[::1]:4002', 'lab.localhost'])
    t.equal(await status(host), 200, host)
  for (const host of ['evil.test', 'lab.example.test.evil.test', 'localhost.evil.test:4002', '10.0.0.1', 'a b'])
    t.equal(await status(host), 403, host)
})

t.test('a page on another site can neither read nor change the laboratory’s data', async t => {
  const { lab, get } = await buildTestLab(t)
  const rows: [Record<string, string>, number][] = [
    [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }, 403],
    [{ 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' }, 403],
    [{ origin: 'http://localhost:3000' }, 403],
    [{ origin: 'null' }, 403],
    [{ 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate' }, 200],
    [{ 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', origin: 'http://127.0.0.1:4002' }, 200],
    [{}, 200],
  ]
  for (const [headers, status] of rows) {
    const response = await get('/lab/v1/logins', headers)
    t.equal(response.statusCode, status, JSON.stringify(headers))
    t.equal(response.headers['access-control-allow-origin'], undefined)
    t.match(response.headers['content-security-policy'], "frame-ancestors 'none'")
  }
  const post = (headers: Record<string, string>) =>
    lab.server.inject({ method: 'POST', url: '/lab/v1/logins', headers: { ...local, ...headers }, payload: '{}' })
  t.equal((await post({ 'content-type': 'text/plain' })).statusCode, 415)
  t.equal(
    (await post({ 'content-type': 'application/json', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }))
      .statusCode,
    403,
  )
})

t.test(
  'if the laboratory has a token, every call must send the token, as a Bearer token or as the password that a browser asks for',
  async t => {
    const { get } = await buildTestLab(t, { token: new Secret('a-token-for-tests') })
    const basic = (password: string) => `Basic ${Buffer.from(`lab:${password}`).toString('base64')}`
    for (const authorization of ['Bearer a-token-for-tests', 'bearer a-token-for-tests', basic('a-token-for-tests')])
      t.equal((await get('/lab/v1/logins', { authorization })).statusCode, 200, authorization)
    for (const authorization of ['', 'Bearer', 'Bearer a-token-for-test', basic(''), 'a-token-for-tests']) {
      const response = await get('/lab/v1/logins', authorization ? { authorization } : {})
      t.equal(response.statusCode, 401, authorization)
      t.match(String(response.headers['www-authenticate']), /Bearer/)
    }
  },
)

t.test(
  'the laboratory sends each new step to its event stream immediately, and ends the stream when it stops',
  async t => {
    const { lab, observe } = await buildTestLab(t)
    await lab.server.listen({ host: '127.0.0.1', port: 0 })
    const { port } = lab.server.server.address() as AddressInfo
    const response = await fetch(`http://127.0.0.1:${port}/lab/v1/events?clientId=app-1`)
    t.match(response.headers.get('content-type'), 'text/event-stream')
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let received = (await reader.read()).value ?? ''
    observe({
      about: { claimedClientId: 'app-2' },
      request: { method: 'GET', url: '/?client_id=app-2', headers: {}, body: undefined },
    })
    observe()
    while (!received.includes('\n\nid: ') && !received.includes('event: step')) received += (await reader.read()).value
    const data = JSON.parse(/^data: (.*)$/m.exec(received)?.[1] ?? '{}')
    t.match(received, /^id: 2$/m)
    t.match(data, { login: { clientId: 'app-1' }, step: { kind: 'authorize' } })
    const closed = lab.server.close()
    t.equal((await reader.read()).done, true)
    await closed
  },
)

t.test('if a client closes the event stream, the next recorded step does not cause an error', async t => {
  const { lab, observe } = await buildTestLab(t)
  await lab.server.listen({ host: '127.0.0.1', port: 0 })
  const { port } = lab.server.server.address() as AddressInfo
  const gone = new Promise(resolve =>
    lab.server.server.once('request', (_request, response) => once(response, 'close').then(resolve)),
  )
  const stop = new AbortController()
  await fetch(`http://127.0.0.1:${port}/lab/v1/events`, { signal: stop.signal })
  stop.abort()
  await gone
  t.doesNotThrow(() => observe())
})

t.test(
  'the laboratory’s pages show a login as a diagram, and say what failed, why, and how to fix the mistake',
  async t => {
    const { observe, refuseExchange, get } = await buildTestLab(t)
    t.match((await get('/')).body, 'Nothing yet')
    observe()
    refuseExchange()
    const list = await get('/')
    t.match(list.body, 'The state of the exchange differs from the state of the login request.')
    const path = /href="(\/logins\/[^"]+)"/.exec(list.body)?.[1] ?? ''
    const page = (await get(path)).body
    t.match(page, 'Client to Portal: ')
    t.match(page, '✗ 401')
    t.match(page, 'Keep the state of each login in a separate cookie')
    t.match(page, 'The state ties the code to the browser that started the login')
    t.notMatch(page, 'SECRET')
    t.equal((await get('/logins/none')).statusCode, 404)
    t.equal((await get('/?clientId=app-2')).body.includes('Nothing yet'), true)
  },
)

t.test('the page of a login without a client ID has the same name in its title and in its heading', async t => {
  const { observe, get } = await buildTestLab(t)
  observe({ kind: 'page', about: {}, request: { method: 'GET', url: '/', headers: {}, body: undefined } })
  const path = /href="(\/logins\/[^"]+)"/.exec((await get('/')).body)?.[1] ?? ''
  const { body } = await get(path)
  t.match(body, '<title>A request without a client ID · Laboratory</title>')
  t.match(body, '<h1>A request without a client ID</h1>')
})

t.test('if a path of the laboratory is unknown, a browser gets a page, and a program gets JSON', async t => {
  const { get } = await buildTestLab(t, { token: new Secret('a-token-for-tests') })
  const authorization = 'Bearer a-token-for-tests'
  const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
  for (const path of ['/nothing', '/lab/v1/nothing']) {
    const page = await get(path, { ...browser, authorization })
    t.match([page.statusCode, page.headers['content-type']], [404, 'text/html'], path)
    t.match(page.headers['content-security-policy'], "default-src 'none'; style-src 'self'", path)
    t.match(page.body, /<h1>Not found<\/h1>\s*<p>.*<\/p>\s*<p><a href="\/">All logins/, path)
    const { error } = (await get(path, { accept: '*/*', authorization })).json()
    t.equal(error.status, 404, path)
    t.match(page.body, error.message, path)
  }
  const call = await get('/lab/v1/logins/none', { ...browser, authorization })
  t.equal(call.json().error.status, 404, 'a call must answer in JSON, as its description says')
  const refused = await get('/', browser)
  t.strictSame(
    [refused.statusCode, refused.headers['www-authenticate']],
    [401, ['Bearer realm="lab"', 'Basic realm="lab"']],
  )
  t.match(
    refused.body,
    '<h1>There is a problem</h1><p>Send the header Authorization: Bearer with the value of LAB_TOKEN',
  )
  const elsewhere = await get('/', { ...browser, host: 'evil.test' })
  t.match([elsewhere.statusCode, elsewhere.headers['content-type']], [403, 'text/html'])
  t.match(elsewhere.body, '<p>The laboratory does not accept this host name.')
  for (const { body } of [refused, elsewhere])
    t.notMatch(body, /<(link|script|img|a)\b/, 'the page must have no style sheet, script, image or link')
})

t.test(
  'the laboratory’s pages escape text that clients have sent, and load only their own style and script',
  async t => {
    const { observe, get } = await buildTestLab(t)
    const clientId = '<script>alert(1)</script>'
    observe({
      about: { claimedClientId: clientId },
      request: {
        method: 'GET',
        url: `/?${new URLSearchParams({ client_id: clientId })}`,
        headers: { 'user-agent': '<b>' },
        body: undefined,
      },
    })
    const list = await get('/')
    const page = await get(/href="(\/logins\/[^"]+)"/.exec(list.body)?.[1] ?? '')
    for (const { body, headers } of [list, page]) {
      t.notMatch(body, '<script>alert')
      t.notMatch(body, '<b>')
      t.match(headers['content-security-policy'], "default-src 'none'")
    }
  },
)

t.test('every page of the laboratory can load its own files only, and a call can load nothing', async t => {
  const { get } = await buildTestLab(t)
  const policyOf = async (path: string) => {
    const { headers } = await get(path)
    return [headers['content-security-policy'], headers['referrer-policy']]
  }
  for (const path of ['/', '/faults', '/logins/none', '/requests/none', '/reference', '/mailbox'])
    t.match(await policyOf(path), [/^default-src 'none'; style-src 'self'; .*form-action 'self'/, 'same-origin'], path)
  for (const path of ['/lab/v1/logins', '/lab/v1/faults'])
    t.match(
      await policyOf(path),
      [/^default-src 'none'; frame-ancestors 'none'; .*form-action 'none'/, 'no-referrer'],
      path,
    )
})

t.test('the laboratory can stop even if a long poll is still waiting', async t => {
  const { lab } = await buildTestLab(t)
  await lab.server.listen({ host: '127.0.0.1', port: 0 })
  const { port } = lab.server.server.address() as AddressInfo
  const handled = once(lab.server.server, 'request')
  const answer = fetch(`http://127.0.0.1:${port}/lab/v1/logins?wait=30`)
  await handled
  const started = performance.now()
  await lab.server.close()
  t.match(await (await answer).json(), { logins: [] })
  t.ok(performance.now() - started < 8_000, 'the laboratory must end the long poll immediately')
})
