// Tests the limits of the fields. The page tells the browser the limits, the server checks them, and the page shows a
// problem next to its field.

import t, { type Test } from 'tap'
import { applicationsTexts } from '../../../src/client/applications/texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'
import { signIn, TestClock } from '../support/build-test-client.ts'
import { faultOf, readForm, summaryLine, textOf, unescapeHtml } from '../support/read-form.ts'
import { applicationRecord } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

const { problems, required, labels, redirectUris: rules } = applicationsTexts.form

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

/**
 * The length limits of the API, each with a value of exactly that length. test/journey/field-limits.test.ts compares
 * these limits with the sandbox.
 */
const bounds: [field: string, most: number, value: string][] = [
  ['name', 200, 'n'.repeat(200)],
  ['description', 2_000, 'd'.repeat(2_000)],
  ['webPageUrl', 2_048, url(2_048)],
  ['iconUrl', 2_048, url(2_048)],
  ['privacyPolicyUrl', 2_048, url(2_048)],
  ['defaultRedirectUri', 2_048, url(2_048)],
  ['scopes', 2_000, 's'.repeat(2_000)],
  ['defaultScopes', 2_000, 's'.repeat(2_000)],
]

for (const [field, most, value] of bounds) {
  t.test(
    `PG-17: ${field} may have up to ${most} characters, and the page refuses longer text with a message next to the field`,
    async t => {
      const { browser, page, form, edit, platform } = await openForm(t)
      t.match(page.body, new RegExp(`<(input|textarea)[^>]* name="${field}"[^>]* maxlength="${most}"`))

      const tooLong = await browser.post('/applications', { ...form, [field]: `${value}x` })
      t.equal(tooLong.statusCode, 422)
      t.equal(faultOf(tooLong, field), problems.tooLong(labels[field as keyof typeof labels], most, most + 1))
      t.equal(readForm(tooLong, '/applications')[field], `${value}x`)
      t.equal(platform.received('POST /apps/v1').length, 0)
      const tooLongChange = await browser.post('/applications/app-1/edit', { ...edit, [field]: `${value}x` })
      t.equal(tooLongChange.statusCode, 422)
      t.ok(faultOf(tooLongChange, field))
      t.equal(platform.received('PUT /apps/v1/app-1').length, 0)

      // The default redirect URI must be one of the redirect URIs, whatever its length.
      const whole: Record<string, string> =
        field === 'defaultRedirectUri' ? { [field]: value, redirectUris: value } : { [field]: value }
      t.equal((await browser.post('/applications', { ...form, ...whole })).statusCode, 303)
      t.equal((await browser.post('/applications/app-1/edit', { ...edit, ...whole })).statusCode, 303)
    },
  )
}

t.test(
  'PG-17: the API does not limit the total length of the redirect URIs, so only the size limit of a form applies',
  async t => {
    const { browser, page, form, edit, platform } = await openForm(t)
    t.match(page.body, /<textarea[^>]* name="redirectUris"/)
    t.notMatch(page.body, /<textarea[^>]* name="redirectUris"[^>]* maxlength/)
    const redirectUris = Array.from({ length: 13 }, () => url(2_048)).join(',')
    t.equal((await browser.post('/applications', { ...form, redirectUris })).statusCode, 303)
    t.equal(JSON.parse(platform.received('POST /apps/v1')[0]!.body).data.redirectUris, url(2_048))
    const different = Array.from({ length: 13 }, (_, index) => url(2_047) + index.toString(16)).join(',')
    t.equal((await browser.post('/applications/app-1/edit', { ...edit, redirectUris: different })).statusCode, 303)
    t.equal(JSON.parse(platform.received('PUT /apps/v1/app-1')[0]!.body).data.redirectUris, different)
  },
)

t.test('PG-17: the client counts an emoji as one character, as the API does', async t => {
  const { browser, form } = await openForm(t)
  const tooLong = await browser.post('/applications', { ...form, name: '🌦'.repeat(201) })
  t.equal(faultOf(tooLong, 'name'), problems.tooLong(labels.name, 200, 201))
  t.equal((await browser.post('/applications', { ...form, name: '🌦'.repeat(200) })).statusCode, 303)
})

