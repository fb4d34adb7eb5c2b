// Tests the log: every event has its name, its request id and a hash of its visitor, but no personal data.
import t, { type Test } from 'tap'
import { beginLogin, buildTestClient, callbackUrl, signIn } from '../support/build-test-client.ts'
import { readForm } from '../support/read-form.ts'
import { accessTokenOf, giveTokens } from '../support/scripted-platform.ts'
import { smallApi } from '../support/small-product.ts'

const person = { email: 'quill@example.test', name: 'Quill Example', given_name: 'Quill' }

async function start(t: Test) {
  const test = await buildTestClient(t, { scripts: smallApi, environment: { LOG_LEVEL: 'info' } })
  test.platform.answer('POST /api/exchangeToken', giveTokens({ access_token: accessTokenOf('visitor-1', person) }))
  /** Resolves to the log lines that `work` causes. */
  const logged = async (work: () => Promise<unknown>) => {
    const before = test.log.length
    await work()
    return test.log.slice(before).map(line => JSON.parse(line) as Record<string, unknown>)
  }
  return { ...test, logged }
}

type Started = Awaited<ReturnType<typeof start>>
const invalidGrant = { status: 401, body: { error: 'invalid_grant' } }
const unauthorized = { status: 401, body: { error: { status: 401, message: 'Unauthorized' } } }

/** Actions of a signed-in visitor, keyed by the event that each action logs. */
const ofVisitors: Record<string, (test: Started) => Promise<unknown>> = {
  signed_out: ({ browser }) => browser.post('/logout'),
  session_renewed: ({ browser, clock }) => {
    clock.advance(3_590)
    return browser.get('/page')
  },
  session_not_renewed: ({ browser, clock, platform }) => {
    clock.advance(3_590)
    platform.answer('POST /api/exchangeToken', { status: 500, body: '' })
    return browser.get('/page')
  },
  access_token_refused: ({ browser, platform }) => {
    platform.answer('GET /things', unauthorized)
    return browser.get('/page')
  },
  api_unreachable: ({ browser, platform }) => {
    platform.answer('GET /things', (_request, response) => response.destroy())
    return browser.get('/page')
  },
  api_busy: ({ browser, platform }) => {
    platform.answer('GET /things', { status: 429, body: {} })
    return browser.get('/page')
  },
}

for (const [event, work] of Object.entries(ofVisitors)) {
  t.test(`LG-04: the event ${event} is logged once, with a request id and the visitor as a hash`, async t => {
    const test = await start(t)
    await signIn(test.browser)
    const lines = (await test.logged(() => work(test))).filter(line => line.event === event)
    t.equal(lines.length, 1)
    t.match(lines[0]?.reqId, /^[\w-]{1,64}$/)
    t.match(lines[0]?.visitor, /^[\w-]{12}$/)
    t.notMatch(JSON.stringify(lines), 'visitor-1')
  })
}

/** Actions without a session, keyed by the event that each action logs. */
const ofAnybody: Record<string, (test: Started) => Promise<unknown>> = {
  login_succeeded: ({ browser }) => signIn(browser),
  login_declined: ({ browser }) => browser.get('/cancelled'),
  login_refused: async ({ browser }) =>
    browser.get(callbackUrl(await beginLogin(browser), { code: undefined, error: 'server_error' })),
  login_without_cookies: async ({ browser }) => browser.get(callbackUrl(await beginLogin(browser.copy()))),
  login_unknown: async ({ browser }) => {
    await beginLogin(browser)
    await browser.get(callbackUrl(await beginLogin(browser.copy())))
  },
  login_used: async ({ browser }) => {
    const started = await beginLogin(browser)
    await browser.get(callbackUrl(started))
    await browser.get(callbackUrl(started))
  },
  login_callback_invalid: ({ browser }) => browser.get('/exchangeToken?code=x'),
  invalid_grant: ({ browser, platform }) => {
    platform.answer('POST /api/exchangeToken', invalidGrant)
    return signIn(browser)
  },
  client_misconfigured: ({ browser, platform }) => {
    platform.answer('POST /api/exchangeToken', { status: 401, body: { error: 'invalid_client' } })
    return signIn(browser)
  },
  portal_unexpected: ({ browser, platform }) => {
    platform.answer('POST /api/exchangeToken', { body: { state: 'another' } })
    return signIn(browser)
  },
  session_ended: async ({ browser, platform, clock }) => {
    await signIn(browser)
    platform.answer('POST /api/exchangeToken', invalidGrant)
    clock.advance(3_601)
    await browser.get('/page')
  },
  session_unreadable: ({ browser }) => browser.get('/page', { headers: { cookie: '__Host-session=x' } }),
  cross_site_request: ({ browser }) => browser.post('/logout', {}, { site: 'cross-site' }),
}

