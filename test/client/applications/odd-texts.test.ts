// Tests long and repetitive text in every field of an application. Such text must not make the client slow.
import t from 'tap'
import { signIn, TestClock } from '../support/build-test-client.ts'
import { fastest, oddPatterns, repeatTo, sendOddForms } from '../support/odd-texts.ts'
import { readForm } from '../support/read-form.ts'
import { applicationRecord, collection } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

t.test(
  'DO-05: the client answers a form within 100 ms, even if a field contains 30 KB of text, whatever the text is',
  async t => {
    const clock = new TestClock()
    const { browser, client } = await buildApplicationsClient(t, { clock, scripts: rememberingApi(clock).scripts })
    await signIn(browser)
    const form = readForm(await browser.get('/applications/new'), '/applications')
    await sendOddForms(t, { browser, client }, '/applications', form)
  },
)

t.test(
  'DO-05: the client shows a page within 100 ms, even if an API field contains 25 KB of text, whatever the text is',
  async t => {
    const { browser, platform } = await buildApplicationsClient(t)
    await signIn(browser)
    for (const pattern of oddPatterns) {
      const long = repeatTo(25_000, pattern)
      const data = { name: long, webPageUrl: `https://${long}` }
      const record = applicationRecord('app-1', data, { client: { redirectUris: long } })
      platform.answer('GET /apps/v1', {
        body: collection([applicationRecord('app-1', { name: long, description: long })]),
      })
      platform.answer('GET /apps/v1/app-1', { body: record })
      for (const path of ['/applications?q=aaaa', '/applications', '/applications/app-1']) {
        const { ms, statusCode } = await fastest(() => browser.get(path))
        if (ms >= 100 || statusCode !== 200) t.fail(`${path} of ${JSON.stringify(pattern)}: ${statusCode}, ${ms} ms`)
      }
    }
    t.pass(`${oddPatterns.length * 3} pages`)
  },
)

t.test('DO-05: the client answers a search for 10 KB of text within 100 ms, whatever the text is', async t => {
  const clock = new TestClock()
  const api = rememberingApi(clock)
  api.records.set('app-1', applicationRecord('app-1'))
  const { browser } = await buildApplicationsClient(t, { clock, scripts: api.scripts })
  await signIn(browser)
  for (const pattern of oddPatterns) {
    const text = repeatTo(10_000, encodeURIComponent(pattern))
    const { ms, statusCode } = await fastest(() => browser.get(`/applications?q=${text}`))
    if (ms >= 100 || statusCode !== 200) t.fail(`${JSON.stringify(pattern)}: ${statusCode}, ${ms} ms`)
  }
  t.pass(`${oddPatterns.length} searches`)
})
