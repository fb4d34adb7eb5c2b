// One form creates one application, even if the browser sends it several times or to several replicas.

import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { applicationsTexts } from '../../../src/client/applications/texts.ts'
import { signInTexts } from '../../../src/client/sign-in/texts.ts'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import { signIn, type TestClient, TestClock } from '../support/build-test-client.ts'
import { linksOf, readForm, textOf } from '../support/read-form.ts'
import { type Received, send } from '../support/scripted-platform.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

const typed = { name: 'Weather', redirectUris: 'https://weather.test/back' }
const environment = { COOKIE_KEYS: randomBytes(32).toString('base64url') }

/**
 * Signs a visitor in and opens the form for a new application. The API remembers new applications. The API's clock is
 * ahead of the client's clock by `apiIsAhead` seconds.
 */
async function openForm(t: Test, apiIsAhead = 0) {
  const clock = new TestClock()
  const api = rememberingApi({ read: () => new Date(clock.read().getTime() + apiIsAhead * 1000) })
  const test = await buildApplicationsClient(t, { clock, environment, scripts: api.scripts })
  await signIn(test.browser)
  const form: Record<string, string> = {
    ...readForm(await test.browser.get('/applications/new'), '/applications'),
    ...typed,
  }
  return { ...test, api, form }
}

/** Starts another replica. It has the same keys and the same platform, but its own memory. */
async function anotherReplica(t: Test, { platform, clock }: Pick<TestClient, 'platform' | 'clock'>) {
  return (await buildApplicationsClient(t, { platform, clock, environment })).client
}

t.test(
  'PG-15: if the same form is delivered twice, the client creates one application, and both answers lead to this application',
  async t => {
    const { browser, platform, form, api } = await openForm(t)
    const other = browser.copy()
    const first = await browser.post('/applications', form)
    const second = await other.post('/applications', form)
    t.equal(first.headers.location, '/applications/app-1')
    t.equal(second.headers.location, '/applications/app-1')
    t.equal(platform.received('POST /apps/v1').length, 1)
    t.match(
      (await other.get('/applications/app-1')).body,
      api.secrets[0]!,
      'both answers must lead to the secret, because the browser may get only one of the two answers',
    )
  },
)

t.test('F-41: if a form is sent twice at the same moment, the client creates one application', async t => {
  const { browser, platform, form } = await openForm(t)
  const copies = Array.from({ length: 10 }, () => browser.copy())
  const answers = await Promise.all(copies.map(copy => copy.post('/applications', form)))
  for (const { statusCode, headers } of answers) t.same([statusCode, headers.location], [303, '/applications/app-1'])
  t.equal(platform.received('POST /apps/v1').length, 1)
})

t.test(
  'F-41: if the visitor goes back and sends the form again unchanged, the answer leads to the same application',
  async t => {
    const { browser, platform, form, clock } = await openForm(t)
    await browser.post('/applications', form)
    await browser.get('/applications/app-1')
    clock.advance(9 * 60)
    const again = await browser.post('/applications', form)
    t.equal(again.headers.location, '/applications/app-1')
    t.equal(platform.received('POST /apps/v1').length, 1)
  },
)

t.test(
  'F-41: if the visitor changes a sent form and sends it again, the page asks for confirmation, and the next submission creates another application',
  async t => {
    const { browser, platform, form } = await openForm(t)
    await browser.post('/applications', form)
    await browser.get('/applications/app-1')
    const asked = await browser.post('/applications', { ...form, name: 'Tides' })
    t.equal(asked.statusCode, 409)
    t.match(textOf(asked, 'problem'), applicationsTexts.form.used)
    t.equal(platform.received('POST /apps/v1').length, 1)

    const fresh = readForm(asked, '/applications')
    t.equal(fresh.name, 'Tides')
    t.not(fresh.formToken, form.formToken)
    const answer = await browser.post('/applications', fresh)
    t.equal(answer.headers.location, '/applications/app-2')
    t.equal(platform.received('POST /apps/v1').length, 2)
  },
)

