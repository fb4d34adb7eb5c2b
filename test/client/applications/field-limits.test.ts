// The bounds of the fields: told to the browser, checked here for those that do not keep them, and shown beside the field.
import t, { type Test } from 'tap'
import { signIn, TestClock } from '../support/build-test-client.ts'
import { faultOf, readForm, textOf } from '../support/read-form.ts'
import { applicationRecord } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

const typed = { name: 'Weather', redirectUris: 'https://weather.test/back' }
const url = (length: number) => 'https://weather.test/'.padEnd(length, 'x')

async function openForm(t: Test) {
  const clock = new TestClock()
  const api = rememberingApi(clock)
  api.records.set('app-1', applicationRecord('app-1'))
  const test = await buildApplicationsClient(t, { clock, scripts: api.scripts })
  const { browser, platform } = test
  platform.answer('PUT /apps/v1/app-1', { body: applicationRecord('app-1') })
  await signIn(browser)
  const page = await browser.get('/applications/new')
  const edit = readForm(await browser.get('/applications/app-1/edit'), '/applications/app-1/edit')
  const form = { ...readForm(page, '/applications'), ...typed }
  return { ...test, page, form: form as typeof form & { formToken: string }, edit: { ...edit, ...typed } }
}

/** The bounds of contract.md, and a value of just that length. */
const bounds: [field: string, most: number, value: string][] = [
  ['name', 200, 'n'.repeat(200)],
  ['description', 2_000, 'd'.repeat(2_000)],
  ['webPageUrl', 2_048, url(2_048)],
  ['iconUrl', 2_048, url(2_048)],
  ['privacyPolicyUrl', 2_048, url(2_048)],
  [
    'redirectUris',
    8_000,
    Array.from({ length: 4 }, () => url(1_999))
      .join(',')
      .padEnd(8_000, 'x'),
  ],
  ['defaultRedirectUri', 2_048, url(2_048)],
  ['scopes', 2_000, 's'.repeat(2_000)],
  ['defaultScopes', 2_000, 's'.repeat(2_000)],
]

for (const [field, most, value] of bounds) {
  t.test(`PG-17: ${field} may have ${most} characters, and one more is a fault beside it`, async t => {
    const { browser, page, form, edit, platform } = await openForm(t)
    t.match(page.body, new RegExp(`<(input|textarea)[^>]* name="${field}"[^>]* maxlength="${most}"`))

    const tooLong = await browser.post('/applications', { ...form, [field]: `${value}x` })
    t.equal(tooLong.statusCode, 422)
    t.equal(faultOf(tooLong, field), `At most ${most} characters, please: these are ${most + 1}.`)
    t.equal(readForm(tooLong, '/applications')[field], `${value}x`)
    t.equal(platform.received('POST /apps/v1').length, 0)
    const tooLongChange = await browser.post('/applications/app-1/edit', { ...edit, [field]: `${value}x` })
    t.equal(tooLongChange.statusCode, 422)
    t.ok(faultOf(tooLongChange, field))
    t.equal(platform.received('PUT /apps/v1/app-1').length, 0)

    t.equal((await browser.post('/applications', { ...form, [field]: value })).statusCode, 303)
    t.equal((await browser.post('/applications/app-1/edit', { ...edit, [field]: value })).statusCode, 303)
  })
}

t.test('PG-17: an emoji is one character, as it is to the API', async t => {
  const { browser, form } = await openForm(t)
  const tooLong = await browser.post('/applications', { ...form, name: '🌦'.repeat(201) })
  t.equal(faultOf(tooLong, 'name'), 'At most 200 characters, please: these are 201.')
  t.equal((await browser.post('/applications', { ...form, name: '🌦'.repeat(200) })).statusCode, 303)
})

t.test('PG-17: what is required is asked for beside its field, and blanks are not enough', async t => {
  const { browser, form, edit, platform } = await openForm(t)
  const empty = await browser.post('/applications', { ...form, groupId: ' ', name: '\t', redirectUris: ' , ,' })
  t.equal(empty.statusCode, 422)
  for (const field of ['groupId', 'name', 'redirectUris']) t.equal(faultOf(empty, field), 'Please fill this in.')
  t.match(textOf(empty, 'problem'), 'Please correct the fields that are marked')

  const nothing = await browser.post('/applications', { formToken: form.formToken })
  t.equal(nothing.statusCode, 422)
  for (const field of ['groupId', 'name', 'redirectUris']) t.equal(faultOf(nothing, field), 'Please fill this in.')

  const emptyChange = await browser.post('/applications/app-1/edit', { ...edit, name: '', redirectUris: '' })
  t.equal(emptyChange.statusCode, 422)
  for (const field of ['name', 'redirectUris']) t.equal(faultOf(emptyChange, field), 'Please fill this in.')
  t.same(
    platform.received().filter(({ method, url }) => method !== 'GET' && url.startsWith('/apps/')),
    [],
  )
})

const noWebUrls = [
  'javascript:alert(1)',
  ' javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'java\nscript:alert(1)',
  'java\tscript:alert(1)',
  'vbscript:x',
  'file:///etc/passwd',
  '//weather.test/',
  '/local',
  'weather.test',
  'http:weather.test',
  'https://',
]
for (const field of ['webPageUrl', 'iconUrl', 'privacyPolicyUrl']) {
  t.test(`PG-06: ${field} takes http and https addresses alone, and says so beside the field`, async t => {
    const { browser, form, platform } = await openForm(t)
    for (const value of noWebUrls) {
      const page = await browser.post('/applications', { ...form, [field]: value })
      t.equal(page.statusCode, 422, value)
      t.match(faultOf(page, field), 'begins with https:// or http://', value)
    }
    t.equal(platform.received('POST /apps/v1').length, 0)
    const answer = await browser.post('/applications', { ...form, [field]: ' HTTPS://weather.test/ ' })
    t.equal(answer.statusCode, 303, 'blanks around it and capitals are no harm')
  })
}

t.test('every fault at once: the page lists them, each leading to its field', async t => {
  const { browser, form } = await openForm(t)
  const page = await browser.post('/applications', { ...form, name: '', iconUrl: 'x', description: 'd'.repeat(2_001) })
  for (const field of ['name', 'iconUrl', 'description'])
    t.match(page.body, new RegExp(`<li><a href="#${field}">`), field)
})

t.test('PG-17: a form whose every field is as long as it may be is accepted', async t => {
  const { browser, form } = await openForm(t)
  const longest = Object.fromEntries(bounds.map(([field, , value]) => [field, value]))
  const redirectUris = Array.from({ length: 4 }, () => url(1_990)).join(',')
  const rest = { redirectUris, scopes: 's'.repeat(2_000), defaultScopes: 's'.repeat(2_000) }
  t.equal((await browser.post('/applications', { ...form, ...longest, ...rest })).statusCode, 303)
})
