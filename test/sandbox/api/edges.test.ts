// Tests unusual requests to the API: other methods, impossible ids and addresses, other content types, and bodies that
// are large or take long to read.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import t from 'tap'
import { exchangeRaw, rawRequest } from '../../support/raw-socket.ts'
import { buildTestSandbox, seeded } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'

const closing = ['Host: 127.0.0.1', 'Connection: close']

t.test('AP-20: the answer to HEAD has the same status and headers as the answer to GET, without the body', async t => {
  const sandbox = await buildTestSandbox(t)
  const { accessToken, userId } = await callAsDeveloper(sandbox)
  const raw = (lines: string[], body?: string) => exchangeRaw(sandbox.api, rawRequest(lines, body))
  const paths = [
    '/apps/v1',
    `/apps/v1/${seeded.clientId}`,
    `/identities/v1/${userId}/links?type=MemberOf`,
    '/apps/v1/openapi.json',
    '/apps/v1/api.raml',
    '/',
    '/apps/v1/unknown',
  ]
  for (const path of paths) {
    const headers = [...closing, `Authorization: Bearer ${accessToken}`]
    const [getHead = '', getBody = ''] = (await raw([`GET ${path} HTTP/1.1`, ...headers])).split('\r\n\r\n')
    const [head = '', body] = (await raw([`HEAD ${path} HTTP/1.1`, ...headers])).split('\r\n\r\n')
    // The answer to HEAD does not have to contain Transfer-Encoding (RFC 9110 9.3.2). Each of the two answers has its
    // own request id.
    const isCompared = (line: string) => !/^(date|transfer-encoding|x-request-id):/i.test(line)
    const compared = (lines: string) => lines.split('\r\n').filter(isCompared)
    t.strictSame(compared(head), compared(getHead), path)
    t.ok(getBody.length > 0)
    t.equal(body, '', path)
  }
})

t.test(
  'AP-20: if a method is not supported, the API answers 405 with an Allow header, before it checks the token and reads the body',
  async t => {
    const { api } = await buildTestSandbox(t)
    const id = seeded.clientId
    const allowed: [string, string][] = [
      ['/apps/v1', 'GET, HEAD, POST'],
      [`/apps/v1/${id}`, 'GET, HEAD, PUT, DELETE'],
      [`/apps/v1/${id}/refreshSecret`, 'POST'],
      ['/identities/v1', 'POST'],
      [`/identities/v1/${id}/link/${id}`, 'POST, DELETE'],
      [`/identities/v1/${id}/links`, 'GET, HEAD'],
      ['/apps/v1/openapi.json', 'GET, HEAD'],
      ['/apps/v1/api.raml', 'GET, HEAD'],
      ['/', 'GET, HEAD'],
    ]
    for (const [url, allow] of allowed)
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY', 'TRACE'] as const) {
        if (allow.split(', ').includes(method)) continue
        const answer = await api.inject({ method, url })
        t.equal(answer.statusCode, 405, `${method} ${url}`)
        t.equal(answer.headers.allow, allow)
        if (method !== 'HEAD') t.strictSame(answer.json(), { error: { status: 405, message: 'Method Not Allowed' } })
      }
  },
)

t.test(
  'AP-20: TRACE, CONNECT and unknown methods never succeed, and the answers do not repeat any part of the request',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const raw = (lines: string[], body?: string) => exchangeRaw(sandbox.api, rawRequest(lines, body))
    const canary = 'Authorization: Bearer a-canary'
    for (const method of ['TRACE', 'QUERY', 'PROPFIND', 'FOO', 'get']) {
      const answer = await raw([`${method} /apps/v1 HTTP/1.1`, ...closing, canary])
      t.match(answer, /^HTTP\/1\.1 (404|405|501) /, method)
      t.notMatch(answer, 'canary', method)
    }
    t.notMatch(await raw(['CONNECT 127.0.0.1:1 HTTP/1.1', ...closing, canary]), /^HTTP\/1\.1 2|canary/)
    t.match(await raw(['OPTIONS * HTTP/1.1', ...closing]), /^HTTP\/1\.1 40[45] /)
    t.strictSame((await sandbox.api.inject('/health/live')).json(), { status: 'live' })
    t.strictSame((await sandbox.api.inject({ method: 'HEAD', url: '/health/live' })).statusCode, 200)
  },
)

for (const database of await openDatabases(t))
  t.test(
    `AP-11: a request with an impossible id gets the same answer as a request with an unknown id (${database.name})`,
    async t => {
      const { call } = await callAsDeveloper(await buildTestSandbox(t, { databaseUrl: await database.make(t) }))
      const good = { name: 'x', redirectUris: 'https://a.example.test/cb' }
      const ids = ['..%2f', '..%2f..%2fapps', '%00', "'--", '%27%20or%201=1%20--', '%F0%9F%98%80', 'a%20b']
      for (const id of [...ids, 'x'.repeat(65), `${seeded.clientId}%20`, seeded.clientId.toUpperCase()])
        for (const [method, path, body] of [
          ['GET', '', undefined],
          ['PUT', '', good],
          ['DELETE', '', undefined],
          ['POST', '/refreshSecret', undefined],
        ] as const) {
          const answer = await call(method, `/apps/v1/${id}${path}`, body)
          t.strictSame(answer.json(), { error: { status: 404, message: 'App not found.' } }, `${method} ${id}`)
        }
    },
  )

