// Tests the page of one application, the form for a new client secret, and the form that removes the application.

import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { applicationsTexts } from '../../../src/client/applications/texts.ts'
import { signInTexts } from '../../../src/client/sign-in/texts.ts'
import { around } from '../../../src/client/texts.ts'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'
import { signIn, TestClock } from '../support/build-test-client.ts'
import { linksOf, readForm, textOf } from '../support/read-form.ts'
import { applicationRecord } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

const client = {
  clientId: 'app-1',
  redirectUris: 'https://weather.test/back, http://localhost:3000/back',
  defaultRedirectUri: 'http://localhost:3000/back',
  scopes: 'read',
  defaultScopes: '',
}
const environment = { COOKIE_KEYS: randomBytes(32).toString('base64url') }

/** Signs in a visitor who has two applications. */
async function withApplications(t: Test) {
  const clock = new TestClock()
  const api = rememberingApi(clock)
  for (const id of ['app-1', 'app-2']) api.records.set(id, applicationRecord(id, { name: `Name of ${id}` }, { client }))
  const test = await buildApplicationsClient(t, { clock, environment, scripts: api.scripts })
  await signIn(test.browser)
  return { ...test, api }
}

t.test('the page of an application shows its fields and links to its actions', async t => {
  const { browser, platform } = await withApplications(t)
  platform.answer('GET /apps/v1/app-1', {
    body: applicationRecord('app-1', { description: 'Rain', webPageUrl: 'https://weather.test/' }, { client }),
  })
  const page = await browser.get('/applications/app-1')
  t.equal(page.statusCode, 200)
  for (const text of ['Weather', 'Rain', 'app-1', 'group-1', 'https://weather.test/back', 'Jan 1, 2026, 12:00 AM UTC'])
    t.match(textOf(page), text)
  t.match(textOf(page), `http://localhost:3000/back ${applicationsTexts.details.defaultUri}`)
  t.ok(linksOf(page).includes('/applications/app-1/edit'))
  t.ok(linksOf(page).includes('/applications/app-1/secret'))
  t.ok(linksOf(page).includes('/applications/app-1/delete'))
  t.ok(linksOf(page).includes('/applications'))
})

t.test('an age counts whole units of time, and a time in the future is shown as now', async t => {
  const { browser, platform, clock } = await withApplications(t)
  const [current] = around(applicationsTexts.details.secret.current)
  for (const [days, age] of [
    [1.5, '1 day ago'],
    [59, '1 month ago'],
    [400, '1 year ago'],
    [-0.01, webTexts.justNow],
  ] as const) {
    const createdAt = new Date(clock.read().getTime() - days * 24 * 60 * 60 * 1000).toISOString()
    platform.answer('GET /apps/v1/app-1', {
      headers: { 'client-secrets-created': createdAt },
      body: applicationRecord('app-1', {}, { client }),
    })
    t.match(textOf(await browser.get('/applications/app-1')), `${current}${age}`)
  }
})

t.test('the page of an application says how old its client secrets are, and which fields are empty', async t => {
  const { browser, platform, clock } = await withApplications(t)
  const before = (days: number) => new Date(clock.read().getTime() - days * 24 * 60 * 60 * 1000).toISOString()
  const headers = { 'client-secrets-created': `${before(3)}, ${before(90)}` }
  platform.answer('GET /apps/v1/app-1', { headers, body: applicationRecord('app-1', {}, { client }) })
  const page = await browser.get('/applications/app-1')
  const text = textOf(page)
  const { secret, notFilledIn } = applicationsTexts.details
  const { labels } = applicationsTexts.form
  t.match(page.body, `</time>${around(secret.current)[1]}</p>`, 'no space before the full stop')
  t.match(text, `${around(secret.current)[0]}3 days ago`)
  t.match(text, `${around(secret.previous)[0]}3 months ago`)
  platform.answer('GET /apps/v1/app-1', {
    headers: { 'client-secrets-created': before(0) },
    body: applicationRecord('app-1', {}, { client }),
  })
  t.match(textOf(await browser.get('/applications/app-1')), `${around(secret.current)[0]}${webTexts.justNow}`)
  const empty = [labels.description, labels.webPageUrl, labels.iconUrl, labels.privacyPolicyUrl, labels.defaultScopes]
  t.match(text, `${notFilledIn} ${empty.join(', ')}`)

  for (const odd of ['', 'yesterday', ',,', 'x'.repeat(1_000), [before(1), before(2)]]) {
    platform.answer('GET /apps/v1/app-1', {
      headers: { 'client-secrets-created': odd },
      body: applicationRecord('app-1'),
    })
    const page = await browser.get('/applications/app-1')
    t.equal(page.statusCode, 200)
    t.notMatch(textOf(page), around(secret.current)[0], String(odd))
  }
})

