// Whatever a browser sends during a login, and whatever the portal answers, the client sends a page and does not crash.

import fc from 'fast-check'
import type { LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { exchangeRaw, rawGet } from '../../support/raw-socket.ts'
import { beginLogin, buildTestClient, callbackUrl, publicUrl, signIn } from '../support/build-test-client.ts'
import { refreshTarget, setCookieLines } from '../support/read-response.ts'
import { type Received, send, tokenAnswer } from '../support/scripted-platform.ts'

const runs = { numRuns: 200 }
const environment = { LOG_LEVEL: 'silent' }

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme', maxLength: 2_500 }),
  fc.constantFrom('', '__proto__', '<script>alert(1)</script>', '\r\nSet-Cookie: x=1', '%00', '\u2028', '\ud800'),
)
const parameters = ['code', 'state', 'subject', 'client_id', 'redirect_uri', 'error', 'error_description', 'iss']

/** Checks that this is a page with an expected status, and that only an answer with status 200 begins a session. */
function isFine(response: LightMyRequestResponse, statuses: number[]) {
  const { statusCode, headers, cookies, body } = response
  if (!statuses.includes(statusCode)) throw new Error(`status ${statusCode}`)
  if (!/^text\/html/.test(String(headers['content-type']))) throw new Error(`content type ${headers['content-type']}`)
  if (body.includes('<script>alert')) throw new Error('markup that is not ours')
  if (headers.location !== undefined) throw new Error(`led to ${headers.location}`)
  const session = cookies.find(({ name }) => name === '__Host-session')
  if (Boolean(session?.value) !== (statusCode === 200 && refreshTarget(response) !== undefined))
    throw new Error('a session')
  const maxAge = session?.maxAge ?? 1
  if (!Number.isInteger(maxAge) || maxAge < 1 || maxAge > 400 * 24 * 3600) throw new Error(`Max-Age ${maxAge}`)
}

t.test('a callback with any query leads to a page', async t => {
  const { browser, platform, client } = await buildTestClient(t, { environment })
  const anyChange = fc.array(fc.tuple(fc.oneof(fc.constantFrom(...parameters), anyText), anyText), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(anyChange, fc.boolean(), async (change, isOnTop) => {
      const started = await beginLogin(browser)
      const query = new URL(callbackUrl(started), publicUrl).searchParams
      for (const [name, value] of change) isOnTop ? query.append(name, value) : query.set(name, value)
      const response = await browser.get(`/exchangeToken?${query}`, { site: 'cross-site' })
      isFine(response, [200, 400])
      const isUntouched = !change.some(([name]) => parameters.includes(name))
      if (isUntouched && response.statusCode !== 200)
        throw new Error('the client refused a callback because of a parameter that it must ignore')
    }),
    runs,
  )
  t.ok(platform.received('POST /api/exchangeToken').length > 0)
  t.equal((await client.inject('/health/live')).statusCode, 200)
})

t.test('a callback with any bytes as its query leads to a page', async t => {
  const { client, platform } = await buildTestClient(t, { environment })
  const anyQuery = fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map(code => String.fromCharCode(code)),
    maxLength: 300,
  })
  await fc.assert(
    fc.asyncProperty(anyQuery, async query => {
      const answer = await exchangeRaw(client, rawGet(`/exchangeToken?${query}`))
      if (!/^HTTP\/1\.1 400 /.test(answer)) throw new Error(answer.slice(0, 40))
    }),
    runs,
  )
  t.equal(platform.received('POST /api/exchangeToken').length, 0)
})

t.test('a login ends on this site, whatever returnTo contains', async t => {
  const { browser } = await buildTestClient(t, { environment })
  const piece = fc.constantFrom(
    '/',
    '\\',
    '.',
    '..',
    '\t',
    '\n',
    ' ',
    '%2f',
    '%5c',
    '@',
    ':',
    '?',
    '#',
    'evil.test',
    'a',
    '/page',
    'https:',
    '"',
    '<',
    '&',
    ';url=',
  )
  const anyAddress = fc.oneof(
    fc.array(piece, { maxLength: 12 }).map(pieces => pieces.join('')),
    fc.array(piece, { maxLength: 12 }).map(pieces => `/${pieces.join('')}`),
    fc.webUrl({ withQueryParameters: true, withFragments: true }),
    anyText,
  )
  await fc.assert(
    fc.asyncProperty(anyAddress, async returnTo => {
      const page = await signIn(browser, returnTo)
      isFine(page, [200])
      const target = refreshTarget(page) ?? ''
      const url = new URL(target, publicUrl)
      if (!/^\/(?![/\\])/.test(target) || url.origin !== publicUrl || url.pathname.startsWith('//'))
        throw new Error(target)
    }),
    runs,
  )
  t.pass('all logins ended on this site')
})