for (const [event, work] of Object.entries(ofAnybody)) {
  t.test(`LG-04: the event ${event} is logged once, with a request id`, async t => {
    const test = await start(t)
    const lines = (await test.logged(() => work(test))).filter(line => line.event === event)
    t.equal(lines.length, 1)
    t.match(lines[0]?.reqId, /^[\w-]{1,64}$/)
  })
}

t.test('LG-04: after the sign-in, log lines distinguish visitors', async t => {
  const test = await start(t)
  const lines = await test.logged(async () => {
    await signIn(test.browser)
    await test.browser.get('/page')
  })
  const visitorOf = (event: string) => lines.filter(line => line.event === event).at(-1)?.visitor
  t.ok(visitorOf('login_succeeded'))
  t.equal(visitorOf('login_succeeded'), visitorOf('request'))
})

t.test('LG-06: no log line contains a person’s name or text that a visitor has typed', async t => {
  const test = await start(t)
  await signIn(test.browser)
  const { browser, platform } = test
  const form = { ...readForm(await browser.get('/note'), '/note'), note: 'Quiet weather, typed by Quill' }
  platform.answer('POST /things', { status: 503, body: {} })
  t.equal((await browser.post('/note', form)).statusCode, 503)
  platform.answer('POST /things', smallApi['POST /things']!)
  t.equal((await browser.post('/note', form)).statusCode, 303)
  await browser.get('/page?q=Quiet')
  t.notMatch(test.log.join(''), /quiet|quill|example\.test|visitor-1|127\.0\.0\.1/i)
})

t.test('LG-03: for any input, each log line is one JSON event without control characters', async t => {
  const { browser, client, platform, log } = await start(t)
  await signIn(browser)
  const planted = '\u001b[31m\u0007"\\{"level":60,"event":"planted"}\u2028'
  const headers = {
    'user-agent': planted.replace('\u2028', ''),
    'x-request-id': '"}\t{"level":60}',
    referer: planted.slice(0, 9),
  }
  const form = readForm(await browser.get('/note'), '/note')
  const line = `${planted}\n{"level":60,"event":"planted"}`
  await browser.post('/note', { ...form, note: line }, { headers })
  await browser.get(`/page?q=${encodeURIComponent(line)}`, { headers })
  await browser.get(callbackUrl(await beginLogin(browser), { code: undefined, error: line, error_description: line }))
  await client.inject({ url: `/${encodeURIComponent(line)}`, headers })
  await client.inject({ url: `/page/${encodeURIComponent(line)}`, headers })
  platform.answer('GET /things', { status: 500, body: line })
  await browser.get('/page', { headers })
  for (const entry of log) {
    t.match(JSON.parse(entry), { level: Number, event: String })
    t.not(JSON.parse(entry).event, 'planted')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression looks for control characters
    t.notMatch(entry.slice(0, -1), /[\u0000-\u001f\u007f]/)
  }
  t.ok(log.length > 10)
})

t.test('CT-05: for a health check, the client does not write a log line, and does not call the platform', async t => {
  const { client, platform, log } = await start(t)
  const [lines, calls] = [log.length, platform.received().length]
  for (const path of ['/health/live', '/health/ready']) {
    const { statusCode, headers, body } = await client.inject(path)
    t.equal(statusCode, 200, path)
    t.match(headers['content-type'], 'application/json', path)
    t.notMatch(body, /127\.0\.0\.1|http|client-credential/, path)
  }
  t.equal(log.length, lines)
  t.equal(platform.received().length, calls)
})
