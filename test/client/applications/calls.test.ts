// Tests how many API calls the pages for applications make, and what these calls contain. The addresses of the calls
// come only from the settings.
import t, { type Test } from 'tap'
import { clientId, clientSecret, signIn, TestClock } from '../support/build-test-client.ts'
import { readForm } from '../support/read-form.ts'
import { startListener } from '../support/start-listener.ts'
import { applicationRecord, collection } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

const typed = { groupId: 'group-1', name: 'Tides', redirectUris: 'https://a.test/' }

t.test(
  'DO-14: a page makes one API call, or two calls if it needs the name of a group or the session was renewed',
  async t => {
    const { browser, platform, clock } = await buildApplicationsClient(t)
    const total = () => platform.received().filter(({ url }) => !url.startsWith('/.well-known/')).length
    const calls = async (work: Promise<unknown>) => {
      const before = total()
      await work
      return total() - before
    }
    platform.answer('GET /apps/v1', { body: collection([]) })
    platform.answer('GET /apps/v1/app-1', { body: applicationRecord('app-1') })
    platform.answer('PUT /apps/v1/app-1', { body: applicationRecord('app-1') })
    platform.answer('GET /identities/v1/visitor-1/links', { body: collection([]) })
    await signIn(browser)
    t.equal(await calls(browser.get('/applications')), 1)
    t.equal(await calls(browser.get('/applications/app-1')), 2)
    const form = readForm(await browser.get('/applications/app-1/edit'), '/applications/app-1/edit')
    const changes = { ...form, redirectUris: 'https://a.test/' }
    t.equal(
      await calls(browser.post('/applications/app-1/edit', changes)),
      2,
      'without an ETag the client must read the application first',
    )
    t.equal(await calls(browser.post('/applications/app-1/edit', { ...changes, etag: '"1"' })), 1)
    t.equal(await calls(browser.get('/applications/new')), 1)
    clock.advance(3_601)
    t.equal(await calls(browser.get('/applications')), 2, 'the renewal must add one call')
    clock.advance(3_601)
    t.equal(
      await calls(browser.get('/applications/app-1')),
      2,
      'after a renewal, the client must not request the groups',
    )
  },
)

/** Returns a function that sends a form and returns the calls that the client then makes. */
function countCalls(t: Test, { browser, platform }: Awaited<ReturnType<typeof buildApplicationsClient>>) {
  return async (action: string, form: Record<string, string>, status = 303) => {
    const before = platform.received().length
    const answer = await browser.post(action, form)
    t.equal(answer.statusCode, status, action)
    return platform
      .received()
      .slice(before)
      .filter(({ url }) => !url.startsWith('/.well-known/'))
      .map(({ method, url }) => `${method} ${url}`)
  }
}

t.test(
  'DO-14: a form about one application makes at most two API calls, and one renewal if a renewal is due',
  async t => {
    const clock = new TestClock()
    const api = rememberingApi(clock, [clientId, 'app-1', 'app-2'])
    const test = await buildApplicationsClient(t, { clock, scripts: api.scripts })
    const { browser, platform } = test
    const send = countCalls(t, test)
    await signIn(browser)
    const renewal = 'POST /api/exchangeToken'
    const open = async (path: string) => {
      for (const id of [clientId, 'app-1']) api.records.set(id, applicationRecord(id))
      const form = readForm(await browser.get(path), path)
      clock.advance(3_601)
      return form
    }
    platform.answer('PUT /apps/v1/app-1', { body: applicationRecord('app-1') })

    const secret = '/applications/app-1/secret'
    t.same(await send(secret, await open(secret)), [renewal, 'GET /apps/v1/app-1', 'POST /apps/v1/app-1/refreshSecret'])
    await browser.get('/applications/app-1', { site: 'same-origin' })
    const removal = '/applications/app-1/delete'
    t.same(await send(removal, await open(removal)), [renewal, 'DELETE /apps/v1/app-1'])
    const edit = '/applications/app-1/edit'
    const changes = { redirectUris: 'https://a.test/' }
    t.same(await send(edit, { ...(await open(edit)), ...changes }), [
      renewal,
      'GET /apps/v1/app-1',
      'PUT /apps/v1/app-1',
    ])
    t.same(await send(edit, { ...(await open(edit)), ...changes, etag: '"1"' }), [renewal, 'PUT /apps/v1/app-1'])
    const ownRemoval = `/applications/${clientId}/delete`
    t.same(await send(ownRemoval, { ...(await open(ownRemoval)), confirmation: 'Weather' }), [
      renewal,
      `GET /apps/v1/${clientId}`,
      `DELETE /apps/v1/${clientId}`,
    ])
  },
)