const anyJson = fc.jsonValue({ maxDepth: 2 })
/** Most values are valid. If many values were wrong, the first wrong value would hide the effect of the others. */
const mostly = <T>(good: T, ...others: fc.Arbitrary<unknown>[]) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(good) }, ...others.map(arbitrary => ({ weight: 1, arbitrary })))
const anyChange = fc.record(
  {
    access_token: mostly('token', anyJson, anyText),
    expires_in: fc.oneof(fc.integer({ min: 1 }), fc.double({ min: 0.1 }), fc.integer(), fc.double(), anyJson),
    token_type: mostly('Bearer', fc.constantFrom('bearer', 'mac'), anyJson),
    refresh_token: mostly('refresh', anyJson, anyText),
    scope: anyJson,
    error: mostly('invalid_grant', fc.constantFrom('invalid_client', 'slow_down'), anyJson),
  },
  { requiredKeys: [] },
)
const anyStatus = mostly(200, fc.constantFrom(201, 204, 301, 307, 400, 401, 403, 404, 418, 429, 500, 503, 599))
const anyType = mostly('application/json', fc.constantFrom('application/json;charset=utf-8', 'text/html', 'x'))
const anyRetryAfter = fc.oneof(
  fc.integer().map(String),
  fc.constantFrom('', 'soon', '1e9', 'Wed, 21 Oct 2026 07:28:00 GMT'),
)
const anyBody = fc.oneof(
  {
    weight: 6,
    arbitrary: anyChange.map(change => (request: Received) => JSON.stringify(tokenAnswer(request, change))),
  },
  anyJson.map(state => (request: Received) => JSON.stringify(tokenAnswer(request, { state }))),
  fc.nat({ max: 200 }).map(end => (request: Received) => JSON.stringify(tokenAnswer(request)).slice(0, end)),
  fc.json().map(text => () => text),
  fc.uint8Array({ maxLength: 500 }).map(bytes => () => Buffer.from(bytes)),
)
const anyAnswer = fc.record({
  status: anyStatus,
  type: anyType,
  retryAfter: fc.option(anyRetryAfter),
  bodyFor: anyBody,
})

type Answer = typeof anyAnswer extends fc.Arbitrary<infer T> ? T : never

async function buildAnswering(t: Test) {
  const test = await buildTestClient(t, { environment })
  const answer = ({ status, type, retryAfter, bodyFor }: Answer) =>
    test.platform.answer('POST /api/exchangeToken', (request, response) =>
      send(response, {
        status: Number(status),
        headers: { 'content-type': String(type), ...(retryAfter === null ? {} : { 'retry-after': retryAfter }) },
        body: bodyFor(request),
      }),
    )
  return { ...test, answer }
}

t.test('any answer to the exchange leads to a session, or to a page that says why the login failed', async t => {
  const { browser, answer } = await buildAnswering(t)
  let sessions = 0
  await fc.assert(
    fc.asyncProperty(anyAnswer, async given => {
      answer(given)
      const page = await signIn(browser)
      isFine(page, [200, 400, 502, 503, 504])
      if (page.statusCode === 200) sessions++
    }),
    runs,
  )
  t.ok(sessions >= 10 && sessions <= 190, `${sessions} sessions: some answers must be good, and some must be bad`)
})

t.test(
  'any answer to a renewal leads to a session, to the login, or to a page that says why the renewal failed',
  async t => {
    const { browser, platform, clock, answer } = await buildAnswering(t)
    platform.answer('GET /things', { body: [] })
    await signIn(browser)
    const signedIn = browser.copy()
    await fc.assert(
      fc.asyncProperty(anyAnswer, async given => {
        answer(given)
        clock.advance(3601)
        const jar = signedIn.copy()
        const page = await jar.get('/page', { site: 'same-origin' })
        if (![200, 302, 502, 503, 504].includes(page.statusCode)) throw new Error(`status ${page.statusCode}`)
        if (page.statusCode >= 500 && setCookieLines(page).length > 0)
          throw new Error('a temporary fault has changed the cookies')
      }),
      runs,
    )
    t.pass('every answer led to a session, to the login or to an error page')
  },
)
