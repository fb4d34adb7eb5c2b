// How many calls each page of the applications makes, and what they hold.
import t from 'tap'
import { clientSecret, signIn, TestClock } from '../support/build-test-client.ts'
import { readForm } from '../support/read-form.ts'
import { applicationRecord, collection } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

const typed = { groupId: 'group-1', name: 'Tides', redirectUris: 'https://a.test/' }

t.test(
  'DO-14: a page makes one call, two where it names the group, and never more than two where the session is renewed',
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
    t.equal(await calls(browser.post('/applications/app-1/edit', { ...form, redirectUris: 'https://a.test/' })), 1)
    t.equal(await calls(browser.get('/applications/new')), 1)
    clock.advance(3_601)
    t.equal(await calls(browser.get('/applications')), 2, 'the session is renewed')
    clock.advance(3_601)
    t.equal(await calls(browser.get('/applications/app-1')), 2, 'and the group is not named')
  },
)

t.test(
  'DO-14: a new application is a look at the list and one call, and three looks more where others are like it',
  async t => {
    const clock = new TestClock()
    const api = rememberingApi(clock)
    const { browser, platform } = await buildApplicationsClient(t, { clock, scripts: api.scripts })
    await signIn(browser)
    const create = async () => {
      const form = readForm(await browser.get('/applications/new'), '/applications')
      const before = platform.received().length
      await browser.post('/applications', { ...form, ...typed })
      return platform.received().length - before
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
  },
)

t.test('UP-12, UP-15: no call holds the client secret, nor anything of the browser’s request', async t => {
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