for (const hasTags of [true, false]) {
  t.test(
    `DO-14: after the visitor has chosen between two changes, the client reads the application, and updates it once (${hasTags ? 'with' : 'without'} an ETag)`,
    async t => {
      const test = await buildApplicationsClient(t)
      const { browser, platform } = test
      const send = countCalls(t, test)
      const path = '/applications/app-1/edit'
      const headers: Record<string, string> = hasTags ? { etag: '"1"' } : {}
      platform.answer('GET /apps/v1/app-1', { headers, body: applicationRecord('app-1') })
      await signIn(browser)
      const form = { ...readForm(await browser.get(path), path), redirectUris: 'https://a.test/', choosing: 'yes' }
      const choices = { 'keep-redirectUris': 'typed', 'keep-name': 'stored' }
      const calls = ['GET /apps/v1/app-1', 'PUT /apps/v1/app-1']
      platform.answer('PUT /apps/v1/app-1', { status: 412, body: {} })
      t.same(await send(path, { ...form, ...choices }, 412), calls)
      platform.answer('PUT /apps/v1/app-1', { body: applicationRecord('app-1') })
      t.same(await send(path, { ...form, ...choices }), calls)
    },
  )
}

t.test(
  'DO-14: if an application has changed since the form was shown, the client reads the application, and repeats the update at most once',
  async t => {
    const test = await buildApplicationsClient(t)
    const { browser, platform } = test
    const path = '/applications/app-1/edit'
    platform.answer('GET /apps/v1/app-1', { headers: { etag: '"1"' }, body: applicationRecord('app-1') })
    platform.answer('PUT /apps/v1/app-1', { status: 412, body: {} })
    await signIn(browser)
    const form = { ...readForm(await browser.get(path), path), redirectUris: 'https://a.test/' }
    t.same(await countCalls(t, test)(path, form, 412), [
      'PUT /apps/v1/app-1',
      'GET /apps/v1/app-1',
      'PUT /apps/v1/app-1',
    ])
  },
)

t.test(
  'DO-14: to create an application, the client makes two calls; similar applications cause up to three more calls, and a new group causes two more',
  async t => {
    const clock = new TestClock()
    const api = rememberingApi(clock)
    const test = await buildApplicationsClient(t, { clock, scripts: api.scripts })
    const { browser, platform } = test
    await signIn(browser)
    const create = async (more: Record<string, string> = {}) => {
      browser.cookies.delete('__Host-handover')
      const form = readForm(await browser.get('/applications/new'), '/applications')
      return (await countCalls(t, test)('/applications', { ...form, ...typed, ...more })).length
    }
    t.equal(await create(), 2)

    const createdAt = '2027-01-01T00:00:00+00:00'
    const client = { redirectUris: 'https://other.test/', defaultRedirectUri: '', scopes: '', defaultScopes: '' }
    const alike = Array.from({ length: 50 }, (_, index) =>
      applicationRecord(`app-${index + 1}`, { name: 'Tides' }, { metadata: { createdAt }, client }),
    )
    platform.answer('GET /apps/v1', { body: collection(alike.map(record => ({ ...record, client: undefined }))) })
    for (const record of alike) platform.answer(`GET /apps/v1/${record['@id']}`, { body: record })
    t.equal(await create(), 5)
    platform.answer('GET /identities/v1/visitor-1/links', { body: collection([]) })
    platform.answer('POST /identities/v1', { status: 201, body: { '@id': 'group-1' } })
    t.equal(await create({ groupId: '', groupName: 'Weather people' }), 7)
  },
)