t.test(
  'PG-15: if a form is sent a second time, to another replica, this replica finds the created application in the list, and offers a new client secret',
  async t => {
    const test = await openForm(t)
    const { browser, platform, form, clock } = test
    // The answer was lost, so the browser did not get the cookie.
    await browser.copy().post('/applications', form)
    clock.advance(2)
    browser.server = await anotherReplica(t, test)
    const calls = platform.received().length
    const answer = await browser.post('/applications', form)
    t.equal(answer.statusCode, 303)
    t.same(
      platform
        .received()
        .slice(calls)
        .map(({ method, url }) => `${method} ${url}`)
        .filter(call => !call.includes('.well-known')),
      ['GET /apps/v1', 'GET /apps/v1/app-1'],
    )

    const page = await browser.get(String(answer.headers.location))
    t.equal(new URL(String(answer.headers.location), 'http://here').pathname, '/applications/app-1')
    t.match(textOf(page), applicationsTexts.details.createdEarlier)
    t.ok(linksOf(page).includes('/applications/app-1/secret'))
    t.equal(platform.received('POST /apps/v1').length, 1)
  },
)

t.test(
  'PG-15: a form creates a new application, even if an application that is older than the form has the same fields',
  async t => {
    const clock = new TestClock()
    const api = rememberingApi(clock)
    const { browser, platform } = await buildApplicationsClient(t, { clock, scripts: api.scripts })
    await signIn(browser)
    const older = { ...readForm(await browser.get('/applications/new'), '/applications'), ...typed }
    await browser.post('/applications', older)
    await browser.get('/applications/app-1')
    clock.advance(1)
    const form = { ...readForm(await browser.get('/applications/new'), '/applications'), ...typed }
    const answer = await browser.post('/applications', form)
    t.equal(answer.headers.location, '/applications/app-2')
    t.equal(platform.received('POST /apps/v1').length, 2)
  },
)

for (const [field, value] of [
  ['name', 'Weather 2'],
  ['description', 'Another'],
  ['webPageUrl', 'https://another.test/'],
  ['iconUrl', 'https://another.test/icon'],
  ['privacyPolicyUrl', 'https://another.test/privacy'],
  ['groupId', 'group-2'],
] as const) {
  t.test(
    `PG-15: if an application is newer than a form but has another value in the field ${field}, the form creates a new application`,
    async t => {
      const test = await openForm(t)
      const { browser, platform, form } = test
      await browser.copy().post('/applications', form)
      browser.server = await anotherReplica(t, test)
      const answer = await browser.post('/applications', { ...form, [field]: value })
      t.equal(answer.headers.location, '/applications/app-2')
      t.equal(platform.received('POST /apps/v1').length, 2)
    },
  )
}

t.test(
  'F-28: if a replica dies after the API has created the application, another replica finds the application',
  async t => {
    const test = await openForm(t)
    const { browser, platform, form, api } = test
    api.losesAnswers = true
    const lost = await browser.post('/applications', form)
    api.losesAnswers = false
    t.equal(lost.statusCode, 502)
    t.equal(api.records.size, 1)

    browser.server = await anotherReplica(t, test)
    const answer = await browser.post('/applications', form)
    t.equal(answer.statusCode, 303)
    t.match(textOf(await browser.get(String(answer.headers.location))), applicationsTexts.details.createdEarlier)
    t.equal(api.records.size, 1)
    t.equal(platform.received('POST /apps/v1').length, 1)
  },
)

t.test(
  'F-28: if the connection to the API breaks after the application was created, the replica that sent the call finds the application when the form arrives again',
  async t => {
    const { browser, form, api } = await openForm(t)
    api.losesAnswers = true
    const page = await browser.post('/applications', form)
    api.losesAnswers = false
    const answer = await browser.post('/applications', readForm(page, '/applications'))
    t.equal(answer.statusCode, 303)
    t.equal(api.records.size, 1)
  },
)

t.test('if a form was refused because of its fields, the corrected form creates the application', async t => {
  const { browser, platform, form, api } = await openForm(t)
  platform.answer('POST /apps/v1', {
    status: 422,
    body: { error: { status: 422, message: { redirectUris: ['Must be https.'] } } },
  })
  const refused = await browser.post('/applications', form)
  t.equal(refused.statusCode, 422)
  platform.answer('POST /apps/v1', api.scripts['POST /apps/v1']!)
  const answer = await browser.post('/applications', {
    ...readForm(refused, '/applications'),
    redirectUris: 'https://other.test/back',
  })
  t.equal(answer.headers.location, '/applications/app-1')
  t.match((await browser.get('/applications/app-1')).body, api.secrets[0]!)
})

