// Tests that every word of the pages for applications comes from the client's texts or from the API.
import t, { type Test } from 'tap'
import { applications } from '../../../src/client/applications/applications.ts'
import { applicationsTexts } from '../../../src/client/applications/texts.ts'
import { signInTexts } from '../../../src/client/sign-in/texts.ts'
import { startTexts } from '../../../src/client/start-texts.ts'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'
import { buildTestClient, clientId, signIn, TestClock } from '../support/build-test-client.ts'
import { findUntranslated, pseudoOf } from '../support/pseudo-texts.ts'
import { readForm } from '../support/read-form.ts'
import type { TestProduct } from '../support/test-product.ts'
import { applicationRecord, collection } from './support/application-record.ts'
import { rememberingApi } from './support/remembering-api.ts'

const texts = {
  lang: 'en-x-pseudo',
  ...pseudoOf({
    web: webTexts,
    signIn: signInTexts,
    upstream: upstreamTexts,
    start: startTexts,
    applications: applicationsTexts,
  }),
}
const data = [
  'Applications',
  'Weather',
  'visitor-1',
  'https://a.test/',
  'https://',
  'Rain',
  'Of the API.',
  'People',
  'Place',
  'group-1',
  'group-2',
  'a.test/',
]

async function start(t: Test) {
  const clock = new TestClock()
  const api = rememberingApi(clock)
  const product: TestProduct = {
    name: 'Applications',
    home: '/applications',
    links: (_visitor, { applications }) => [{ href: '/applications', text: applications.home }],
    texts,
    async pages(app, { config }) {
      await app.register(applications, { config, clock: clock.read })
    },
  }
  const groups = { body: collection([{ to: 'group-1', data: { name: 'People', status: 'maker' } }, { to: 'group-2' }]) }
  const scripts = { ...api.scripts, 'GET /identities/v1/visitor-1/links': groups }
  const test = await buildTestClient(t, { clock, scripts, product })
  await signIn(test.browser)
  const shows = (what: string, page: { body: string; statusCode: number }) => {
    t.match(page.body, '<html lang="en-x-pseudo">', what)
    t.same(findUntranslated({ body: page.body.replace(/<code\b[^>]*>[^<]*<\/code>/g, '') }, data), [], what)
  }
  const open = (path: string) => test.browser.get(path, { site: 'same-origin' })
  return { ...test, api, shows, open }
}

const client = { redirectUris: ['https://a.test/', 'https://b.test/'], defaultRedirectUri: 'https://a.test/' }
const full = { name: 'Weather', description: 'Rain', webPageUrl: 'https://a.test/' }

t.test('every word of the lists, details and notices comes from the client’s texts or from the API', async t => {
  const { api, shows, open, platform, browser } = await start(t)
  shows('an empty list', await open('/applications'))
  for (let index = 0; index < 60; index++) api.records.set(`app-${index}`, applicationRecord(`app-${index}`, full))
  api.records.set('app-1', applicationRecord('app-1', { name: '' }, { client }))
  api.records.set(clientId, applicationRecord(clientId, full))
  for (const query of ['', '?page=2', '?sort=name', '?q=Weather', '?q=Rain'])
    shows(`a list ${query}`, await open(`/applications${query}`))
  for (const path of ['', '/edit', '/secret', '/delete']) {
    shows(`an application ${path}`, await open(`/applications/app-1${path}`))
    shows('another', await open(`/applications/app-2${path}`))
  }
  shows('no such application', await open('/applications/not%20an%20id'))
  const remove = readForm(await open('/applications/app-2/delete'), '/applications/app-2/delete')
  await browser.post('/applications/app-2/delete', remove)
  shows('removed', await open('/applications'))
  platform.answer('GET /apps/v1/app-1', { status: 403, body: {} })
  shows('forbidden', await open('/applications/app-1'))
})