t.test(
  'UP-14: if the API always answers 401, a page or a form makes two API calls and one renewal, and then offers the login',
  async t => {
    const clock = new TestClock()
    const api = rememberingApi(clock)
    const { browser, platform } = await buildApplicationsClient(t, { clock, scripts: api.scripts })
    api.records.set('app-1', applicationRecord('app-1'))
    await signIn(browser)
    clock.advance(31)
    const about = ['edit', 'secret', 'delete'].map(action => `/applications/app-1/${action}`)
    const forms = new Map<string, Record<string, string>>()
    for (const path of about) forms.set(path, readForm(await browser.get(path), path))
    forms.set('/applications', { ...readForm(await browser.get('/applications/new'), '/applications'), ...typed })
    for (const call of Object.keys(api.scripts)) platform.answer(call, { status: 401, body: {} })
    platform.answer('PUT /apps/v1/app-1', { status: 401, body: {} })
    const judge = async (what: string, send: (jar: typeof browser) => ReturnType<typeof browser.get>) => {
      const before = platform.received().length
      const answer = await send(browser.copy())
      t.ok([302, 401].includes(answer.statusCode), what)
      const calls = platform.received().slice(before)
      t.equal(calls.filter(({ url }) => url.startsWith('/api/')).length, 1, `${what}: one renewal`)
      t.equal(calls.filter(({ url }) => /^\/(apps|identities)\//.test(url)).length, 2, `${what}: two API calls`)
      // For ten seconds, other requests share the result of a renewal. The next request must come later, so that it
      // causes its own renewal.
      clock.advance(11)
    }
    for (const path of ['/applications', '/applications/new', '/applications/app-1', ...about])
      await judge(`GET ${path}`, jar => jar.get(path))
    for (const [path, form] of forms)
      await judge(`POST ${path}`, jar => jar.post(path, { ...form, redirectUris: 'https://a.test/' }))
  },
)

t.test('UP-12, UP-15: no call contains the client secret or data from the browser’s request', async t => {
  const clock = new TestClock()
  const { browser, platform } = await buildApplicationsClient(t, { clock, scripts: rememberingApi(clock).scripts })
  await signIn(browser)
  const headers = { 'user-agent': 'canary', 'x-anything': 'canary', referer: 'http://localhost:3000/canary' }
  const form = readForm(await browser.get('/applications/new', { headers }), '/applications')
  await browser.post('/applications', { ...form, ...typed }, { headers })
  const calls = platform.received().filter(({ url }) => /^\/(apps|identities)\//.test(url))
  t.equal(calls.length, 3)
  t.notMatch(JSON.stringify(calls), clientSecret)
  const allowed = /^(host|connection|accept|accept-encoding|authorization|content-type|content-length|x-request-id)$/
  for (const { headers, url } of calls) {
    t.notMatch(JSON.stringify(headers), 'canary', url)
    t.same(
      Object.keys(headers).filter(name => !allowed.test(name)),
      [],
      url,
    )
  }
})

async function start(t: Test) {
  const clock = new TestClock()
  const api = rememberingApi(clock)
  api.records.set('app-1', applicationRecord('app-1'))
  const test = await buildApplicationsClient(t, { clock, scripts: api.scripts })
  await signIn(test.browser)
  return { ...test, listener: await startListener(t) }
}

for (const status of [301, 302, 303, 307, 308, 300, 304]) {
  t.test(
    `UP-02, F-14: if the API answers with a redirect (status ${status}), the client does not follow the redirect`,
    async t => {
      const { browser, platform, listener } = await start(t)
      const redirect = { status, headers: { location: `${listener.url}/steal` }, body: '' }
      const form = readForm(await browser.get('/applications/new'), '/applications')
      const secret = readForm(await browser.get('/applications/app-1/secret'), '/applications/app-1/secret')
      const removal = readForm(await browser.get('/applications/app-1/delete'), '/applications/app-1/delete')
      const edit = readForm(await browser.get('/applications/app-1/edit'), '/applications/app-1/edit')
      const changing = [
        'POST /apps/v1',
        'PUT /apps/v1/app-1',
        'POST /apps/v1/app-1/refreshSecret',
        'DELETE /apps/v1/app-1',
      ]
      for (const call of changing) platform.answer(call, redirect)
      const typed = { name: 'Weather', redirectUris: 'https://weather.test/back' }
      t.equal((await browser.post('/applications', { ...form, ...typed })).statusCode, 502)
      t.equal((await browser.post('/applications/app-1/edit', { ...edit, ...typed })).statusCode, 502)
      t.equal((await browser.post('/applications/app-1/secret', secret)).statusCode, 502)
      t.equal((await browser.post('/applications/app-1/delete', removal)).statusCode, 502)
      for (const call of ['GET /apps/v1', 'GET /apps/v1/app-1', 'GET /identities/v1/visitor-1/links'])
        platform.answer(call, redirect)
      t.equal((await browser.get('/applications')).statusCode, 502)
      t.equal((await browser.get('/applications/app-1')).statusCode, 502)
      t.equal(
        (await browser.get('/applications/new')).statusCode,
        200,
        'the form must be shown even if the groups cannot be read',
      )
      t.equal(listener.connections, 0)
    },
  )
}

t.test('UP-01: the client never calls an address from a record, an answer or a form', async t => {
  const { browser, platform, listener } = await start(t)
  const evil = listener.url
  const record = applicationRecord('app-1', { webPageUrl: evil, iconUrl: evil, privacyPolicyUrl: evil })
  platform.answer('GET /apps/v1/app-1', {
    headers: { link: `<${evil}>; rel=next` },
    body: { ...record, '@context': evil },
  })
  platform.answer('GET /apps/v1', { body: { '@context': evil, next: evil, ItemList: [record] } })
  for (const path of [
    '/applications',
    '/applications/app-1',
    `/applications?q=${evil}&page=${evil}`,
    `/applications/${encodeURIComponent(evil)}`,
  ])
    await browser.get(path)
  const form = readForm(await browser.get('/applications/new'), '/applications')
  const urls = { webPageUrl: evil, iconUrl: evil, privacyPolicyUrl: evil, redirectUris: evil, defaultRedirectUri: evil }
  t.equal((await browser.post('/applications', { ...form, ...urls, name: evil })).statusCode, 303)
  t.equal(listener.connections, 0)
})
