// The visitor presses Stop while an application is made.
import t from 'tap'
import { signIn, TestClock } from '../support/build-test-client.ts'
import { holdAnswer } from '../support/hold-answer.ts'
import { postAndHangUp } from '../support/post-and-hang-up.ts'
import { linksOf, readForm } from '../support/read-form.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

t.test(
  'F-40: Stop during a new application undoes nothing: the list shows it, and the form creates no other',
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
    held.goOn()
    while (api.records.size === 0) await new Promise(setImmediate)

    t.ok(linksOf(await browser.get('/applications')).includes('/applications/app-1'))
    const again = await browser.post('/applications', form)
    t.equal(again.headers.location, '/applications/app-1')
    t.match((await browser.get('/applications/app-1')).body, api.secrets[0]!, 'with the secret that nobody has seen')
    t.equal(platform.received('POST /apps/v1').length, 1)
    t.notMatch(log.join(''), '"event":"internal"')
  },
)
