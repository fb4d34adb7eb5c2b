// Tests that pages show strings from visitors and from the API as text, and never as markup.
import t, { type Test } from 'tap'
import { signIn, TestClock } from '../support/build-test-client.ts'
import { hostileTexts, markupOf } from '../support/hostile-texts.ts'
import { linksOf, readForm, textOf, unescapeHtml } from '../support/read-form.ts'
import { applicationRecord } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

const fields = ['name', 'description', 'webPageUrl', 'iconUrl', 'privacyPolicyUrl']

function recordOf(vector: string) {
  const data = Object.fromEntries(fields.map(field => [field, vector]))
  const client = { redirectUris: vector, defaultRedirectUri: vector, scopes: vector, defaultScopes: vector }
  const inLinks = [{ '@type': 'DeveloperOf', from: vector }]
  return applicationRecord('app-1', data, { client, inLinks })
}

async function withApplication(t: Test, vector: string) {
  const clock = new TestClock()
  const api = rememberingApi(clock)
  api.records.set('app-1', recordOf(vector))
  const test = await buildApplicationsClient(t, { clock, scripts: api.scripts })
  await signIn(test.browser)
  return test
}

const { browser: plain } = await withApplication(t, 'https')

for (const [what, vector] of Object.entries(hostileTexts)) {
  t.test(`PG-07: ${what} from the API is shown as text on every page`, async t => {
    const { browser } = await withApplication(t, vector)
    for (const path of [
      '/applications',
      `/applications?q=${encodeURIComponent(vector)}`,
      '/applications/app-1',
      '/applications/app-1/edit',
      '/applications/app-1/delete',
    ]) {
      const page = await browser.get(path)
      t.equal(page.statusCode, 200, path)
      const same = await plain.get(path.replace(encodeURIComponent(vector), 'https'))
      t.same(markupOf(page.body), markupOf(same.body), path)
      t.notMatch(page.body, '40301', 'the text must not be run as a template')
    }
    t.equal(readForm(await browser.get('/applications/app-1/edit'), '/applications/app-1/edit').description, vector)
  })
}

t.test('PG-07: the values of a refused form are shown as text', async t => {
  const { browser } = await withApplication(t, 'x')
  const action = '/applications'
  const form = readForm(await browser.get('/applications/new'), action)
  const typed = { ...form, groupId: 'group-1', name: '', redirectUris: 'https://a.test/' }
  const plain = markupOf((await browser.post(action, { ...typed, description: 'x', webPageUrl: 'x' })).body)
  for (const [what, vector] of Object.entries(hostileTexts)) {
    const page = await browser.post(action, { ...typed, description: vector, webPageUrl: vector })
    t.equal(page.statusCode, 422)
    t.same(markupOf(page.body), plain, what)
    t.equal(readForm(page, action).description, vector)
  }
})

t.test('PG-07: the API’s error messages are shown as text', async t => {
  const vector = '"><svg/onload=alert(1)>'
  const { browser, platform } = await withApplication(t, 'x')
  const form = readForm(await browser.get('/applications/app-1/edit'), '/applications/app-1/edit')
  const message = { name: [vector], [vector]: [vector] }
  platform.answer('PUT /apps/v1/app-1', { status: 422, body: { error: { status: 422, message } } })
  const page = await browser.post('/applications/app-1/edit', {
    ...form,
    redirectUris: 'https://a.test/',
    defaultRedirectUri: '',
    ...webUrls,
  })
  t.equal(page.statusCode, 422)
  t.match(textOf(page, 'problem'), vector)
  t.notMatch(page.body, '<svg')
})

const webUrls = { webPageUrl: '', iconUrl: '', privacyPolicyUrl: '' }

/**
 * Returns three pages: the form, the refused form, and the page with the credentials. The API uses `text` as the id of
 * the group and in the credentials.
 */
async function pagesWith(t: Test, text: string) {
  const { browser, platform } = await withApplication(t, 'x')
  platform.answer('GET /identities/v1/visitor-1/links', { body: { ItemList: [{ to: text }, { to: 'group-2' }] } })
  const tokens = [{ id: text, token: text }]
  const client = { clientId: text, clientSecrets: [text] }
  platform.answer('POST /apps/v1', { status: 201, body: { ...applicationRecord('app-1'), client, tokens } })
  const form = await browser.get('/applications/new')
  const fields = { ...readForm(form, '/applications'), groupId: text, name: text, redirectUris: 'https://a.test/' }
  const refused = await browser.post('/applications', { ...fields, name: '' })
  t.equal(refused.statusCode, 422)
  t.equal((await browser.post('/applications', fields)).headers.location, '/applications/app-1')
  return [form, refused, await browser.get('/applications/app-1')]
}

const plainPages = await pagesWith(t, 'https')

for (const [what, vector] of Object.entries(hostileTexts)) {
  t.test(`PG-07: ${what} as the id of a group and in credentials is shown as text`, async t => {
    for (const [index, page] of (await pagesWith(t, vector)).entries()) {
      t.same(markupOf(page.body), markupOf(plainPages[index]!.body))
      t.notMatch(page.body, '40301', 'the text must not be run as a template')
      t.match(unescapeHtml(page.body), vector, 'the page must show the text')
    }
  })
}

const { browser, platform } = await withApplication(t, 'x')

for (const url of [
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  ' javascript:alert(1)',
  'java\nscript:alert(1)',
  'java\tscript:alert(1)',
  '\u0001javascript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'vbscript:x',
  'file:///etc/passwd',
  '//evil.test/',
  'https://',
]) {
  t.test(`PG-06: ${JSON.stringify(url)} from the API is shown as text without a link`, async t => {
    platform.answer('GET /apps/v1/app-1', { body: recordOf(url) })
    const page = await browser.get('/applications/app-1')
    t.equal(page.statusCode, 200)
    t.same(
      linksOf(page)
        .filter(href => !/^\/|^#main$/.test(href) || href.startsWith('//'))
        .filter(href => href !== `${platform.url}/apps/v1/docs`),
      [],
    )
  })
}

t.test('PG-06: a web address from the API is a link, and the browser does not send a Referer to it', async t => {
  const { browser } = await withApplication(t, 'https://weather.test/?a=1&b="2"')
  const page = await browser.get('/applications/app-1')
  const links = [...page.body.matchAll(/<a href="https:[^"]*"([^>]*)>/g)]
  t.equal(links.length, 3)
  for (const [, attributes] of links) t.match(attributes, 'rel="noopener noreferrer nofollow"')
})

t.test('PG-05: neither a page nor the server loads anything from the addresses of an application', async t => {
  const { browser, platform } = await withApplication(t, 'x')
  const icon = `${platform.url}/icon-of-an-application`
  const record = applicationRecord('app-1', { iconUrl: icon, webPageUrl: icon, privacyPolicyUrl: icon })
  platform.answer('GET /apps/v1/app-1', { body: record })
  platform.answer('GET /apps/v1', { body: { ItemList: [record] } })
  platform.answer('PUT /apps/v1/app-1', { body: record })
  const form = readForm(await browser.get('/applications/app-1/edit'), '/applications/app-1/edit')
  await browser.post('/applications/app-1/edit', { ...form, redirectUris: 'https://a.test/' })
  for (const path of [
    '/applications',
    '/applications/app-1',
    '/applications/app-1/edit',
    '/applications/app-1/delete',
  ]) {
    const page = await browser.get(path)
    t.notMatch(page.body, /\s(?:src|srcset|data|poster|background)="http/, path)
    t.match(page.headers['content-security-policy'], "img-src 'self';", path)
  }
  t.equal(platform.received('GET /icon-of-an-application').length, 0)
})
