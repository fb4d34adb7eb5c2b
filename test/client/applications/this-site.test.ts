// The client itself is an application of the platform. The visitor who registered the client finds it in the list.

import t, { type Test } from 'tap'
import { applicationsTexts } from '../../../src/client/applications/texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'
import { clientId, signIn, TestClock } from '../support/build-test-client.ts'
import { faultOf, readForm, textOf } from '../support/read-form.ts'
import { giveTokens } from '../support/scripted-platform.ts'
import { applicationRecord } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

const here = `/applications/${clientId}`

/** Signs in a visitor who has two applications: this site's own application, and another one. */
async function start(t: Test, name = 'Reference  client') {
  const clock = new TestClock()
  const api = rememberingApi(clock, [clientId, 'app-1'])
  api.records.set(clientId, applicationRecord(clientId, { name }))
  api.records.set('app-1', applicationRecord('app-1'))
  const test = await buildApplicationsClient(t, { clock, scripts: api.scripts })
  await signIn(test.browser)
  return { ...test, clock, api }
}

t.test('only this site’s own application is marked in the list and on its page', async t => {
  const { browser } = await start(t)
  for (const path of ['/applications', here])
    t.equal((await browser.get(path)).body.split(`>${applicationsTexts.thisSite}<`).length, 2, path)
  t.notMatch((await browser.get('/applications/app-1')).body, applicationsTexts.thisSite)
})

for (const [action, call, words] of [
  ['secret', `POST /apps/v1/${clientId}/refreshSecret`, applicationsTexts.secret.thisSiteKeeps],
  ['delete', `DELETE /apps/v1/${clientId}`, applicationsTexts.remove.thisSiteStops],
] as const) {
  const path = `${here}/${action}`

  t.test(`the ${action} page of this site’s own application says what will happen, and asks for the name`, async t => {
    const { browser, platform, clock } = await start(t)
    const page = await browser.get(path)
    t.match(textOf(page), `${applicationsTexts.secret.thisSite} ${words}`)
    t.match(textOf(page), applicationsTexts.confirmation.hint('Reference client'))
    const { confirmation: _, ...form } = readForm(page, path)
    for (const typed of [
      {},
      { confirmation: '' },
      { confirmation: 'reference client' },
      { confirmation: 'x'.repeat(9_000) },
    ]) {
      const refused = await browser.post(path, { ...form, ...(typed as Record<string, string>) })
      t.equal(refused.statusCode, 422)
      t.match(textOf(refused, 'problem'), applicationsTexts.confirmation.differs)
      t.equal(faultOf(refused, 'confirmation'), applicationsTexts.confirmation.differs)
      t.equal(readForm(refused, path).confirmation, 'confirmation' in typed ? typed.confirmation : '')
    }
    t.equal(platform.received(call).length, 0)
    clock.advance(3601)
    platform.answer('POST /api/exchangeToken', { status: 500, body: {} })
    const failed = await browser.post(path, { ...form, confirmation: ' Reference client ' })
    t.equal(failed.statusCode, 502)
    t.equal(readForm(failed, path).confirmation, ' Reference client ', 'PG-14: the page must keep the typed name')
    t.equal(platform.received(call).length, 0)
    platform.answer('POST /api/exchangeToken', giveTokens({}))
    const done = await browser.post(path, readForm(failed, path))
    t.equal(done.statusCode, 303)
    t.equal(platform.received(call).length, 1)
    if (action === 'secret') t.match(textOf(await browser.get(here)), applicationsTexts.credentials.ofThisSite)
  })

  t.test(`the ${action} page of another application asks for confirmation, but not for the name`, async t => {
    const { browser } = await start(t)
    const other = `/applications/app-1/${action}`
    const page = await browser.get(other)
    t.notMatch(page.body, 'confirmation')
    t.notMatch(textOf(page), 'the site that you are using')
    t.match(textOf(page), action === 'delete' ? applicationsTexts.remove.atOnce : applicationsTexts.secret.currentStays)
    if (action === 'secret') t.match(textOf(page), applicationsTexts.secret.oldStops)
    t.equal((await browser.post(other, readForm(page, other))).statusCode, 303)
  })
}

t.test(
  'PG-16: after this site’s own application was removed, the session ends, and the start page says once what has happened',
  async t => {
    const { browser, platform } = await start(t)
    const form = readForm(await browser.get(`${here}/delete`), `${here}/delete`)
    const calls = platform.received().length
    const done = await browser.post(`${here}/delete`, { ...form, confirmation: 'Reference client' })
    t.equal(done.statusCode, 303)
    t.equal(done.headers.location, '/')
    t.equal(platform.received().length - calls, 2, 'the portal refuses all calls from this site from now on')
    t.same(
      browser.names().filter(name => /session|refresh/.test(name)),
      [],
    )
    const headers = { cookie: browser.cookieHeader() }
    const head = await browser.server.inject({ method: 'HEAD', url: '/', headers })
    t.equal(head.headers['set-cookie'], undefined, 'a HEAD request must not delete the text that the next page shows')
    const page = await browser.get('/', { site: 'same-origin' })
    t.equal(page.statusCode, 200)
    t.match(textOf(page), applicationsTexts.remove.siteRemoved.consequence)
    t.match(page.body, /<p class="warning" role="status" tabindex="-1" autofocus>/)
    t.notMatch(page.body, 'action="/logout"')
    const again = await browser.get('/', { site: 'same-origin' })
    t.notMatch(textOf(again), applicationsTexts.remove.siteRemoved.consequence)
    t.notMatch(again.body, 'role="status"')
  },
)

t.test(
  'F-41: if the form that removes this site’s own application is sent twice, the client removes it once',
  async t => {
    const { browser, platform } = await start(t)
    const form = {
      ...readForm(await browser.get(`${here}/delete`), `${here}/delete`),
      confirmation: 'Reference client',
    }
    // A browser that sends a form again has not received the first answer, so it still has its cookies.
    const resending = browser.copy()
    for (const sender of [browser, resending])
      t.equal((await sender.post(`${here}/delete`, form)).headers.location, '/')
    t.equal(platform.received(`DELETE /apps/v1/${clientId}`).length, 1)
  },
)

t.test(
  'PG-14: if a visitor types the name to confirm a removal, but the session ends before the form is sent, the page says so, and nothing changes',
  async t => {
    const { browser, platform } = await start(t)
    const form = readForm(await browser.get(`${here}/delete`), `${here}/delete`)
    for (const name of browser.names()) browser.cookies.delete(name)
    for (const confirmation of ['Reference client', 'long '.repeat(1_000)]) {
      const page = await browser.post(`${here}/delete`, { ...form, confirmation })
      t.equal(page.statusCode, 401)
      t.match(page.body, webTexts.form.sessionEnded)
    }
    t.equal(platform.received(`DELETE /apps/v1/${clientId}`).length, 0)
  },
)
