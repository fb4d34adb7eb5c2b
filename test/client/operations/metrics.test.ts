// Tests the metrics. They have their own port, and contain no personal data.
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { createMetrics } from '../../../src/client/operations/metrics.ts'
import { beginLogin, callbackUrl, signIn } from '../support/build-test-client.ts'
import { accessTokenOf, giveTokens, send, startScriptedPlatform } from '../support/scripted-platform.ts'
import { smallApi } from '../support/small-product.ts'
import { spawnClient } from '../support/spawn-client.ts'

/** Starts a client with metrics, and returns a function that reads the metrics. */
async function spawnWithMetrics(t: Test, environment: Record<string, string>) {
  const client = await spawnClient(t, { METRICS_PORT: '0', ...environment })
  const read = async () => (await request(`${client.metricsUrl}/metrics`)).body.text()
  return { client, read }
}

t.test('LG-08: the metrics do not depend on LOG_LEVEL', async t => {
  const counts = async (level: string) => {
    const platform = await startScriptedPlatform(t, { 'POST /api/exchangeToken': giveTokens(), ...smallApi })
    const environment = { LOGIN_URL: platform.url, API_URL: platform.url, LOG_LEVEL: level }
    const { client, read } = await spawnWithMetrics(t, environment)
    const { browser } = client
    await browser.get(callbackUrl(await beginLogin(browser), { client_id: 'another' }), { site: 'cross-site' })
    await browser.get('/cancelled')
    const declined = { code: undefined, error: 'access_denied' }
    await browser.get(callbackUrl(await beginLogin(browser), declined), { site: 'cross-site' })
    await signIn(browser)
    browser.cookies.delete('__Host-session')
    t.equal((await browser.get('/page')).statusCode, 200)
    platform.answer('POST /api/exchangeToken', { status: 500, body: {} })
    browser.cookies.delete('__Host-session')
    t.equal((await browser.get('/page')).statusCode, 502)
    const lines = (await read()).match(/^client_(logins|refreshes)_total.*$/gm)
    return { lines: lines?.toSorted(), output: client.output() }
  }
  const [info, silent] = await Promise.all([counts('info'), counts('silent')])
  t.same(info.lines, [
    'client_logins_total{outcome="login_callback_invalid"} 1',
    'client_logins_total{outcome="login_declined"} 2',
    'client_logins_total{outcome="login_succeeded"} 1',
    'client_refreshes_total{outcome="not_renewed"} 1',
    'client_refreshes_total{outcome="renewed"} 1',
  ])
  t.same(silent.lines, info.lines)
  t.equal(silent.output, '')
})

t.test('LG-08: events that a product logs are not counted as logins or renewals', async t => {
  const platform = await startScriptedPlatform(t, { 'POST /api/exchangeToken': giveTokens(), ...smallApi })
  const program = fileURLToPath(new URL('../support/logging-main.ts', import.meta.url))
  const environment = { LOGIN_URL: platform.url, API_URL: platform.url, METRICS_PORT: '0' }
  const client = await spawnClient(t, environment, { program })
  t.equal((await signIn(client.browser)).statusCode, 200)
  t.equal((await client.browser.get('/own')).statusCode, 200)
  await client.waitForOutput('session_exported')
  const text = await (await request(`${client.metricsUrl}/metrics`)).body.text()
  t.same(text.match(/^client_(logins|refreshes)_total.*$/gm), ['client_logins_total{outcome="login_succeeded"} 1'])
})

t.test('LG-08: the metrics count every login once, with its outcome', async t => {
  const platform = await startScriptedPlatform(t, { 'POST /api/exchangeToken': giveTokens() })
  const { client, read } = await spawnWithMetrics(t, { LOGIN_URL: platform.url, API_URL: platform.url })
  const { browser } = client
  const tokens = platform.script('POST /api/exchangeToken')
  const endings: Record<string, () => Promise<unknown>> = {
    login_succeeded: () => signIn(browser),
    login_refused: async () =>
      browser.get(callbackUrl(await beginLogin(browser), { code: undefined, error: 'server_error' })),
    login_callback_invalid: () => browser.get('/exchangeToken?code=x'),
    login_unknown: async () => browser.get(callbackUrl(await beginLogin(browser), { state: 'x'.repeat(22) })),
    invalid_grant: async () => {
      platform.answer('POST /api/exchangeToken', { status: 401, body: { error: 'invalid_grant' } })
      await signIn(browser)
    },
    client_misconfigured: async () => {
      platform.answer('POST /api/exchangeToken', { status: 401, body: { error: 'invalid_client' } })
      await signIn(browser)
    },
    portal_failed: async () => {
      platform.answer('POST /api/exchangeToken', { status: 500, body: {} })
      await signIn(browser)
    },
  }
  for (const end of Object.values(endings)) await end()
  platform.answer('POST /api/exchangeToken', tokens)
  const lines = (await read()).match(/^client_logins_total.*$/gm)
  t.same(
    lines?.toSorted(),
    Object.keys(endings)
      .map(outcome => `client_logins_total{outcome="${outcome}"} 1`)
      .toSorted(),
  )
})

