// Tests two tabs of one browser in which different visitors sign in. A form acts only for the visitor who opened it.

import t, { type Test } from 'tap'
import { webTexts } from '../../../src/client/web/texts.ts'
import { signIn, TestClock } from '../support/build-test-client.ts'
import { linksOf, readForm, textOf } from '../support/read-form.ts'
import { accessTokenOf, giveTokens } from '../support/scripted-platform.ts'
import { applicationRecord } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

const typed = { name: 'Weather', redirectUris: 'https://weather.test/back' }

/** Visitor 1 opens a form. Then visitor 2 signs in with another tab. */
async function openFormAndChange(t: Test, path: string, action: string) {
  const clock = new TestClock()
  const api = rememberingApi(clock)
  api.records.set('app-1', applicationRecord('app-1'))
  const test = await buildApplicationsClient(t, { clock, scripts: api.scripts })
  await signIn(test.browser)
  const form = readForm(await test.browser.get(path), action)
  test.platform.answer('POST /api/exchangeToken', giveTokens({ access_token: accessTokenOf('visitor-2') }))
  test.platform.answer('GET /identities/v1/visitor-2/links', { status: 404, body: {} })
  await signIn(test.browser)
  return { ...test, form }
}

for (const [path, action, call] of [
  ['/applications/new', '/applications', 'POST /apps/v1'],
  ['/applications/app-1/edit', '/applications/app-1/edit', 'PUT /apps/v1/app-1'],
  ['/applications/app-1/secret', '/applications/app-1/secret', 'POST /apps/v1/app-1/refreshSecret'],
  ['/applications/app-1/delete', '/applications/app-1/delete', 'DELETE /apps/v1/app-1'],
] as const) {
  t.test(
    `F-42: if one visitor opened a form for ${action} and the next visitor sends it, the client refuses the form and changes nothing`,
    async t => {
      const { browser, platform, form } = await openFormAndChange(t, path, action)
      const calls = platform.received().length
      const page = await browser.post(action, { ...form, ...typed })
      t.equal(page.statusCode, 409)
      t.match(textOf(page), webTexts.form.otherVisitor)
      t.match(page.body, webTexts.page.signedInAs('<b>visitor-2</b>'), 'the page must say who is signed in')
      t.ok(linksOf(page).includes(path), 'the page must link to a new form')
      t.equal(platform.received(call).length, 0)
      t.equal(platform.received().length, calls)
    },
  )
}

t.test(
  'F-42: after a sign-out in one tab, a form in the other tab leads to a page that asks the visitor to sign in',
  async t => {
    const clock = new TestClock()
    const { browser, platform } = await buildApplicationsClient(t, { clock, scripts: rememberingApi(clock).scripts })
    await signIn(browser)
    const form = readForm(await browser.get('/applications/new'), '/applications')
    t.equal((await browser.post('/logout')).statusCode, 303)
    const page = await browser.post('/applications', { ...form, ...typed })
    t.equal(page.statusCode, 401)
    t.ok(linksOf(page).some(href => href.startsWith('/login')))
    t.equal(platform.received('POST /apps/v1').length, 0)
  },
)

t.test('PG-21: every signed-in page says who is signed in, and has a sign-out button', async t => {
  const clock = new TestClock()
  const api = rememberingApi(clock)
  api.records.set('app-1', applicationRecord('app-1'))
  const { browser } = await buildApplicationsClient(t, { clock, scripts: api.scripts })
  await signIn(browser)
  for (const path of [
    '/',
    '/applications',
    '/applications/new',
    '/applications/app-1',
    '/applications/app-1/edit',
    '/applications/app-1/secret',
    '/applications/app-1/delete',
  ]) {
    const page = await browser.get(path, { site: 'same-origin' })
    t.match(page.body, webTexts.page.signedInAs('<b>visitor-1</b>'), path)
    t.match(page.body, /<form class="account" method="post" action="\/logout">/, path)
  }
})

/** Visitor 1 creates an application, but does not open the page with its credentials yet. */
async function create(t: Test) {
  const clock = new TestClock()
  const api = rememberingApi(clock)
  const test = await buildApplicationsClient(t, { clock, scripts: api.scripts })
  await signIn(test.browser)
  const form = readForm(await test.browser.get('/applications/new'), '/applications')
  const answer = await test.browser.post('/applications', { ...form, ...typed })
  t.equal(answer.headers.location, '/applications/app-1')
  return { ...test, api, secret: api.secrets[0]! }
}

t.test('credentials are shown only on the page of their application', async t => {
  const { browser, api, secret } = await create(t)
  api.records.set('app-2', applicationRecord('app-2', { name: 'Another' }))
  for (const path of ['/applications/app-2', '/applications/app-2/edit', '/applications/new', '/applications']) {
    const page = await browser.get(path)
    t.equal(page.statusCode, 200)
    t.notMatch(page.body, secret, path)
  }
  t.match(
    (await browser.get('/applications/app-1')).body,
    secret,
    'the credentials must still be shown on the page of their application',
  )
})

t.test('credentials are shown only to the visitor who created the application', async t => {
  const { browser, platform, secret } = await create(t)
  platform.answer('POST /api/exchangeToken', giveTokens({ access_token: accessTokenOf('visitor-2') }))
  const left = browser.cookie('__Host-handover')
  await signIn(browser)
  const cookie = `${browser.cookieHeader(() => true)}; __Host-handover=${left}`
  const page = await browser.get('/applications/app-1', { headers: { cookie } })
  t.equal(page.statusCode, 200)
  t.match(page.body, webTexts.page.signedInAs('<b>visitor-2</b>'))
  t.notMatch(page.body, secret)
})
