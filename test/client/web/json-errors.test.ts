// A script that asks for JSON gets errors as JSON. Other requests get a page.

import t, { type Test } from 'tap'
import { signInTexts } from '../../../src/client/sign-in/texts.ts'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'
import { buildTestClient, publicUrl, signIn } from '../support/build-test-client.ts'
import { smallApi, smallProduct } from '../support/small-product.ts'
import type { TestProduct } from '../support/test-product.ts'

const own = { 'sec-fetch-site': 'same-origin', origin: publicUrl }
const form = { 'content-type': 'application/x-www-form-urlencoded' }

type Case = {
  method: 'GET' | 'POST'
  url: string
  headers: Record<string, string>
  status: number
  code: string
  message: string
}

const cases: Record<string, Case> = {
  'PG-01: a request from another site': {
    method: 'POST',
    url: '/note',
    headers: { ...form, 'sec-fetch-site': 'cross-site', origin: 'https://evil.test' },
    status: 403,
    code: 'cross_site_request',
    message: webTexts.errors.fromAnotherSite,
  },
  'an address that does not exist': {
    method: 'GET',
    url: '/nowhere',
    headers: own,
    status: 404,
    code: 'not_found',
    message: webTexts.errors.noPage,
  },
  'an address that cannot be decoded': {
    method: 'GET',
    url: '/%zz',
    headers: own,
    status: 400,
    code: 'bad_request',
    message: webTexts.errors.byStatus[400]!,
  },
  'AP-20: a method that the address does not accept': {
    method: 'POST',
    url: '/page',
    headers: { ...form, ...own },
    status: 405,
    code: 'method_not_allowed',
    message: webTexts.errors.wrongMethod,
  },
  'a body of a type that is not accepted': {
    method: 'POST',
    url: '/note',
    headers: { 'content-type': 'application/json', ...own },
    status: 415,
    code: 'bad_request',
    message: webTexts.errors.byStatus[415]!,
  },
  'an API that is not working': {
    method: 'GET',
    url: '/page',
    headers: own,
    status: 502,
    code: 'api_failed',
    message: upstreamTexts.api.failed,
  },
  'an API that is busy': {
    method: 'GET',
    url: '/page/1',
    headers: own,
    status: 503,
    code: 'api_busy',
    message: upstreamTexts.api.busy(7),
  },
}

async function start(t: Test) {
  const test = await buildTestClient(t, { scripts: smallApi })
  await signIn(test.browser)
  test.platform.answer('GET /things', { status: 500, body: { secret: 'canary' } })
  test.platform.answer('GET /things/1', { status: 503, headers: { 'retry-after': '7' }, body: {} })
  return test
}

const accepted = {
  JSON: 'application/json',
  'JSON before anything else': 'application/json, text/plain, */*',
  'JSON in capitals with a quality': 'Application/JSON;q=0.9',
}
const declined = {
  'what a browser asks for': 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'both HTML and JSON': 'application/json, text/html',
  anything: '*/*',
  nothing: undefined,
}

for (const [what, { method, url, headers, status, code, message }] of Object.entries(cases)) {
  const send = (test: Awaited<ReturnType<typeof start>>, accept: string | undefined) =>
    test.client.inject({
      method,
      url,
      headers: {
        ...headers,
        cookie: test.browser.cookieHeader(),
        'x-request-id': 'request-1',
        ...(accept && { accept }),
      },
      ...(method === 'POST' && { payload: '{}' }),
    })

  t.test(`if a script asks for JSON, the client reports ${what} with status ${status} in JSON`, async t => {
    const test = await start(t)
    for (const accept of Object.values(accepted)) {
      const answer = await send(test, accept)
      t.equal(answer.statusCode, status, accept)
      t.match(answer.headers['content-type'], /^application\/json\b/, accept)
      t.same(Object.keys(answer.json()), ['error'], accept)
      t.match(answer.json().error, { code, message }, accept)
      t.same(Object.keys(answer.json().error), ['code', 'message', 'requestId'], accept)
      t.equal(
        answer.json().error.requestId,
        'request-1',
        'the answer must contain the request id, which is also in the log',
      )
      t.ok(
        test.log.some(line => JSON.parse(line).event === code && JSON.parse(line).reqId === 'request-1'),
        'the log must contain the error',
      )
      t.equal(answer.headers['cache-control'], 'no-store')
      t.equal(answer.headers['x-content-type-options'], 'nosniff')
      t.notMatch(answer.body, /canary|127\.0\.0\.1/)
      if (status === 503) t.equal(answer.headers['retry-after'], '7')
      if (status === 405) t.equal(answer.headers.allow, 'GET')
    }
  })

  t.test(`if a request does not ask for JSON, the client reports ${what} with status ${status} on a page`, async t => {
    const test = await start(t)
    for (const [accept, value] of Object.entries(declined)) {
      const answer = await send(test, value)
      t.equal(answer.statusCode, status, accept)
      t.match(answer.headers['content-type'], /^text\/html\b/, accept)
      t.match(answer.body, message, accept)
      t.match(answer.body, '<code>request-1</code>', accept)
    }
  })
}

t.test('without a session, a script gets a 401 answer in JSON instead of a redirect to the login', async t => {
  const { client } = await start(t)
  const answer = await client.inject({ method: 'GET', url: '/page', headers: { ...own, accept: 'application/json' } })
  t.equal(answer.statusCode, 401)
  t.match(answer.json(), { error: { code: 'sign_in_required', message: signInTexts.signInRequired, requestId: /./ } })
  t.equal(answer.headers.location, undefined)
})

for (const [what, headers] of [
  ['an EventSource', { accept: 'text/event-stream' }],
  ['a fetch without Accept', { accept: '*/*', 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'cors' }],
] as const) {
  t.test(`${what} gets errors in JSON, and no redirect to the login`, async t => {
    const { client, browser } = await start(t)
    const stranger = await client.inject({ method: 'GET', url: '/page', headers: { ...own, ...headers } })
    t.equal(stranger.statusCode, 401)
    t.equal(stranger.json().error.code, 'sign_in_required')
    const cookie = browser.cookieHeader()
    const failed = await client.inject({ method: 'GET', url: '/page', headers: { ...own, ...headers, cookie } })
    t.equal(failed.json().error.code, 'api_failed')
  })
}

t.test(
  'if a script asks for HTML, for example to prefetch a page, the client redirects the script like a visitor',
  async t => {
    const { client } = await start(t)
    const headers = { ...own, accept: 'text/html', 'sec-fetch-dest': 'empty' }
    t.equal((await client.inject({ method: 'GET', url: '/page', headers })).statusCode, 302)
  },
)

t.test('if a plugin answers with status 503, the code of the error is `unavailable`', async t => {
  const product: TestProduct = {
    ...smallProduct,
    async publicPages(app) {
      app.get('/full', async () => {
        throw Object.assign(new Error('the queue is full'), { statusCode: 503, code: 'PLUGIN_FULL' })
      })
    },
  }
  const { client, log } = await buildTestClient(t, { product })
  const answer = await client.inject({ method: 'GET', url: '/full', headers: { ...own, accept: 'application/json' } })
  t.equal(answer.statusCode, 503)
  t.match(answer.json().error, { code: 'unavailable', message: webTexts.errors.byStatus[503]! })
  const line = log.map(text => JSON.parse(text)).find(({ event }) => event === 'unavailable')
  t.match(line, { level: 50, status: 503, cause: { code: 'PLUGIN_FULL' } })
})