t.test('AP-11, DO-12: if an address is too long or not UTF-8, the refusal has the API’s error format', async t => {
  const sandbox = await buildTestSandbox(t)
  const { accessToken } = await callAsDeveloper(sandbox)
  const raw = (lines: string[], body?: string) => exchangeRaw(sandbox.api, rawRequest(lines, body))
  const headers = [...closing, `Authorization: Bearer ${accessToken}`]
  const statuses: [string, RegExp][] = [
    [`/apps/v1/${'x'.repeat(10_000)}`, /^HTTP\/1\.1 414 /],
    [`/apps/v1/${'x'.repeat(101)}`, /^HTTP\/1\.1 414 /],
    [`/apps/v1/${'x'.repeat(17_000)}`, /^HTTP\/1\.1 431 /],
    ['/apps/v1/%E0%A4%A', /^HTTP\/1\.1 400 /],
    ['/apps/v1/%', /^HTTP\/1\.1 400 /],
    ['/apps/v1/%ED%A0%80', /^HTTP\/1\.1 400 /],
    [`/identities/v1/${'x'.repeat(101)}/links?type=MemberOf`, /^HTTP\/1\.1 414 /],
    ['/identities/v1/%E0%A4%A/links?type=MemberOf', /^HTTP\/1\.1 400 /],
    ['/apps/v1/../../etc/passwd', /^HTTP\/1\.1 404 /],
  ]
  for (const [path, status] of statuses) {
    const answer = await raw([`GET ${path} HTTP/1.1`, ...headers])
    t.match(answer, status, path.slice(0, 60))
    t.match(answer, /\{"error":\{"status":4\d\d,"message":"/)
    t.match(answer, /\r\ncache-control: no-store\r\n/i)
    t.match(answer, /\r\nx-content-type-options: nosniff\r\n/i)
  }
})

t.test('DO-12: if the portal cannot read an address, the refusal is plain text that must not be cached', async t => {
  const { portal } = await buildTestSandbox(t)
  for (const url of ['/%', '/account/%E0%A4%A', '/api/%', '/.well-known/%']) {
    const answer = await portal.inject(url)
    t.equal(answer.statusCode, 400, url)
    t.equal(answer.body, 'This address cannot be read.')
    t.match(answer.headers, {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
  }
})

t.test('AP-12: if the content type of a body is not application/json, the API answers 415', async t => {
  const sandbox = await buildTestSandbox(t)
  const { accessToken, groupId } = await callAsDeveloper(sandbox)
  const body = JSON.stringify(makeCreateBody(groupId))
  const send = (type: string | undefined, payload = body) =>
    sandbox.api.inject({
      method: 'POST',
      url: '/apps/v1',
      headers: { authorization: `Bearer ${accessToken}`, ...(type !== undefined && { 'content-type': type }) },
      payload: Buffer.from(payload),
    })
  // Spaces before and after the value of a header are not part of the value (RFC 9110 5.5).
  for (const type of [
    'application/json',
    'APPLICATION/JSON;charset=utf-8',
    'application/json; charset=UTF-8',
    ' application/json',
  ]) {
    t.equal((await send(type)).statusCode, 201, type)
    // A 422 answer shows that the API has accepted the content type and has checked the fields.
    t.equal((await send(type, '{}')).statusCode, 422, type)
  }
  const refused = [
    undefined,
    '',
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonx',
    'application/json\ta',
    'application/json garbage',
    'application/vnd.api+json',
    'application/xml',
    'json',
  ]
  for (const type of refused) {
    const answer = await send(type)
    t.strictSame(answer.json(), { error: { status: 415, message: 'Send the body as application/json.' } }, `${type}`)
  }
  t.equal((await send('application/json', '')).statusCode, 400, 'no body')
  t.equal((await send('application/json', '  ')).statusCode, 400, 'only spaces')
  t.equal((await send('application/json', `${body}{}`)).statusCode, 400, 'text after the JSON must be refused')
  const twice = body.replace('"name":', '"name":"First","name":')
  t.equal(
    (await send('application/json', twice)).json().data.name,
    'Weather',
    'if a field appears twice, the last one counts',
  )
})

t.test(
  'DO-01: the API stops reading a body after 64 KiB and answers 413, even if the request has no Content-Length',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const { accessToken, call, groupId } = await callAsDeveloper(sandbox)
    const raw = (lines: string[], body?: string) => exchangeRaw(sandbox.api, rawRequest(lines, body))
    const headers = [...closing, 'Content-Type: application/json', `Authorization: Bearer ${accessToken}`]
    const tooLarge = /^HTTP\/1\.1 413 .*"message":"The request body is larger than 64 KiB\."/s
    const answer = await raw(['POST /apps/v1 HTTP/1.1', ...headers, 'Content-Length: 102400'], 'x')
    t.match(answer, tooLarge, 'the API must refuse the body before the whole body has arrived')
    const chunk = `${(8192).toString(16)}\r\n${'x'.repeat(8192)}\r\n`
    t.match(await raw(['POST /apps/v1 HTTP/1.1', ...headers, 'Transfer-Encoding: chunked'], chunk.repeat(9)), tooLarge)
    const fits = makeCreateBody(groupId, { unknown: 'x'.repeat(64 * 1024 - 1000) })
    t.equal((await call('POST', '/apps/v1', fits)).statusCode, 201)
  },
)

t.test('DO-03: a request with too many or too large headers is refused', async t => {
  const sandbox = await buildTestSandbox(t)
  const raw = (lines: string[], body?: string) => exchangeRaw(sandbox.api, rawRequest(lines, body))
  t.match(await raw(['GET /apps/v1 HTTP/1.1', ...closing, `X: ${'x'.repeat(17_000)}`]), /^HTTP\/1\.1 431 /)
  const many = Array.from({ length: 2000 }, (_, index) => `X-${index}: 12345678`)
  t.match(await raw(['GET /apps/v1 HTTP/1.1', ...closing, ...many]), /^HTTP\/1\.1 4(31|00) /)
  const token = `Authorization: Bearer ${'x'.repeat(3 * 1024 * 1024)}`
  t.notMatch(await raw(['GET /apps/v1 HTTP/1.1', ...closing, token]), /^HTTP\/1\.1 [25]/)
  t.equal((await sandbox.api.inject('/health/live')).statusCode, 200)
})

const mostStallMs = 100

/**
 * Measures the longest time during which no other request could run. Other programs can disturb a measurement, so a
 * measurement that is too long is repeated.
 */
async function measureStall(work: () => Promise<unknown>): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < 5 && best >= mostStallMs; round += 1) {
    const delay = monitorEventLoopDelay({ resolution: 5 })
    delay.enable()
    await work()
    // The monitor sees the delay only in the next turn of the event loop.
    await new Promise(resolve => setTimeout(resolve, 10))
    delay.disable()
    best = Math.min(best, delay.max / 1e6)
  }
  return best
}

t.test('DO-04: a body of 60 KB of nested brackets gets a 400 answer, and does not block other requests', async t => {
  const sandbox = await buildTestSandbox(t)
  const { accessToken, groupId } = await callAsDeveloper(sandbox)
  const send = (payload: string) =>
    sandbox.api.inject({
      method: 'POST',
      url: '/apps/v1',
      headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
      payload,
    })
  const deep: Record<string, string> = {
    'arrays that never end': '['.repeat(60_000),
    arrays: `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
    objects: `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`,
    'a field': `{"name":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
    'hidden keys': `${'{"a":'.repeat(8000)}{"__proto__":{}}${'}'.repeat(8000)}`,
    'a little too deep': `${'['.repeat(21)}${']'.repeat(21)}`,
  }
  for (const [name, payload] of Object.entries(deep)) {
    const answer = await send(payload)
    t.equal(answer.statusCode, 400, name)
    t.match(answer.json(), { error: { status: 400, message: String } })
    const stallMs = await measureStall(() => send(payload))
    t.ok(stallMs < mostStallMs, `${name}: ${stallMs} ms`)
  }
  const brackets = makeCreateBody(groupId, { name: '[[[[[[[[[[[[[[[[[[[[[[[[[{{{{{{"\\' })
  t.equal((await send(JSON.stringify(brackets))).statusCode, 201, 'brackets within text do not count')
  t.equal((await send(`${'['.repeat(20)}${']'.repeat(20)}`)).statusCode, 422, '20 levels are allowed')
})

t.test('DO-05: whatever a field contains, the API checks it quickly and sends a small answer', async t => {
  const sandbox = await buildTestSandbox(t)
  const { call, groupId } = await callAsDeveloper(sandbox)
  const fields = Object.keys(makeCreateBody(groupId).data)
  const fill = (piece: string) => piece.repeat(Math.floor(50_000 / piece.length))
  const pieces = ['a', 'a@', '((', '%', ',', 'a,', 'http://', 'https://a/,', '\\', '"', '[', '😀', ' ', '\t', '.']
  for (const piece of pieces) {
    const values = [fill(piece), `https://a.example.test/${fill(piece)}`]
    for (const value of values) {
      let size = 0
      const stallMs = await measureStall(async () => {
        // Send one long field at a time, because a body with all long fields would be too large.
        for (const field of fields) {
          const answer = await call('POST', '/apps/v1', makeCreateBody(groupId, { [field]: value }))
          size = Math.max(size, answer.body.length)
        }
      })
      t.ok(stallMs < mostStallMs, `${piece}: ${stallMs} ms`)
      t.ok(size < 8192, `${piece}: an answer of ${size} characters`)
    }
  }
})
