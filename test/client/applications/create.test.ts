// Tests how a visitor creates an application: the request to the API, the credentials that are shown once, and the
// errors.

import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { applicationsTexts } from '../../../src/client/applications/texts.ts'
import { signInTexts } from '../../../src/client/sign-in/texts.ts'
import { around } from '../../../src/client/texts.ts'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'
import { clientSecret, signIn, TestClock } from '../support/build-test-client.ts'
import { faultOf, linksOf, readForm, textOf } from '../support/read-form.ts'
import { setCookieLine } from '../support/read-response.ts'
import { giveTokens } from '../support/scripted-platform.ts'
import { collection } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

const { labels } = applicationsTexts.form

const typed = {
  name: 'Weather <b>& tides</b>',
  description: 'First line\r\nsecond “line”',
  webPageUrl: 'https://weather.test/?a=1&b=2',
  iconUrl: '',
  privacyPolicyUrl: '',
  redirectUris: 'https://weather.test/back, http://localhost:3000/exchangeToken ,',
  defaultRedirectUri: '',
  scopes: '',
  defaultScopes: '',
}

async function openForm(t: Test) {
  const clock = new TestClock()
  const api = rememberingApi(clock)
  const test = await buildApplicationsClient(t, { clock, scripts: api.scripts })
  await signIn(test.browser)
  const page = await test.browser.get('/applications/new')
  return { ...test, api, page, form: readForm(page, '/applications') }
}

t.test('create-envelope: the form has the ten fields of the platform, and offers the visitor’s groups', async t => {
  const { page, form } = await openForm(t)
  t.equal(page.statusCode, 200)
  // The form uses groupNames only to show the group's name again after the session has ended.
  const { formToken, groupNames, ...fields } = form
  t.ok(formToken)
  t.match(groupNames, 'group-1')
  t.same(fields, {
    groupId: 'group-1',
    name: '',
    description: '',
    webPageUrl: '',
    iconUrl: '',
    privacyPolicyUrl: '',
    redirectUris: '',
    defaultRedirectUri: '',
    scopes: '',
    defaultScopes: '',
  })
})

t.test(
  'optional fields that are empty are in a closed section, but a field with a value or a problem is visible',
  async t => {
    const { browser, page, form, platform } = await openForm(t)
    const foldedIn = ({ body }: { body: string }) =>
      [...body.matchAll(/<details>.*?<\/details>/gs)].map(([part]) =>
        [...part.matchAll(/<(?:input|textarea|select)[^>]* name="(\w+)"/g)].map(([, name]) => name),
      )
    const links = ['webPageUrl', 'iconUrl', 'privacyPolicyUrl']
    const more = ['defaultRedirectUri', 'scopes', 'defaultScopes']
    t.same(foldedIn(page), [links, more])
    const withoutName = { ...form, name: '', redirectUris: 'https://weather.test/back' }
    const send = async (fields: Record<string, string>) =>
      foldedIn(await browser.post('/applications', { ...withoutName, ...fields }))
    t.same(await send({}), [links, more])
    t.same(await send({ iconUrl: 'https://weather.test/icon.png' }), [['webPageUrl', 'privacyPolicyUrl'], more])
    t.same(await send({ privacyPolicyUrl: 'not an address' }), [['webPageUrl', 'iconUrl'], more])
    t.same(await send({ scopes: 'weather:read' }), [links, ['defaultRedirectUri', 'defaultScopes']])
    const refusal = { error: { message: { defaultScopes: ['Enter the default scopes.'] } } }
    platform.answer('POST /apps/v1', { status: 422, body: refusal })
    t.same(
      await send({ name: 'Weather' }),
      [links, ['defaultRedirectUri', 'scopes']],
      'an empty field must be visible if the API requires it',
    )
  },
)

for (const [what, answer] of Object.entries({
  'does not support the request for groups': { status: 404, body: { error: { status: 404, message: 'Not found' } } },
  'refuses the request for groups': { status: 403, body: {} },
  'sends a list with the status 404': { status: 404, body: collection([{ to: 'group-1' }]) },
  'sends groups in an unknown format': { body: { ItemList: 'none' } },
  'answers 500': { status: 500, body: '' },
})) {
  t.test(`if the API ${what}, the visitor types the group’s id`, async t => {
    const { browser, platform } = await openForm(t)
    platform.answer('GET /identities/v1/visitor-1/links', answer)
    const page = await browser.get('/applications/new')
    t.equal(page.statusCode, 200)
    t.match(page.body, /<input type="text" id="groupId"/)
    t.match(textOf(page, 'groupId-hint'), applicationsTexts.form.hints.groupId)
  })
}