for (const [what, answer] of Object.entries({
  'has status 500': { status: 500, body: {} },
  'has status 403': { status: 403, body: {} },
  'has status 404': { status: 404, body: {} },
  'is not a list': { body: { ItemList: 'many' } },
  'is too large': { body: JSON.stringify({ ItemList: [] }).padEnd(8 * 2 ** 20 + 1) },
  'has too many values': { body: { ItemList: Array.from({ length: 250_000 }, () => 0) } },
})) {
  t.test(
    `PG-15: if the API’s answer to the request for the list ${what}, the client still creates the application`,
    async t => {
      const { browser, platform, form, api } = await openForm(t)
      platform.answer('GET /apps/v1', answer)
      const other = browser.copy()
      const created = await browser.post('/applications', form)
      t.equal(created.headers.location, '/applications/app-1')
      t.match((await browser.get('/applications/app-1')).body, api.secrets[0]!)
      t.equal(
        (await other.post('/applications', form)).headers.location,
        '/applications/app-1',
        'the same form must not create another application',
      )
      t.equal(platform.received('POST /apps/v1').length, 1)
    },
  )
}

for (const apiIsAhead of [300, -300])
  t.test(
    `PG-15, F-20: if the API’s clock differs by ${apiIsAhead} seconds, a repeated form creates no second application, but a new form with the same fields creates one`,
    async t => {
      const test = await openForm(t, apiIsAhead)
      const { browser, form, api, clock } = test
      clock.advance(60)
      await browser.copy().post('/applications', form)
      browser.server = await anotherReplica(t, test)
      t.equal((await browser.post('/applications', form)).headers.location, '/applications/app-1')
      t.equal(api.records.size, 1)

      clock.advance(1)
      const second = { ...readForm(await browser.get('/applications/new'), '/applications'), ...typed }
      t.equal((await browser.post('/applications', second)).headers.location, '/applications/app-2')
      t.equal(api.records.size, 2)
    },
  )

for (const seconds of [300, -300])
  t.test(
    `PG-15, F-20: if a visitor sends a form again, to a replica whose clock differs by ${seconds} seconds, the replica finds the application that the form has created`,
    async t => {
      const test = await openForm(t)
      const { browser, platform, form, api } = test
      await browser.copy().post('/applications', form)
      const clock = new TestClock()
      clock.advance(seconds)
      browser.server = await anotherReplica(t, { platform, clock })
      t.equal((await browser.post('/applications', form)).headers.location, '/applications/app-1')
      t.equal(api.records.size, 1)
    },
  )

t.test(
  'PG-15, F-20: a repeated form creates no second application, even if the groups cannot be loaded and the API’s clock is five minutes behind',
  async t => {
    const test = await openForm(t, -300)
    const { browser, platform, api } = test
    platform.answer('GET /identities/v1/visitor-1/links', { status: 500, body: {} })
    const opened = readForm(await browser.get('/applications/new'), '/applications')
    const form = { ...opened, ...typed, groupId: 'group-1' }
    await browser.copy().post('/applications', form)
    browser.server = await anotherReplica(t, test)
    t.equal((await browser.post('/applications', form)).headers.location, '/applications/app-1')
    t.equal(api.records.size, 1)
  },
)

for (const [what, failing] of Object.entries({
  'but the answer is lost': undefined,
  'but answers with status 503': { status: 503, body: {} },
  'but answers with status 500': { status: 500, body: {} },
  'but sends an unusable answer': { status: 201, body: {} },
})) {
  t.test(
    `F-28: if the API creates an application, ${what}, the same form does not create a second application on any replica`,
    async t => {
      const test = await openForm(t)
      const { browser, platform, form, api } = test
      const script = api.scripts['POST /apps/v1'] as (request: Received, response: ServerResponse) => unknown
      platform.answer('POST /apps/v1', (request, response) => {
        api.losesAnswers = true
        if (failing) script(request, { destroy() {} } as ServerResponse)
        else script(request, response)
        api.losesAnswers = false
        if (failing) send(response, failing)
      })
      const lost = await browser.post('/applications', form)
      t.ok(lost.statusCode >= 502)
      t.equal(api.records.size, 1)
      platform.answer('POST /apps/v1', script)

      let again = readForm(lost, '/applications')
      for (const [status, problem] of [
        [500, upstreamTexts.api.failed],
        [404, signInTexts.api.notFound],
      ] as const) {
        platform.answer('GET /apps/v1', { status, body: {} })
        browser.server = await anotherReplica(t, test)
        const doubtful = await browser.post('/applications', again)
        t.equal(doubtful.statusCode, 502)
        t.match(textOf(doubtful, 'problem'), applicationsTexts.form.inDoubt(problem))
        again = readForm(doubtful, '/applications')
        t.equal(again.name, typed.name)
        t.equal(api.records.size, 1)
      }

      platform.answer('GET /apps/v1', api.scripts['GET /apps/v1']!)
      browser.server = await anotherReplica(t, test)
      const found = await browser.post('/applications', again)
      t.equal(found.headers.location, '/applications/app-1')
      t.equal(api.records.size, 1)
    },
  )
}

