// Tests what happens if the creation of an application is interrupted: the visitor presses Stop, or the replica is
// killed.

import { randomBytes } from 'node:crypto'
import t from 'tap'
import { applicationsTexts } from '../../../src/client/applications/texts.ts'
import { signIn, TestClock } from '../support/build-test-client.ts'
import { holdAnswer } from '../support/hold-answer.ts'
import { postAndHangUp } from '../support/post-and-hang-up.ts'
import { linksOf, readForm, textOf } from '../support/read-form.ts'
import { giveTokens, startScriptedPlatform } from '../support/scripted-platform.ts'
import { productMain, spawnClient } from '../support/spawn-client.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

t.test(
  'F-40: after the visitor has pressed Stop, the list shows the new application, and the same form does not create a second application',
  async t => {
    const clock = new TestClock()
    const api = rememberingApi(clock)
    const { browser, client, platform, log } = await buildApplicationsClient(t, { clock, scripts: api.scripts })
    await signIn(browser)
    const held = holdAnswer(api.scripts['POST /apps/v1']!)
    platform.answer('POST /apps/v1', held.script)
    const shown = readForm(await browser.get('/applications/new'), '/applications')
    const form = { ...shown, name: 'Weather', redirectUris: 'https://weather.test/' }
    await postAndHangUp(client, browser, '/applications', form, held.asked)
    held.release()
    while (api.records.size === 0) await new Promise(setImmediate)

    t.ok(linksOf(await browser.get('/applications')).includes('/applications/app-1'))
    const again = await browser.post('/applications', form)
    t.equal(again.headers.location, '/applications/app-1')
    t.match(
      (await browser.get('/applications/app-1')).body,
      api.secrets[0]!,
      'the page must show the secret, because nobody has seen it yet',
    )
    t.equal(platform.received('POST /apps/v1').length, 1)
    t.notMatch(log.join(''), '"event":"internal"')
  },
)

t.test('a prefetch of the next page neither shows nor uses up a new client secret', async t => {
  const clock = new TestClock()
  const api = rememberingApi(clock)
  const { browser } = await buildApplicationsClient(t, { clock, scripts: api.scripts })
  await signIn(browser)
  const shown = readForm(await browser.get('/applications/new'), '/applications')
  await browser.post('/applications', { ...shown, name: 'Weather', redirectUris: 'https://weather.test/' })
  const prefetched = await browser.get('/applications/app-1', { headers: { 'sec-purpose': 'prefetch' } })
  t.equal(prefetched.statusCode, 200)
  t.notMatch(prefetched.body, api.secrets[0]!)
  t.match((await browser.get('/applications/app-1')).body, api.secrets[0]!)
})

t.test(
  'F-28: if a replica is killed while it creates an application, a second replica that gets the same form does not create a duplicate',
  async t => {
    const api = rememberingApi({ read: () => new Date() })
    const platform = await startScriptedPlatform(t, { ...api.scripts, 'POST /api/exchangeToken': giveTokens() })
    const environment = {
      LOGIN_URL: platform.url,
      API_URL: platform.url,
      COOKIE_KEYS: randomBytes(32).toString('base64url'),
    }
    const start = () => spawnClient(t, environment, { program: productMain })
    const [first, second] = await Promise.all([start(), start()])
    const { browser } = first
    t.equal((await signIn(browser)).statusCode, 200)
    const form = readForm(await browser.get('/applications/new'), '/applications')
    const typed = { ...form, name: 'Weather', redirectUris: 'https://weather.test/back' }

    const create = api.scripts['POST /apps/v1'] as (request: unknown, response: unknown) => void
    platform.answer('POST /apps/v1', (request, response) => {
      first.child.kill('SIGKILL')
      void first.exited.then(() => create(request, response))
    })
    await t.rejects(browser.post('/applications', typed), 'the connection must break')
    t.same(await first.exited, [null, 'SIGKILL'])
    while (api.records.size === 0) await new Promise(setImmediate)

    browser.server = second.client
    const answer = await browser.post('/applications', typed)
    t.equal(answer.statusCode, 303)
    const page = await browser.get(String(answer.headers.location))
    t.match(textOf(page), applicationsTexts.details.createdEarlier)
    t.equal(api.records.size, 1)
    t.equal(platform.received('POST /apps/v1').length, 1)
  },
)