t.test('a visitor in several groups has to choose a group', async t => {
  const { browser, platform } = await openForm(t)
  platform.answer('GET /identities/v1/visitor-1/links', {
    body: collection([{ to: 'group-1' }, { to: 'group-2' }, null, { to: 5 }]),
  })
  const several = await browser.get('/applications/new')
  t.equal(readForm(several, '/applications').groupId, '', 'no group may be preselected')
  t.equal(several.body.match(/<option/g)?.length, 3)
})

t.test('groups are offered by name, and a group that the visitor created is preselected', async t => {
  const { browser, platform } = await openForm(t)
  const link = (to: string, name: string, status?: string) => ({ to, data: { name, ...(status && { status }) } })
  const rows: [string, unknown[], chosen: string, texts: string[]][] = [
    [
      'a group of a stranger comes first',
      [
        link('group-1', 'Of a stranger', 'member'),
        link('group-2', 'My own', 'maker'),
        link('group-3', 'Other', 'maker'),
      ],
      'group-2',
      ['Of a stranger', 'My own', 'Other'],
    ],
    [
      'a stranger created the only group',
      [link('group-1', 'Of a stranger', 'member')],
      '',
      [webTexts.field.choose, 'Of a stranger'],
    ],
    ['the API does not say who created the only group', [link('group-1', 'Mine')], 'group-1', ['Mine']],
    [
      'two groups with the same name',
      [link('group-1', 'Same', 'maker'), link('group-2', 'Same', 'member')],
      'group-1',
      ['Same (group-1)', 'Same (group-2)'],
    ],
    ['no names', [link('group-1', '', 'maker'), { to: 'group-2' }], 'group-1', ['group-1', 'group-2']],
    ['a hostile name', [link('group-1', '<b>&"', 'maker')], 'group-1', ['&lt;b&gt;&amp;&quot;']],
  ]
  for (const [what, links, chosen, texts] of rows) {
    platform.answer('GET /identities/v1/visitor-1/links', { body: collection(links) })
    const page = await browser.get('/applications/new')
    t.equal(readForm(page, '/applications').groupId, chosen, what)
    t.same(
      [...page.body.matchAll(/<option[^>]*>([^<]*)</g)].map(([, text]) => text),
      texts,
      what,
    )
  }
})

t.test(
  'PG-16: the answer to the form for a new application has status 303, and a reload does not send the form again',
  async t => {
    const { browser, platform, form } = await openForm(t)
    const answer = await browser.post('/applications', { ...form, ...typed })
    t.equal(answer.statusCode, 303)
    t.equal(answer.headers.location, '/applications/app-1')

    const [created] = platform.received('POST /apps/v1')
    t.equal(created!.headers['content-type'], 'application/json')
    t.same(JSON.parse(created!.body), {
      context: 'https://standards.oftrust.net/v2/Context/Identity/Digital/Software/App/',
      type: 'App',
      data: {
        ...typed,
        groupId: 'group-1',
        description: 'First line\nsecond “line”',
        redirectUris: 'https://weather.test/back,http://localhost:3000/exchangeToken',
        defaultRedirectUri: 'https://weather.test/back',
      },
    })

    await browser.get('/applications/app-1')
    await browser.get('/applications/app-1')
    t.equal(platform.received('POST /apps/v1').length, 1)
  },
)