t.test(
  'PG-15: if the session ends while the client reads the list, the client asks the visitor to sign in, and does not create an application',
  async t => {
    const { browser, platform, form } = await openForm(t)
    platform.answer('GET /apps/v1', { status: 401, body: {} })
    platform.answer('POST /api/exchangeToken', { status: 401, body: { error: 'invalid_grant' } })
    t.equal((await browser.post('/applications', form)).statusCode, 401)
    t.equal(platform.received('POST /apps/v1').length, 0)
  },
)

t.test(
  'PG-15: if the API’s times are in whole seconds, the client finds an application that was created in the same second as the form',
  async t => {
    const clock = new TestClock()
    clock.advance(0.7)
    const api = rememberingApi(clock)
    const test = await buildApplicationsClient(t, { clock, environment, scripts: api.scripts })
    const { browser, platform } = test
    await signIn(browser)
    const form = { ...readForm(await browser.get('/applications/new'), '/applications'), ...typed }
    clock.advance(0.2)
    await browser.copy().post('/applications', form)
    browser.server = await anotherReplica(t, test)
    t.match((await browser.post('/applications', form)).headers.location, /^\/applications\/app-1\b/)
    t.equal(platform.received('POST /apps/v1').length, 1)
  },
)

t.test(
  'PG-15: if the API returns an application together with its redirect URIs and scopes, the client also compares these with the form, and finds the created application',
  async t => {
    const test = await openForm(t)
    const { browser, platform, form, api } = test
    await browser.post('/applications', form)
    const { redirectUris } = typed
    const client = { redirectUris, defaultRedirectUri: redirectUris, scopes: '', defaultScopes: '' }
    platform.answer('GET /apps/v1/app-1', { body: { ...api.records.get('app-1'), client } })
    browser.server = await anotherReplica(t, test)
    const again = await browser.post('/applications', form)
    t.match(again.headers.location, /^\/applications\/app-1\b/)
    t.equal(platform.received('POST /apps/v1').length, 1)
  },
)

t.test(
  'F-41: two forms with the same application name and different redirect URIs create two applications',
  async t => {
    const { browser, platform, form, clock, api } = await openForm(t)
    const second = { ...form, ...readForm(await browser.get('/applications/new'), '/applications'), ...typed }
    await browser.post('/applications', form)
    await browser.get('/applications/app-1')
    const { redirectUris } = typed
    const client = { redirectUris, defaultRedirectUri: redirectUris, scopes: '', defaultScopes: '' }
    platform.answer('GET /apps/v1/app-1', { body: { ...api.records.get('app-1'), client } })
    clock.advance(2)
    const answer = await browser.post('/applications', { ...second, redirectUris: 'https://weather.test/other' })
    t.equal(answer.headers.location, '/applications/app-2')
    t.equal(platform.received('POST /apps/v1').length, 2)
  },
)

t.test(
  'if a visitor creates two applications before opening the page with the first credentials, the answer to the second form shows the second credentials',
  async t => {
    const { browser, form, api } = await openForm(t)
    await browser.post('/applications', form)
    const second = { ...readForm(await browser.get('/applications/new'), '/applications'), ...typed, name: 'Tides' }
    const answer = await browser.post('/applications', second)
    t.equal(answer.statusCode, 201)
    t.match(answer.body, api.secrets[1]!)
    t.match((await browser.get('/applications/app-1')).body, api.secrets[0]!, 'the first secret must not be lost')
  },
)