t.test('the page of an application works if the API does not return the OAuth client', async t => {
  const { browser, platform } = await withApplications(t)
  platform.answer('GET /apps/v1/app-1', { body: applicationRecord('app-1') })
  const page = await browser.get('/applications/app-1')
  t.equal(page.statusCode, 200)
  t.notMatch(textOf(page), applicationsTexts.form.labels.redirectUris)
})

for (const [what, record] of Object.entries({
  'fields missing': { '@id': 'app-1' },
  'fields of other types': {
    '@id': 'app-1',
    data: { name: 5, description: {}, webPageUrl: [], iconUrl: null },
    metadata: { createdAt: {}, updatedAt: 'never' },
    inLinks: { '0': 1 },
    client: { redirectUris: [1, 'https://a.test/', null], scopes: 7, defaultScopes: {} },
  },
  'only nulls': { '@id': 'app-1', data: null, metadata: null, inLinks: null, client: null },
  'the fields of another resource': { '@id': 'app-1', '@type': 'Person', email: 'x@y.test', data: [] },
})) {
  t.test(`F-44: an application with ${what} is shown with placeholders, and can be edited`, async t => {
    const { browser, platform } = await withApplications(t)
    platform.answer('GET /apps/v1/app-1', { body: record })
    for (const path of ['/applications/app-1', '/applications/app-1/edit', '/applications/app-1/delete']) {
      const page = await browser.get(path)
      t.equal(page.statusCode, 200, path)
      // The random token of the form can contain any letters, even "NaN".
      const body = page.body.replace(/name="formToken" value="[^"]*"/, '')
      t.notMatch(body, /undefined|\[object Object\]|Invalid Date|NaN|null</, path)
    }
    t.match(textOf(await browser.get('/applications/app-1')), applicationsTexts.unnamed)
  })
}

