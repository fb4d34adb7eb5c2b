// Where the calls of the applications go is a matter of the settings: no redirect is followed, and no address is asked.
import t, { type Test } from 'tap'
import { signIn, TestClock } from '../support/build-test-client.ts'
import { readForm } from '../support/read-form.ts'
import { startListener } from '../support/start-listener.ts'
import { applicationRecord } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

async function start(t: Test) {
  const clock = new TestClock()
  const api = rememberingApi(clock)
  api.records.set('app-1', applicationRecord('app-1'))
  const test = await buildApplicationsClient(t, { clock, scripts: api.scripts })
  await signIn(test.browser)
  return { ...test, listener: await startListener(t) }
}

for (const status of [301, 302, 303, 307, 308, 300, 304]) {
  t.test(`UP-02, F-14: a ${status} of the API is followed nowhere`, async t => {
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
    t.equal((await browser.get('/applications/new')).statusCode, 200, 'groups are only an offer')
    t.equal(listener.connections, 0)
  })
}

t.test('UP-01: no address in a record, an answer or a form is asked', async t => {
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
