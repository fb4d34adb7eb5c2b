// Tests the log entries of the pages for applications: each event has its name, its application and a hash of the
// visitor, but no secrets.
import t, { type Test } from 'tap'
import { signIn, TestClock } from '../support/build-test-client.ts'
import { noteSecrets } from '../support/note-secrets.ts'
import { readForm } from '../support/read-form.ts'
import { accessTokenOf, giveTokens, type send } from '../support/scripted-platform.ts'
import { applicationRecord } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

const person = { email: 'quill@example.test', name: 'Quill Example', given_name: 'Quill' }

async function start(t: Test) {
  const clock = new TestClock()
  const api = rememberingApi(clock)
  api.records.set('app-1', applicationRecord('app-1'))
  const test = await buildApplicationsClient(t, { clock, scripts: api.scripts, environment: { LOG_LEVEL: 'info' } })
  const { browser, platform } = test
  platform.answer('POST /api/exchangeToken', giveTokens({ access_token: accessTokenOf('visitor-1', person) }))
  platform.answer('PUT /apps/v1/app-1', { body: applicationRecord('app-1') })
  await signIn(browser)
  const send = async (page: string, action: string, typed: Record<string, string> = {}) =>
    browser.post(action, { ...readForm(await browser.get(page), action), ...typed })
  return { ...test, send }
}

type Started = Awaited<ReturnType<typeof start>>
const typed = { name: 'Weather', redirectUris: 'https://weather.test/back' }

const events: Record<string, (test: Started) => Promise<unknown>> = {
  application_created: ({ send }) => send('/applications/new', '/applications', typed),
  application_updated: ({ send }) => send('/applications/app-1/edit', '/applications/app-1/edit', typed),
  application_removed: ({ send }) => send('/applications/app-1/delete', '/applications/app-1/delete'),
  client_secret_renewed: ({ send }) => send('/applications/app-1/secret', '/applications/app-1/secret'),
  api_forbidden: ({ browser, platform }) => {
    platform.answer('GET /apps/v1', { status: 403, body: {} })
    return browser.get('/applications')
  },
}

for (const [event, work] of Object.entries(events)) {
  t.test(`LG-04: the event ${event} is logged once, with a request id and the visitor as a hash`, async t => {
    const test = await start(t)
    await work(test)
    const lines = test.log.map(line => JSON.parse(line)).filter(line => line.event === event)
    t.equal(lines.length, 1)
    t.match(lines[0]?.reqId, /^[\w-]{1,64}$/)
    t.match(lines[0]?.visitor, /^[\w-]{12}$/)
    t.notMatch(JSON.stringify(lines), 'visitor-1')
  })
}

t.test('LG-06: no log line contains a person’s name or text that a visitor has typed', async t => {
  const { browser, log, send } = await start(t)
  const words = { name: 'Quiet weather', description: 'Typed by Quill', webPageUrl: 'https://quiet.test/' }
  await send('/applications/new', '/applications', { ...words, redirectUris: 'https://quiet.test/back' })
  await send('/applications/app-1/edit', '/applications/app-1/edit', { ...words, redirectUris: '' })
  await browser.get('/applications?q=Quiet')
  t.notMatch(log.join(''), /quiet|quill|example\.test|visitor-1|127\.0\.0\.1/i)
})

t.test('LG-03: for any input, each log line is one JSON event without control characters', async t => {
  const { browser, client, log, send } = await start(t)
  const line = '\u001b[31m\u0007"\\{"level":60,"event":"planted"}\u2028\n{"level":60,"event":"planted"}'
  await send('/applications/new', '/applications', { ...typed, name: line, description: line })
  await browser.get(`/applications?q=${encodeURIComponent(line)}`)
  await client.inject(`/applications/${encodeURIComponent(line)}`)
  for (const entry of log) {
    t.match(JSON.parse(entry), { level: Number, event: String })
    t.not(JSON.parse(entry).event, 'planted')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression looks for control characters
    t.notMatch(entry.slice(0, -1), /[\u0000-\u001f\u007f]/)
  }
  t.ok(log.length >= 5)
})

t.test(
  'LG-01, LG-02, SE-04: no line of the log contains a client secret, an app access token or a form token',
  async t => {
    const clock = new TestClock()
    const api = rememberingApi(clock)
    api.records.set('app-1', applicationRecord('app-1'))
    const scripts = { ...api.scripts, 'PUT /apps/v1/app-1': { body: applicationRecord('app-1') } }
    const { browser, platform, secrets, plant, login, log, checkLog } = await noteSecrets(t, buildApplicationsClient, {
      clock,
      scripts,
    })
    t.equal((await login()).statusCode, 200)
    for (const [page, action] of [
      ['/applications/new', '/applications'],
      ['/applications/app-1/edit', '/applications/app-1/edit'],
      ['/applications/app-1/secret', '/applications/app-1/secret'],
      ['/applications/app-1/delete', '/applications/app-1/delete'],
    ] as const) {
      const form = readForm(await browser.get(page), action)
      const answer = await browser.post(action, { ...form, name: 'Weather', redirectUris: 'https://weather.test/' })
      t.equal(answer.statusCode, 303, action)
      await browser.get(String(answer.headers.location))
      await browser.post(action, form, { site: 'cross-site' })
      await browser.post(action, { formToken: plant() })
    }
    const answers: Parameters<typeof send>[1][] = [
      { body: `{"ItemList":["${plant()}"` },
      { status: 401, headers: { 'www-authenticate': plant() }, body: plant() },
      { status: 422, body: { error: { message: plant() } } },
      { status: 500, headers: { 'x-secret': plant() }, body: plant() },
    ]
    for (const answer of answers) {
      platform.answer('GET /apps/v1', answer)
      t.ok((await browser.copy().get('/applications')).statusCode >= 400)
    }
    t.equal(api.secrets.length, 2)
    for (const secret of api.secrets) secrets.add(secret)
    for (const number of [1, 2]) secrets.add(`app-access-token-${number}-of-app-2`)
    t.ok(log.length > 20, `${log.length} lines`)
    checkLog(t)
  },
)