for (const [what, answer, status] of [
  ['does not know the application', { status: 404, body: { error: { status: 404, message: 'App not found.' } } }, 404],
  ['forbids the call', { status: 403, body: { error: 'forbidden' } }, 403],
  ['answers without an application', { body: {} }, 502],
  ['answers with an id that does not fit into an address', { body: { '@id': '../admin' } }, 502],
  ['answers with a list', { body: [applicationRecord('app-1')] }, 502],
  ['answers 500', { status: 500, body: 'stack trace' }, 502],
  ['is busy', { status: 503, headers: { 'retry-after': '20' }, body: '' }, 503],
] as const) {
  t.test(`if the API ${what}, the page of an application offers a next step`, async t => {
    const { browser, platform } = await withApplications(t)
    platform.answer('GET /apps/v1/app-1', answer)
    for (const path of ['/applications/app-1', '/applications/app-1/edit', '/applications/app-1/delete']) {
      const page = await browser.get(path)
      t.equal(page.statusCode, status, path)
      t.match(page.body, /<a class="button" href="\//, path)
      t.match(textOf(page), around(webTexts.errorPage.requestId)[0].trim())
      t.notMatch(page.body, 'stack trace')
    }
    t.ok(browser.cookie('__Host-session'))
  })
}

t.test('a new client secret is shown once, and the page says which secrets still work', async t => {
  const { browser, platform, api } = await withApplications(t)
  const form = readForm(await browser.get('/applications/app-1/secret'), '/applications/app-1/secret')
  const answer = await browser.post('/applications/app-1/secret', form)
  t.equal(answer.statusCode, 303)
  t.equal(answer.headers.location, '/applications/app-1')

  const first = await browser.get('/applications/app-1')
  t.match(first.body, `>${api.secrets[0]}<`)
  t.match(textOf(first), applicationsTexts.credentials.newSecret('Name of app-1'))
  t.match(textOf(first), applicationsTexts.credentials.newSecretHint)
  t.equal(
    decodeURIComponent(
      linksOf(first)
        .find(link => link.startsWith('data:'))!
        .replace(/^[^,]*,/, ''),
    ),
    `# Name of app-1\nLOGIN_URL=${platform.url}\nAPI_URL=${platform.url}\nCLIENT_ID=app-1\nCLIENT_SECRET=${api.secrets[0]}\n`,
  )
  const second = await browser.get('/applications/app-1')
  t.notMatch(second.body, api.secrets[0]!)
  t.equal(platform.received('POST /apps/v1/app-1/refreshSecret').length, 1)
})

for (const [what, answer] of Object.entries({
  'no secret': { status: 201, body: {} },
  'a secret that is not a string': { status: 201, body: { clientSecret: ['s'] } },
  'no content': { status: 204, body: '' },
})) {
  t.test(
    `if the client requests a new secret and the API’s answer contains ${what}, the page says that the answer is not usable`,
    async t => {
      const { browser, platform } = await withApplications(t)
      const form = readForm(await browser.get('/applications/app-1/secret'), '/applications/app-1/secret')
      platform.answer('POST /apps/v1/app-1/refreshSecret', answer)
      const page = await browser.post('/applications/app-1/secret', form)
      t.equal(page.statusCode, 502)
      t.match(textOf(page), upstreamTexts.api.unexpected)
    },
  )
}

for (const [status, secret, shown] of [
  [200, 'of-a-200', true],
  [302, 'of-a-302', false],
  [409, 'of-a-409', false],
  [500, 'of-a-500', false],
] as const) {
  t.test(
    `if the API sends a new secret with status ${status}, the client ${shown ? 'shows' : 'does not show'} the secret`,
    async t => {
      const { browser, platform } = await withApplications(t)
      const form = readForm(await browser.get('/applications/app-1/secret'), '/applications/app-1/secret')
      platform.answer('POST /apps/v1/app-1/refreshSecret', { status, body: { clientSecret: secret } })
      const answer = await browser.post('/applications/app-1/secret', form)
      t.equal(answer.statusCode === 303, shown)
      const page = shown ? await browser.get('/applications/app-1') : answer
      t.equal(page.body.includes(secret), shown)
    },
  )
}

t.test('F-41: if a form for a new client secret is delivered twice, the client creates one secret', async t => {
  const { browser, platform, api } = await withApplications(t)
  const form = readForm(await browser.get('/applications/app-1/secret'), '/applications/app-1/secret')
  const copies = [browser.copy(), browser.copy()]
  await Promise.all(copies.map(copy => copy.post('/applications/app-1/secret', form)))
  t.equal(platform.received('POST /apps/v1/app-1/refreshSecret').length, 1)
  for (const copy of copies) t.match((await copy.get('/applications/app-1')).body, api.secrets[0]!)
})

const firstTimes = ['2026-02-28T12:00:00+00:00', '2026-02-01T12:00:00+00:00']

for (const [apiIsAhead, replicaIsAhead] of [
  [0, 0],
  [300, -300],
  [-300, 300],
] as const)
  t.test(
    `F-41, F-20: if a form for a new client secret reaches two replicas, only one secret is created (the API’s clock is ${apiIsAhead} seconds ahead, the second replica’s clock ${replicaIsAhead})`,
    async t => {
      const clock = new TestClock()
      const api = rememberingApi({ read: () => new Date(clock.read().getTime() + apiIsAhead * 1000) })
      api.records.set('app-1', applicationRecord('app-1'))
      api.secretTimes.set('app-1', firstTimes)
      const { browser, platform } = await buildApplicationsClient(t, { clock, environment, scripts: api.scripts })
      await signIn(browser)
      const path = '/applications/app-1/secret'
      const form = readForm(await browser.get(path), path)
      await browser.copy().post(path, form)
      t.equal(api.secrets.length, 1)

      const otherClock = new TestClock()
      otherClock.advance(replicaIsAhead)
      browser.server = (await buildApplicationsClient(t, { platform, clock: otherClock, environment })).client
      const refused = await browser.post(path, form)
      t.equal(refused.statusCode, 409)
      t.match(textOf(refused, 'problem'), applicationsTexts.secret.createdMeanwhile)
      t.equal(api.secrets.length, 1)

      t.equal((await browser.post(path, readForm(refused, path))).statusCode, 303)
      t.equal(api.secrets.length, 2, 'the visitor can decide to create another secret')
    },
  )

for (const [what, times, words] of [
  ['says that the secret exists', firstTimes, applicationsTexts.secret.createdMeanwhile],
  ['does not say whether the secret exists', undefined, applicationsTexts.secret.inDoubt],
] as const)
  t.test(
    `F-41: if the answer with a new client secret was lost, and the API ${what}, the page warns the visitor before a second secret is created`,
    async t => {
      const { browser, api } = await withApplications(t)
      if (times) api.secretTimes.set('app-1', [...times])
      const path = '/applications/app-1/secret'
      const form = readForm(await browser.get(path), path)
      api.losesAnswers = true
      const lost = await browser.post(path, form)
      api.losesAnswers = false
      t.equal(lost.statusCode, 502)
      const warning = await browser.post(path, readForm(lost, path))
      t.equal(warning.statusCode, 409)
      t.match(textOf(warning, 'problem'), words)
      t.equal(api.secrets.length, 1)
      t.equal((await browser.post(path, readForm(warning, path))).statusCode, 303)
      t.equal(api.secrets.length, 2)
    },
  )

t.test('F-41: the client remembers the result of a form while the visitor sends other forms', async t => {
  const { browser, platform } = await withApplications(t)
  const renew = async (id: string, form: Record<string, string>) => browser.post(`/applications/${id}/secret`, form)
  const [first, second] = [
    readForm(await browser.get('/applications/app-1/secret'), '/applications/app-1/secret'),
    readForm(await browser.get('/applications/app-2/secret'), '/applications/app-2/secret'),
  ]
  await renew('app-1', first)
  await renew('app-2', second)
  await renew('app-1', first)
  for (const id of ['app-1', 'app-2']) t.equal(platform.received(`POST /apps/v1/${id}/refreshSecret`).length, 1, id)
})

t.test('the title of every page of an application contains the name of the application', async t => {
  const { browser, api } = await withApplications(t)
  const titles = async () => {
    const pages = ['', '/edit', '/secret', '/delete'].map(path => browser.get(`/applications/app-1${path}`))
    return (await Promise.all(pages)).map(({ body }) => /<title>(.*?) · /.exec(body)?.[1])
  }
  t.same(await titles(), [
    'Name of app-1',
    applicationsTexts.form.editTitle('Name of app-1'),
    applicationsTexts.secret.title('Name of app-1'),
    applicationsTexts.remove.title('Name of app-1'),
  ])
  api.records.set('app-1', applicationRecord('app-1', { name: '' }, { client }))
  t.same(await titles(), [
    applicationsTexts.unnamed,
    applicationsTexts.form.editTitle(applicationsTexts.anApplication),
    applicationsTexts.secret.title(applicationsTexts.anApplication),
    applicationsTexts.remove.title(applicationsTexts.anApplication),
  ])
  const form = readForm(await browser.get('/applications/app-1/secret'), '/applications/app-1/secret')
  await browser.post('/applications/app-1/secret', form)
  t.match(
    textOf(await browser.get('/applications/app-1')),
    applicationsTexts.credentials.newSecret(applicationsTexts.anApplication),
  )
})

t.test(
  'a form of one application cannot create a secret for another application, and cannot remove another application',
  async t => {
    const { browser, platform, api } = await withApplications(t)
    const form = readForm(await browser.get('/applications/app-1/secret'), '/applications/app-1/secret')
    await browser.copy().post('/applications/app-1/secret', form)
    const other = browser.copy()
    await other.post('/applications/app-2/secret', form)
    t.notMatch(
      (await other.get('/applications/app-2')).body,
      api.secrets[0]!,
      'the page of app-2 must not show the secret of app-1',
    )

    const removal = readForm(await browser.get('/applications/app-1/delete'), '/applications/app-1/delete')
    await browser.post('/applications/app-1/delete', removal)
    const answer = await browser.post('/applications/app-2/delete', removal)
    const isGone = platform.received('DELETE /apps/v1/app-2').length === 1
    t.equal(
      answer.headers.location === '/applications',
      isGone,
      'the answer must redirect to the list only if the application was removed',
    )
  },
)

t.test('before an application is removed, a page says what will stop working and asks for confirmation', async t => {
  const { browser, platform } = await withApplications(t)
  const page = await browser.get('/applications/app-1/delete')
  t.equal(page.statusCode, 200)
  t.match(textOf(page), applicationsTexts.remove.heading('Name of app-1'))
  t.match(textOf(page), applicationsTexts.remove.noSignIn)
  t.match(textOf(page), applicationsTexts.remove.secretsStop)
  t.ok(linksOf(page).includes('/applications/app-1'), 'the page must link back to the application')
  t.equal(platform.received('DELETE /apps/v1/app-1').length, 0)
})

t.test('before a new client secret is created, a page says which secret stops working', async t => {
  const { browser, platform, clock } = await withApplications(t)
  const before = (days: number) => new Date(clock.read().getTime() - days * 24 * 60 * 60 * 1000).toISOString()
  const { oldStops, noneStops, previousStops } = applicationsTexts.secret
  for (const [created, expected] of [
    [before(3), noneStops],
    [`${before(3)}, ${before(90)}`, `${around(previousStops)[0]}3 months ago`],
    ['', oldStops],
  ] as const) {
    const headers = { 'client-secrets-created': created }
    platform.answer('GET /apps/v1/app-1', { headers, body: applicationRecord('app-1', {}, { client }) })
    const text = textOf(await browser.get('/applications/app-1/secret'))
    for (const one of [noneStops, `${around(previousStops)[0]}3 months ago`, oldStops])
      t.equal(text.includes(one), one === expected, `${created}: ${one}`)
  }
})

t.test('after an application was removed, the list says so and no longer contains the application', async t => {
  const { browser, platform } = await withApplications(t)
  const form = readForm(await browser.get('/applications/app-1/delete'), '/applications/app-1/delete')
  const answer = await browser.post('/applications/app-1/delete', form)
  t.equal(answer.statusCode, 303)
  t.equal(platform.received('DELETE /apps/v1/app-1').length, 1)
  const list = await browser.get(String(answer.headers.location))
  t.match(textOf(list), applicationsTexts.list.removed)
  t.notOk(linksOf(list).includes('/applications/app-1'))
  t.equal((await browser.get('/applications/app-1')).statusCode, 404)
})

t.test(
  'F-41: if the form that removes an application is delivered twice, the client removes the application once, and both requests get the same answer',
  async t => {
    const { browser, platform } = await withApplications(t)
    const form = readForm(await browser.get('/applications/app-1/delete'), '/applications/app-1/delete')
    const [first, second] = [
      await browser.post('/applications/app-1/delete', form),
      await browser.post('/applications/app-1/delete', form),
    ]
    t.equal(first.statusCode, 303)
    t.equal(second.statusCode, 303)
    t.equal(platform.received('DELETE /apps/v1/app-1').length, 1)
  },
)

t.test(
  'if the answer to a removal is lost, and the application is gone, the list says that it was removed',
  async t => {
    const { browser, platform, api } = await withApplications(t)
    const form = readForm(await browser.get('/applications/app-1/delete'), '/applications/app-1/delete')
    api.losesAnswers = true
    const answer = await browser.post('/applications/app-1/delete', form)
    t.equal(answer.statusCode, 303)
    t.equal(platform.received('DELETE /apps/v1/app-1').length, 1)
    t.match(textOf(await browser.get(String(answer.headers.location))), applicationsTexts.list.removed)
  },
)

t.test(
  'if a removal fails but takes effect later, the page after the next submission says that the application was removed',
  async t => {
    const { browser, platform, api } = await withApplications(t)
    const path = '/applications/app-1/delete'
    const form = readForm(await browser.get(path), path)
    const remove = platform.script('DELETE /apps/v1/app-1')
    platform.answer('DELETE /apps/v1/app-1', { status: 500, body: {} })
    const failed = await browser.post(path, form)
    t.equal(failed.statusCode, 502)
    t.match(textOf(failed, 'problem'), upstreamTexts.api.failed)
    api.records.delete('app-1')
    platform.answer('DELETE /apps/v1/app-1', remove)
    const answer = await browser.post(path, readForm(failed, path))
    t.equal(answer.statusCode, 303)
    t.match(textOf(await browser.get(String(answer.headers.location))), applicationsTexts.list.removed)
  },
)

t.test('if somebody else has removed the application, the form to remove it answers 404', async t => {
  const { browser, api } = await withApplications(t)
  const form = readForm(await browser.get('/applications/app-1/delete'), '/applications/app-1/delete')
  api.records.delete('app-1')
  t.equal((await browser.post('/applications/app-1/delete', form)).statusCode, 404)
})

for (const action of ['secret', 'delete'] as const) {
  const [path, call] =
    action === 'secret'
      ? ['/applications/app-1/secret', 'POST /apps/v1/app-1/refreshSecret']
      : ['/applications/app-1/delete', 'DELETE /apps/v1/app-1']
  t.test(
    `UP-14: if the API answers 403 to the call of the ${action} form, a page says so, and the session is not renewed`,
    async t => {
      const { browser, platform } = await withApplications(t)
      platform.answer(call, { status: 403, body: { error: { status: 403, message: 'Permission denied' } } })
      const form = readForm(await browser.get(path), `/applications/app-1/${action}`)
      const page = await browser.post(`/applications/app-1/${action}`, form)
      t.equal(page.statusCode, 403)
      t.match(textOf(page), signInTexts.api.forbidden)
      t.equal(platform.received('POST /api/exchangeToken').length, 1)
    },
  )

  t.test(`a ${action} form without a form token, or with a forged form token, does nothing`, async t => {
    const { browser, platform } = await withApplications(t)
    for (const form of [{}, { formToken: 'forged' }, { formToken: browser.cookie('__Host-session')! }]) {
      const page = await browser.post(`/applications/app-1/${action}`, form as Record<string, string>)
      t.equal(page.statusCode, 409)
      t.match(textOf(page), webTexts.form.tooOld)
      t.ok(readForm(page, path).formToken, 'the page must have a form that can be sent')
    }
    t.equal(platform.received(call).length, 0)
  })
}

t.test('F-44: if the name of an application contains half a surrogate pair, the new secret is shown', async t => {
  const { browser, api } = await withApplications(t)
  api.records.set('app-1', applicationRecord('app-1', { name: '\ud800x' }, { client }))
  const form = readForm(await browser.get('/applications/app-1/secret'), '/applications/app-1/secret')
  t.equal((await browser.post('/applications/app-1/secret', form)).statusCode, 303)
  const shown = await browser.get('/applications/app-1')
  t.equal(shown.statusCode, 200)
  t.match(shown.body, api.secrets.at(-1)!)
})
