// What must stay secret about applications is in no line of the log, on a walk through all that can be done with them.
import t from 'tap'
import { TestClock } from '../support/build-test-client.ts'
import { noteSecrets } from '../support/note-secrets.ts'
import { readForm } from '../support/read-form.ts'
import type { send } from '../support/scripted-platform.ts'
import { applicationRecord } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

t.test('LG-01, LG-02, SE-04: no client secret, app access token or form token is in any line of the log', async t => {
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
})