t.test(
  'LG-08: the number of open requests goes down when the client has answered a request or the visitor disconnects',
  async t => {
    const platform = await startScriptedPlatform(t, { 'POST /api/exchangeToken': giveTokens() })
    const { client, read } = await spawnWithMetrics(t, { LOGIN_URL: platform.url, API_URL: platform.url })
    await signIn(client.browser)
    const gauge = async () => Number(/^client_requests_open (\d+)$/m.exec(await read())?.[1])
    t.equal(await gauge(), 0)
    const answers: (() => void)[] = []
    platform.answer('GET /things', (_request, response) => {
      answers.push(() => send(response, { body: ['one'] }))
    })
    const hangUp = new AbortController()
    const headers = { cookie: client.browser.cookieHeader() }
    const open = [0, 1, 2].map(index =>
      request(`${client.url}/page`, { headers, signal: index === 0 ? hangUp.signal : null }),
    )
    const settled = Promise.allSettled(open)
    while (answers.length < 3) await setImmediate()
    t.equal(await gauge(), 3)
    hangUp.abort()
    while ((await gauge()) > 2) await setImmediate()
    for (const answer of answers) answer()
    for (const result of await settled) if (result.status === 'fulfilled') await result.value.body.dump()
    while ((await gauge()) > 0) await setImmediate()
    t.equal(await gauge(), 0)
  },
)

t.test(
  'LG-08: requests, logins, renewals and calls are counted, and no label contains an id, a token or a query',
  async t => {
    const platform = await startScriptedPlatform(t, { 'POST /api/exchangeToken': giveTokens() })
    const apiPlatform = await startScriptedPlatform(t, {
      ...smallApi,
      'GET /things/thing-1': { body: { name: 'one' } },
    })
    const client = await spawnClient(t, { LOGIN_URL: platform.url, API_URL: apiPlatform.url, METRICS_PORT: '0' })
    const { browser } = client
    const canary = `canary${randomBytes(8).toString('hex')}`
    const headers = { 'x-request-id': canary, 'user-agent': canary }

    const refused = await beginLogin(browser)
    await browser.get(callbackUrl(refused, { client_id: canary, subject: canary }), { site: 'cross-site', headers })
    t.equal((await signIn(browser)).statusCode, 200)
    platform.answer(
      'POST /api/exchangeToken',
      giveTokens({ access_token: accessTokenOf(canary), refresh_token: canary }),
    )
    browser.cookies.delete('__Host-session')
    t.equal((await browser.get(`/page?q=${canary}`, { headers })).statusCode, 200)
    await browser.get('/page/thing-1')
    await client.get('/page', { cookie: '__Host-session=sealed-by-another-key' })
    await browser.get(`/${canary}?code=${canary}`)
    await browser.get(`/page/%ff${canary}`)
    await browser.post(`/note?${canary}`, { formToken: canary })

    const read = async (path: string, method: 'GET' | 'POST' = 'GET') => {
      const { statusCode, headers, body } = await request(client.metricsUrl + path, { method })
      return { statusCode, type: headers['content-type'], text: await body.text() }
    }
    const { statusCode, type, text } = await read('/metrics')
    t.equal(statusCode, 200)
    t.match(type, 'text/plain')
    for (const line of [
      'client_requests_total{method="GET",route="/page",status="200"} 1',
      'client_requests_total{method="GET",route="/page/:id",status="200"} 1',
      'client_requests_total{method="GET",route="none",status="404"} 1',
      'client_logins_total{outcome="login_succeeded"} 1',
      'client_logins_total{outcome="login_callback_invalid"} 1',
      'client_refreshes_total{outcome="renewed"} 1',
      'client_refreshes_total{outcome="unreadable"} 1',
      'client_upstream_seconds_count{to="portal",status="200"} 2',
      'client_upstream_seconds_count{to="api",status="200"} 2',
    ])
      t.match(text, line)
    t.match(text, /^client_requests_open \d+$/m)
    t.notMatch(text, canary)
    t.notMatch(text, /thing-1|visitor-1|127\.0\.0\.1|code=|token/)

    t.equal((await read('/')).statusCode, 404)
    t.equal((await read('/metrics', 'POST')).statusCode, 404)
    t.equal((await client.get('/metrics')).statusCode, 404, 'the public port must not serve the metrics')

    client.child.kill('SIGTERM')
    t.same(await client.exited, [0, null])
    await t.rejects(read('/metrics'), { code: 'ECONNREFUSED' })
  },
)

t.test('if a metric cannot be collected, the answer is 500, the log says why, and the process continues', async t => {
  const lines: string[] = []
  const log = pino({}, { write: line => void lines.push(line) })
  const server = await createMetrics().listen('127.0.0.1', 0, log)
  t.teardown(() => server.close())
  const read = async () => {
    const { statusCode, body } = await request(`http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`)
    await body.dump()
    return statusCode
  }
  for (const error of [new Error('the table is locked'), undefined]) {
    const restore = t.intercept(Registry.prototype, 'metrics', { value: () => Promise.reject(error) }).restore
    t.equal(await read(), 500)
    restore()
  }
  t.match(JSON.parse(lines[0]!), { level: 50, event: 'metrics_failed', cause: { stack: /the table is locked/ } })
  t.equal(await read(), 200)
})