t.test('the client id, the client secret and the app access tokens are shown once, and not after a reload', async t => {
  const { browser, platform, api, form } = await openForm(t)
  const answer = await browser.post('/applications', { ...form, ...typed })
  const handover = setCookieLine(answer, '__Host-handover')
  t.match(handover, /; Max-Age=600;.* HttpOnly; Secure; SameSite=Strict/)

  const first = await browser.get(String(answer.headers.location), { site: 'same-origin' })
  const shown = [api.secrets[0]!, 'app-access-token-1-of-app-1', 'app-access-token-2-of-app-1']
  t.equal(first.statusCode, 200)
  for (const one of ['app-1', ...shown]) t.match(first.body, `>${one}<`)
  t.match(textOf(first), applicationsTexts.credentials.shownOnce)
  t.match(textOf(first), applicationsTexts.credentials.registered('Weather <b>& tides</b>'))
  const file = linksOf(first).find(link => link.startsWith('data:text/plain'))!
  t.equal(
    decodeURIComponent(file.slice(file.indexOf(',') + 1)),
    `# Weather <b>& tides</b>
LOGIN_URL=${platform.url}
API_URL=${platform.url}
CLIENT_ID=app-1
CLIENT_SECRET=${api.secrets[0]}
# ${applicationsTexts.credentials.validUntilInFile('2028-02-29T12:00:00.000Z')}
APP_ACCESS_TOKEN_1=app-access-token-1-of-app-1
# ${applicationsTexts.credentials.validUntilInFile('2028-02-29T12:00:00.000Z')}
APP_ACCESS_TOKEN_2=app-access-token-2-of-app-1
`,
    'the download link must contain the settings file',
  )
  t.equal(textOf(first).split('Feb 29, 2028, 12:00 PM UTC').length - 1, 2)
  t.match(setCookieLine(first, '__Host-handover'), /=; Max-Age=0; Path=\//)
  t.equal(browser.cookie('__Host-handover'), undefined)

  const second = await browser.get('/applications/app-1')
  t.equal(second.statusCode, 200)
  for (const one of shown) t.notMatch(second.body, one)
  t.match(textOf(second), 'Weather <b>& tides</b>')
})

t.test('the credentials are not shown ten minutes later, on another page, or to another visitor', async t => {
  const { browser, api, form, clock } = await openForm(t)
  await browser.post('/applications', { ...form, ...typed })
  const secret = api.secrets[0]!
  t.notMatch((await browser.copy().get('/applications')).body, secret)

  const late = browser.copy()
  const handover = browser.cookie('__Host-handover')
  clock.advance(601)
  const page = await late.get('/applications/app-1', {
    headers: { cookie: `${late.cookieHeader()}; __Host-handover=${handover}` },
  })
  t.equal(page.statusCode, 200)
  t.notMatch(page.body, secret)
})

t.test(
  'the credentials fit into the cookie, even with a long name and with tokens as long as the platform’s',
  async t => {
    const { browser, platform, form } = await openForm(t)
    // A token with an ES256 signature, the claims of RFC 9068, and UUIDs as ids has 700 characters.
    const tokens = [1, 2].map(n => ({ id: randomUUID(), token: `${n}${'e'.repeat(699)}`, expires_in: 63_072_000 }))
    const client = { clientId: 'app-1', clientSecrets: ['s'.repeat(43)] }
    platform.answer('POST /apps/v1', { status: 201, body: { '@id': 'app-1', client, tokens } })
    const answer = await browser.post('/applications', { ...form, ...typed, name: 'n'.repeat(200) })
    t.equal(answer.statusCode, 303)
    const { length } = browser.cookie('__Host-handover')!
    t.ok(length > 2_000 && length <= 3_500, `${length} bytes`)
    const page = await browser.get('/applications/app-1')
    for (const { token } of tokens) t.match(page.body, `>${token}<`)
  },
)

t.test('an application name with line breaks cannot add a setting to the .env file that the page offers', async t => {
  const { browser, form } = await openForm(t)
  await browser.post('/applications', { ...form, ...typed, name: 'Weather\r\nCLIENT_ID=planted\rAPI_URL=planted' })
  const file = linksOf(await browser.get('/applications/app-1')).find(link => link.startsWith('data:'))!
  const lines = decodeURIComponent(file).split(/[\r\n]+/)
  t.equal(lines.filter(line => /^(CLIENT_ID|API_URL)=/.test(line)).length, 2)
  t.notOk(lines.some(line => line.endsWith('=planted') && !line.includes('#')))
})

t.test('F-44: tokens without a valid lifetime are shown without an expiry time', async t => {
  const { browser, platform, form } = await openForm(t)
  const tokens = [undefined, null, '5', -1, 0, 1e300, {}].map((expires_in, index) => ({
    token: `t-${index}`,
    expires_in,
  }))
  const client = { clientId: 'app-1', clientSecrets: ['the-only-secret-of-this-test'] }
  platform.answer('POST /apps/v1', { status: 201, body: { '@id': 'app-1', client, tokens } })
  t.equal((await browser.post('/applications', { ...form, ...typed })).statusCode, 303)
  const page = await browser.get('/applications/app-1')
  t.equal(page.statusCode, 200)
  t.match(page.body, '>t-6<')
  t.notMatch(decodeURIComponent(page.body), /Valid until|Invalid Date|NaN/)
})

t.test('if the credentials are too long for a cookie, the answer to the form shows the credentials', async t => {
  const { browser, platform, form } = await openForm(t)
  const token = 'long'.repeat(1000)
  platform.answer('POST /apps/v1', {
    status: 201,
    body: {
      '@id': 'app-1',
      client: { clientId: 'app-1', clientSecrets: ['the-only-secret-of-this-test'] },
      tokens: [{ id: 'token-1', token }],
    },
  })
  const page = await browser.post('/applications', { ...form, ...typed })
  t.equal(page.statusCode, 201)
  t.match(page.body, 'the-only-secret-of-this-test')
  t.match(page.body, token)
  t.equal(setCookieLine(page, '__Host-handover'), undefined)
})

t.test('PG-16: the problems that the API reports are shown next to their fields, with the typed text', async t => {
  const { browser, platform, form } = await openForm(t)
  platform.answer('POST /apps/v1', {
    status: 422,
    body: {
      error: {
        status: 422,
        message: {
          redirectUris: ['Not a <valid> URL.', 'Must be https.'],
          scopes: 'Unknown scope.',
          colour: ['Never heard of.'],
        },
      },
    },
  })
  const page = await browser.post('/applications', { ...form, ...typed })
  t.equal(page.statusCode, 422)
  t.equal(faultOf(page, 'redirectUris'), 'Not a <valid> URL. Must be https.')
  t.equal(faultOf(page, 'scopes'), 'Unknown scope.')
  t.equal(faultOf(page, 'name'), undefined)
  t.match(
    textOf(page, 'problem'),
    [
      [labels.redirectUris, 'Not a <valid> URL.'],
      [labels.redirectUris, 'Must be https.'],
      [labels.scopes, 'Unknown scope.'],
    ]
      .map(([label = '', problem = '']) => webTexts.form.problemOf(label, problem))
      .join(' '),
  )
  t.match(textOf(page, 'problem'), 'Never heard of.', 'the page must show the problem with an unknown field')
  t.notMatch(page.body, 'colour')
  t.same(
    readForm(page, '/applications'),
    { ...form, ...typed, description: 'First line\nsecond “line”' },
    'the page must show the same form with everything that was typed',
  )
  t.notMatch(
    textOf(page, 'problem'),
    around(webTexts.form.nothingLost)[0],
    'the page must not show a request id, because the visitor can correct the form',
  )
  platform.answer('POST /apps/v1', { status: 503, body: {} })
  const unavailable = await browser.post('/applications', { ...form, ...typed })
  t.match(unavailable.body, `${around(webTexts.form.nothingLost)[0]}<code>`)
})

for (const [status, words] of [
  [403, applicationsTexts.form.problems.notAMember],
  [404, applicationsTexts.form.problems.noGroup],
] as const) {
  t.test(
    `UP-14: if the API refuses to create an application and answers ${status}, the form shows a problem next to the group field`,
    async t => {
      const { browser, platform, form } = await openForm(t)
      platform.answer('POST /apps/v1', { status, body: { error: { status, message: 'No.' } } })
      const page = await browser.post('/applications', { ...form, ...typed })
      t.equal(page.statusCode, 422)
      t.equal(faultOf(page, 'groupId'), words)
      t.equal(readForm(page, '/applications').name, typed.name)
      t.equal(platform.received('POST /api/exchangeToken').length, 1, 'the session must not be renewed')
    },
  )
}

for (const [what, answer, status, words] of [
  ['fails', { status: 500, body: 'Traceback: secret-of-the-api' }, 502, upstreamTexts.api.failed],
  ['is busy', { status: 429, headers: { 'retry-after': '7' }, body: {} }, 503, upstreamTexts.api.busy(7)],
  ['answers without an application', { status: 201, body: {} }, 502, upstreamTexts.api.unexpected],
  [
    'sends an application without a client',
    { status: 201, body: { '@id': 'app-1' } },
    502,
    upstreamTexts.api.unexpected,
  ],
  ['answers 200, without a client', { status: 200, body: { '@id': 'app-1' } }, 502, upstreamTexts.api.unexpected],
  [
    'reports a conflict',
    { status: 409, body: { error: { status: 409, message: 'x' } } },
    409,
    signInTexts.api.conflict,
  ],
] as const) {
  t.test(`if the API ${what}, the form keeps the typed text`, async t => {
    const { browser, platform, form } = await openForm(t)
    platform.answer('POST /apps/v1', answer)
    const page = await browser.post('/applications', { ...form, ...typed })
    t.equal(page.statusCode, status)
    t.match(textOf(page, 'problem'), words)
    t.notMatch(page.body, 'secret-of-the-api')
    t.hasStrict(readForm(page, '/applications'), { ...typed, description: 'First line\nsecond “line”' })
    t.equal(platform.received('POST /apps/v1').length, 1, 'the application must be sent only once')
    t.ok(browser.cookie('__Host-session'))
  })
}

t.test('UP-15: the API gets the visitor’s access token, and only the portal gets the client secret', async t => {
  const { browser, platform, form } = await openForm(t)
  await browser.post('/applications', { ...form, ...typed })
  await browser.get('/applications/app-1')
  await browser.get('/applications/app-1')
  const calls = platform.received().filter(({ url }) => !url.startsWith('/api/') && !url.startsWith('/.well-known/'))
  t.ok(calls.length >= 4)
  for (const { headers } of calls) t.match(headers.authorization, /^Bearer [\w-]+\.[\w-]+\.[\w-]+$/)
  t.notMatch(JSON.stringify(calls), clientSecret)
})

t.test(
  'group-by-hand: if the client does not know the visitor’s user id, the visitor types the group’s id, and the client does not ask the API for groups',
  async t => {
    const { browser, platform } = await buildApplicationsClient(t)
    platform.answer('POST /api/exchangeToken', giveTokens({ access_token: 'opaque-access-token' }))
    await signIn(browser)
    const page = await browser.get('/applications/new', { site: 'same-origin' })
    t.equal(page.statusCode, 200)
    t.match(page.body, /<input type="text" id="groupId"/)
    t.notOk(platform.received().some(({ url }) => url.startsWith('/identities/')))
  },
)

t.test('if the list of groups no longer contains the chosen group, the form does not choose another group', async t => {
  const { browser, platform, form } = await openForm(t)
  const own = { to: 'group-2', data: { name: 'Bus people', status: 'maker' } }
  platform.answer('GET /identities/v1/visitor-1/links', { body: collection([own]) })
  platform.answer('POST /apps/v1', { status: 403, body: { error: { status: 403, message: 'No.' } } })
  const page = await browser.post('/applications', { ...form, ...typed, groupId: 'group-1' })
  t.equal(faultOf(page, 'groupId'), applicationsTexts.form.problems.notAMember)
  t.match(page.body, `<option value="">${webTexts.field.choose}</option>`)
  t.equal(readForm(page, '/applications').groupId, '')
})

t.test('a message from the API names the fields with the labels of the form', async t => {
  const { browser, platform, form } = await openForm(t)
  const message = { redirectUris: ['defaultRedirectUri is not one of redirectUris.'] }
  platform.answer('POST /apps/v1', { status: 422, body: { error: { status: 422, message } } })
  const page = await browser.post('/applications', { ...form, ...typed })
  const { defaultRedirectUri, redirectUris } = applicationsTexts.form.labels
  t.equal(faultOf(page, 'redirectUris'), `${defaultRedirectUri} is not one of ${redirectUris}.`)
})

t.test('a message about a redirect URI shows the URI as the visitor typed it', async t => {
  const { browser } = await buildApplicationsClient(t)
  await signIn(browser)
  const form = readForm(await browser.get('/applications/new'), '/applications')
  for (const uri of ['https://a.test/cb?groupId=1#x', 'myapp://toString#x']) {
    const page = await browser.post('/applications', { ...form, ...typed, redirectUris: uri })
    t.equal(page.statusCode, 422)
    t.match(faultOf(page, 'redirectUris'), `“${uri}”`)
  }
})