t.test('every word of the forms and their error messages comes from the client’s texts or from the API', async t => {
  const { api, shows, open, platform, browser } = await start(t)
  const path = '/applications'
  const shown = await open('/applications/new')
  shows('a new application', shown)
  const form = readForm(shown, path)
  const good = { ...form, name: 'Weather', redirectUris: 'https://a.test/', groupId: 'group-1' }
  const uris = [
    'x',
    'http://a.test/',
    'https://a.test/#b',
    'https://a.test/*',
    'https://a:b@a.test/',
    'https://a_.test/',
  ]
  const wrong: Record<string, string>[] = [
    { name: '', webPageUrl: 'x', description: 'x'.repeat(3_000), defaultRedirectUri: 'https://b.test/' },
    { redirectUris: [...uris, 'https://a.test/é', `https://a.test/${'x'.repeat(3_000)}`].join('\n'), name: 'a\0b' },
  ]
  for (const change of wrong) {
    const page = await browser.post(path, { ...good, ...change })
    shows('refused', { ...page, body: page.body.replaceAll('a&#39;', '') })
  }
  for (const status of [403, 404, 422, 503]) {
    platform.answer('POST /apps/v1', { status, body: { error: { message: { name: ['Of the API.'], scopes: [] } } } })
    shows(`after ${status}`, await browser.post(path, good))
  }
  for (const groups of [{ body: collection([]) }, { status: 404, body: {} }]) {
    platform.answer('GET /identities/v1/visitor-1/links', groups)
    shows('another field for the group', await open('/applications/new'))
  }
  platform.answer('POST /identities/v1', { status: 403, body: {} })
  shows('no group', await browser.post(path, { ...good, groupId: '', groupName: 'People' }))

  platform.answer('POST /apps/v1', api.scripts['POST /apps/v1']!)
  const created = await browser.post(path, good)
  t.equal(created.statusCode, 303)
  shows('credentials', await open('/applications/app-1'))
  shows('used', await browser.post(path, { ...good, name: 'Place' }))

  const address = '/applications/app-1/edit'
  api.records.set('app-1', applicationRecord('app-1', { name: 'Weather' }, { client }))
  const edit = readForm(await open(address), address)
  api.records.set('app-1', applicationRecord('app-1', { name: 'Place', description: 'Rain' }, { client }))
  const conflict = await browser.post(address, { ...edit, name: 'People' })
  t.equal(conflict.statusCode, 409)
  shows('conflict', conflict)
  const undecided = readForm(conflict, address)
  for (const name of Object.keys(undecided)) if (name.startsWith('keep-')) delete undecided[name]
  shows('undecided', await browser.post(address, undecided))
})

t.test(
  'every word of the pages for this site’s own application comes from the client’s texts or from the API',
  async t => {
    const { api, shows, open, browser, platform } = await start(t)
    api.records.set(clientId, applicationRecord(clientId, { name: 'Weather' }, { client }))
    const get = () => ({ body: api.records.get(clientId) })
    platform.answer(`GET /apps/v1/${clientId}`, get())
    platform.answer(`POST /apps/v1/${clientId}/refreshSecret`, { status: 201, body: { clientSecret: 'secret' } })
    platform.answer(`DELETE /apps/v1/${clientId}`, { status: 204, body: '' })
    const here = `/applications/${clientId}`
    shows('details', await open(here))
    for (const action of ['secret', 'delete']) {
      const path = `${here}/${action}`
      const page = await open(path)
      shows(action, page)
      const form = readForm(page, path)
      shows(`${action}, a wrong name`, await browser.post(path, { ...form, confirmation: 'Place' }))
      const stranger = browser.copy()
      stranger.cookies.clear()
      shows(`${action}, a long draft`, await stranger.post(path, { ...form, confirmation: 'x '.repeat(3_000) }))
      const done = await browser.post(path, { ...form, confirmation: 'Weather' })
      t.equal(done.statusCode, 303)
      shows(`${action}, done`, await open(`${done.headers.location}`))
    }
  },
)