t.test('PG-17: if a required field is empty or blank, the page says so next to the field', async t => {
  const { browser, form, edit, platform } = await openForm(t)
  const empty = await browser.post('/applications', { ...form, groupId: ' ', name: '\t', redirectUris: ' , ,' })
  t.equal(empty.statusCode, 422)
  for (const field of ['groupId', 'name', 'redirectUris'] as const) t.equal(faultOf(empty, field), required[field])
  t.match(textOf(empty, 'problem'), webTexts.form.fieldsRefused)

  const nothing = await browser.post('/applications', { formToken: form.formToken })
  t.equal(nothing.statusCode, 422)
  for (const field of ['groupId', 'name', 'redirectUris'] as const) t.equal(faultOf(nothing, field), required[field])

  const emptyChange = await browser.post('/applications/app-1/edit', { ...edit, name: '', redirectUris: '' })
  t.equal(emptyChange.statusCode, 422)
  for (const field of ['name', 'redirectUris'] as const) t.equal(faultOf(emptyChange, field), required[field])
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
  'https://weather test/',
  'https://weather.test\\@evil.test/',
  "https://weather';.test/",
  'https://',
]
for (const field of ['webPageUrl', 'iconUrl', 'privacyPolicyUrl'] as const) {
  t.test(`PG-06: ${field} must be an http or https address, and the page says so next to the field`, async t => {
    const { browser, form, platform } = await openForm(t)
    for (const value of noWebUrls) {
      const page = await browser.post('/applications', { ...form, [field]: value })
      t.equal(page.statusCode, 422, value)
      t.match(faultOf(page, field), problems.webUrl(labels[field]), value)
    }
    t.equal(platform.received('POST /apps/v1').length, 0)
    const answer = await browser.post('/applications', { ...form, [field]: ' HTTPS://weather.test/ ' })
    t.equal(answer.statusCode, 303, 'spaces and capital letters in an address must be accepted')
  })
}

t.test('the page lists all problems together, each with a link to its field', async t => {
  const { browser, form } = await openForm(t)
  const page = await browser.post('/applications', { ...form, name: '', iconUrl: 'x', description: 'd'.repeat(2_001) })
  for (const field of ['name', 'iconUrl', 'description'])
    t.match(page.body, new RegExp(`<li><a href="#${field}">`), field)
  t.match(
    textOf(page, 'problem'),
    [
      summaryLine(labels.name, required.name),
      summaryLine(labels.description, problems.tooLong(labels.description, 2_000, 2_001)),
      summaryLine(labels.iconUrl, problems.webUrl(labels.iconUrl)),
    ].join(' '),
    'the problems must have the order and the labels of the fields in the form',
  )
})

const brokenRules: [uri: string, rule: keyof typeof rules][] = [
  ['weather.test/back', 'incomplete'],
  ['com.example.app:/back', 'incomplete'],
  ['https://', 'incomplete'],
  ['http://weather.test/back', 'insecure'],
  ['http://localhost.weather.test/', 'insecure'],
  ['https://weather.test/#back', 'fragment'],
  ['https://weather.test/*', 'character'],
  ['https://me:secret@weather.test/', 'password'],
  ['https://weather.test/zurück', 'notAscii'],
  ["https://weather';.test/", 'host'],
]

t.test(
  'for each redirect URI that breaks a rule, the page shows a message about that rule, and the client does not call the API',
  async t => {
    const { browser, form, edit, platform } = await openForm(t)
    const redirectUris = ['https://weather.test/good', ...brokenRules.map(([uri]) => uri)].join('\r\n')
    for (const [action, fields] of Object.entries({ '/applications': form, '/applications/app-1/edit': edit })) {
      const page = await browser.post(action, { ...fields, redirectUris })
      t.equal(page.statusCode, 422)
      const messages = [...page.body.matchAll(/<a href="#redirectUris">(.*?)<\/a>/g)].map(([, text]) => text!)
      t.equal(messages.length, brokenRules.length)
      for (const [index, [uri, rule]] of brokenRules.entries())
        t.equal(unescapeHtml(messages[index]!), summaryLine(labels.redirectUris, rules[rule](uri, 2_048)), uri)
      t.match(
        faultOf(page, 'redirectUris'),
        rules.incomplete('weather.test/back'),
        'the problem must be shown next to the field',
      )
      t.equal(
        readForm(page, action).redirectUris,
        redirectUris.replaceAll('\r\n', '\n'),
        'the field must keep the typed text',
      )
    }
    t.same(platform.received('POST /apps/v1'), [])
    t.same(platform.received('PUT /apps/v1/app-1'), [])
  },
)

t.test(
  'redirect URIs may be separated by line breaks or commas, and the client sends valid URIs to the API',
  async t => {
    const { browser, form, platform } = await openForm(t)
    const good = ['https://weather.test/back?x=1', 'http://localhost:3000/', 'http://127.0.0.1/', 'http://[::1]:8080/']
    const answer = await browser.post('/applications', {
      ...form,
      redirectUris: ` ${good.slice(0, 2).join('\r\n')},${good.slice(2).join(' , ')}`,
    })
    t.equal(answer.statusCode, 303)
    t.equal(JSON.parse(platform.received('POST /apps/v1')[0]!.body).data.redirectUris, good.join())
  },
)

t.test(
  'the page shortens its messages if a redirect URI is too long or if a hundred redirect URIs are wrong',
  async t => {
    const { browser, form } = await openForm(t)
    const long = await browser.post('/applications', { ...form, redirectUris: url(2_049) })
    t.equal(faultOf(long, 'redirectUris'), rules.tooLong(`${url(2_049).slice(0, 100)}…`, 2_048))
    const many = await browser.post('/applications', { ...form, redirectUris: 'x '.repeat(100) })
    t.equal(faultOf(many, 'redirectUris')?.split(rules.incomplete('x')).length, 11)
  },
)

t.test('the default redirect URI must be one of the redirect URIs', async t => {
  const { browser, form, platform } = await openForm(t)
  const page = await browser.post('/applications', { ...form, defaultRedirectUri: 'https://weather.test/other' })
  t.equal(faultOf(page, 'defaultRedirectUri'), applicationsTexts.form.problems.notARedirectUri)
  t.same(platform.received('POST /apps/v1'), [])
})

t.test(
  'the page refuses a NUL character with a message next to its field, because databases do not accept it',
  async t => {
    const { browser, form, platform } = await openForm(t)
    t.equal(faultOf(await browser.post('/applications', { ...form, name: 'a\0b' }), 'name'), problems.nul(labels.name))
    t.same(platform.received('POST /apps/v1'), [])
  },
)

t.test('PG-17: a form in which every field has its maximum length is accepted', async t => {
  const { browser, form } = await openForm(t)
  const longest = Object.fromEntries(bounds.map(([field, , value]) => [field, value]))
  const redirectUris = Array.from({ length: 4 }, () => url(1_990)).join(',')
  const defaultRedirectUri = url(1_990)
  const rest = { redirectUris, defaultRedirectUri, scopes: 's'.repeat(2_000), defaultScopes: 's'.repeat(2_000) }
  t.equal((await browser.post('/applications', { ...form, ...longest, ...rest })).statusCode, 303)
})
