// Editing an application: the client sends the typed values, and never guesses a value.

import t, { type Test } from 'tap'
import { applicationsTexts } from '../../../src/client/applications/texts.ts'
import { signInTexts } from '../../../src/client/sign-in/texts.ts'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'
import { signIn } from '../support/build-test-client.ts'
import { faultOf, linksOf, readForm, textOf } from '../support/read-form.ts'
import type { Script } from '../support/scripted-platform.ts'
import { applicationRecord } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'

const action = '/applications/app-1/edit'
const data = {
  name: 'Weather',
  description: 'Two\nlines',
  webPageUrl: 'https://weather.test/',
  iconUrl: '',
  privacyPolicyUrl: 'https://weather.test/privacy',
}
const client = {
  clientId: 'app-1',
  redirectUris: 'https://weather.test/back,http://localhost:3000/back',
  defaultRedirectUri: 'http://localhost:3000/back',
  scopes: 'read write',
  defaultScopes: 'read',
}

/**
 * Signs a visitor in and opens the form. If `returnsClient` is true, the API returns the OAuth client. The real
 * platform's API does not return it.
 */
async function openForm(t: Test, { returnsClient }: { returnsClient: boolean }) {
  const record = applicationRecord('app-1', data, returnsClient ? { client } : {})
  const scripts: Record<string, Script> = {
    'GET /apps/v1/app-1': { body: record },
    'PUT /apps/v1/app-1': { body: { ...record, client } },
  }
  const test = await buildApplicationsClient(t, { scripts })
  await signIn(test.browser)
  const page = await test.browser.get(action)
  const sent = () => JSON.parse(test.platform.received('PUT /apps/v1/app-1').at(-1)!.body)
  return { ...test, page, form: readForm(page, action), sent }
}

t.test('the form has the values of the application, and no field for the group', async t => {
  const { page, form } = await openForm(t, { returnsClient: true })
  const { clientId: _, ...clientFields } = client
  t.equal(page.statusCode, 200)
  const redirectUris = 'https://weather.test/back\nhttp://localhost:3000/back'
  t.hasStrict(form, { ...data, ...clientFields, redirectUris }, 'the field must have one redirect URI on each line')
  t.notOk('groupId' in form)
})

t.test(
  'PG-16: if changes were saved, the answer to the form has status 303, and the page of the application says that the changes are saved',
  async t => {
    const { browser, form, sent, platform } = await openForm(t, { returnsClient: true })
    const answer = await browser.post(action, { ...form, name: 'Tides', description: '', scopes: '' })
    t.equal(answer.statusCode, 303)
    t.same(sent(), {
      context: 'https://standards.oftrust.net/v2/Context/Identity/Digital/Software/App/',
      type: 'App',
      data: {
        ...data,
        name: 'Tides',
        description: '',
        redirectUris: client.redirectUris,
        defaultRedirectUri: client.defaultRedirectUri,
        scopes: '',
        defaultScopes: 'read',
      },
    })
    const page = await browser.get(String(answer.headers.location))
    t.match(textOf(page), applicationsTexts.details.saved)
    t.equal(platform.received('PUT /apps/v1/app-1').length, 1)
  },
)

t.test('after saving, the title of the page begins with “Saved”', async t => {
  const { browser, form } = await openForm(t, { returnsClient: true })
  const { headers } = await browser.post(action, form)
  const { body } = await browser.get(String(headers.location))
  t.match(body, `<title>${applicationsTexts.details.titleAfterSaving('Weather')} · Applications</title>`)
  t.match(body, `<p class="success" role="status" tabindex="-1" autofocus>${applicationsTexts.details.saved}`)
})

t.test('a refused form keeps its title, even if the API cannot return the application’s name', async t => {
  const { browser, form, platform } = await openForm(t, { returnsClient: true })
  for (const [answer, changes] of [
    [{ body: {} }, { name: '' }],
    [{ status: 500, body: '' }, { name: 'Tides' }],
  ] as const) {
    platform.answer('PUT /apps/v1/app-1', answer)
    platform.answer('GET /apps/v1/app-1', { status: 500, body: '' })
    const page = await browser.post(action, { ...form, ...changes })
    t.match(
      page.body,
      `<title>${webTexts.page.errorTitle(applicationsTexts.form.editTitle('Weather'))} · Applications</title>`,
    )
    t.match(page.body, `<h1>${applicationsTexts.form.editTitle('Weather')}</h1>`)
  }
})

t.test(
  'if the visitor clears the default redirect URI, the client sends the first redirect URI, and the field’s hint says so',
  async t => {
    const { browser, page, form, sent } = await openForm(t, { returnsClient: true })
    t.match(textOf(page, 'defaultRedirectUri-hint'), applicationsTexts.form.hints.defaultRedirectUri)
    await browser.post(action, { ...form, defaultRedirectUri: '' })
    t.equal(sent().data.defaultRedirectUri, 'https://weather.test/back')
  },
)

t.test(
  'if the API does not return the default redirect URI, an empty field leaves the stored URI unchanged, and the field’s hint says so',
  async t => {
    const { browser, page, form, sent } = await openForm(t, { returnsClient: false })
    t.match(textOf(page, 'defaultRedirectUri-hint'), applicationsTexts.form.hints.defaultRedirectUriUnknown)
    await browser.post(action, { ...form, redirectUris: 'https://typed.test/back', defaultRedirectUri: '' })
    t.notOk('defaultRedirectUri' in sent().data)
  },
)

t.test('if the API does not return the OAuth client, the page says so and asks for the redirect URIs', async t => {
  const { browser, page, form, platform } = await openForm(t, { returnsClient: false })
  t.match(textOf(page), applicationsTexts.form.clientUnknown)
  t.hasStrict(form, { ...data, redirectUris: '', defaultRedirectUri: '', scopes: '', defaultScopes: '' })

  const refused = await browser.post(action, form)
  t.equal(refused.statusCode, 422)
  t.ok(faultOf(refused, 'redirectUris'))
  t.equal(platform.received('PUT /apps/v1/app-1').length, 0, 'the client must not send guessed values')
})

t.test(
  'if the API does not return the OAuth client, the client sends only the fields that the visitor has filled in',
  async t => {
    const { browser, form, sent } = await openForm(t, { returnsClient: false })
    await browser.post(action, { ...form, redirectUris: 'https://typed.test/back' })
    t.same(sent().data, { ...data, redirectUris: 'https://typed.test/back' })

    await browser.post(action, {
      ...form,
      redirectUris: 'https://typed.test/back',
      scopes: 'read',
      defaultRedirectUri: 'https://typed.test/back',
    })
    t.same(sent().data, {
      ...data,
      redirectUris: 'https://typed.test/back',
      defaultRedirectUri: 'https://typed.test/back',
      scopes: 'read',
    })
  },
)

t.test(
  'if the API does not return one of the optional fields, an empty field leaves its stored value unchanged, also after a refusal',
  async t => {
    for (const name of ['description', 'webPageUrl', 'defaultRedirectUri', 'scopes', 'defaultScopes']) {
      const { platform, browser } = await openForm(t, { returnsClient: true })
      const record = applicationRecord(
        'app-1',
        { ...data, [name]: undefined },
        { client: { ...client, [name]: undefined } },
      )
      platform.answer('GET /apps/v1/app-1', { body: record })
      const sent = () => JSON.parse(platform.received('PUT /apps/v1/app-1').at(-1)!.body).data
      const form = readForm(await browser.get(action), action)
      const again = readForm(await browser.post(action, { ...form, name: '' }), action)
      await browser.post(action, { ...again, name: 'Tides' })
      t.notOk(name in sent(), `the update must not contain ${name}`)
      const others = ['description', 'scopes', 'defaultScopes'].filter(other => other !== name)
      for (const other of others) t.ok(other in sent(), `the update must contain ${other}`)

      const later = readForm(await browser.get(action), action)
      await browser.post(action, { ...later, [name]: 'https://weather.test/back' })
      t.equal(sent()[name], 'https://weather.test/back', `the update contains the typed ${name}`)
    }
  },
)

t.test('a form that was opened before an upgrade does not erase the values that it could not show', async t => {
  const { browser, form, sent } = await openForm(t, { returnsClient: false })
  const { missing: _, ...older } = form
  await browser.post(action, { ...older, redirectUris: 'https://typed.test/back' })
  t.same(sent().data, { ...data, redirectUris: 'https://typed.test/back' })
})

t.test('a form that was opened before an upgrade keeps these values even if it is refused first', async t => {
  const { browser, form, sent } = await openForm(t, { returnsClient: false })
  const { missing: _, ...older } = form
  const again = readForm(await browser.post(action, { ...older, name: '' }), action)
  t.equal(again.missing, form.missing)
  await browser.post(action, { ...again, name: 'Tides', redirectUris: 'https://typed.test/back' })
  t.same(sent().data, { ...data, name: 'Tides', redirectUris: 'https://typed.test/back' })
})

t.test(
  'if the API does not return the OAuth client, a refused form still says so, and no guessed values are sent to the API',
  async t => {
    const { browser, form, sent } = await openForm(t, { returnsClient: false })
    const refused = await browser.post(action, { ...form, name: '' })
    t.match(textOf(refused), applicationsTexts.form.clientUnknown)
    const again = readForm(refused, action)
    await browser.post(action, { ...again, name: 'Tides', redirectUris: 'https://typed.test/back' })
    t.same(sent().data, { ...data, name: 'Tides', redirectUris: 'https://typed.test/back' })
  },
)

t.test(
  'if the API returns the OAuth client, and the visitor clears a field after the form was refused, the client sends the empty field',
  async t => {
    const { browser, form, sent } = await openForm(t, { returnsClient: true })
    const again = readForm(await browser.post(action, { ...form, name: '' }), action)
    await browser.post(action, { ...again, name: 'Tides', scopes: '' })
    t.equal(sent().data.scopes, '')
  },
)

t.test('the form shows the API’s error message next to each refused field, and keeps the typed text', async t => {
  const { browser, form, platform } = await openForm(t, { returnsClient: true })
  platform.answer('PUT /apps/v1/app-1', {
    status: 422,
    body: { error: { status: 422, message: { defaultRedirectUri: ['Must be one of redirectUris.'] } } },
  })
  const { formToken, ...fields } = form
  const typed = { ...fields, name: 'Tides', defaultRedirectUri: 'https://weather.test/back' }
  const page = await browser.post(action, { formToken: formToken!, ...typed })
  t.equal(page.statusCode, 422)
  t.equal(
    faultOf(page, 'defaultRedirectUri'),
    `Must be one of ${applicationsTexts.form.labels.redirectUris}.`,
    'the page must show the label, and not the name that the API uses for the field',
  )
  t.hasStrict(readForm(page, action), typed)
})

const { refused } = signInTexts.api
for (const [what, body, words] of [
  [
    'a sentence',
    { error: { status: 422, message: 'This name <b>is taken</b>.' } },
    refused('This name <b>is taken</b>.'),
  ],
  [
    'an OAuth error',
    { error: 'invalid_request', error_description: 'Two of these clash.' },
    refused('Two of these clash.'),
  ],
  ['a very long sentence', { error: { status: 422, message: 'x'.repeat(9_000) } }, refused(`${'x'.repeat(499)}…`)],
  ['no fields', { error: { status: 422, message: {} } }, signInTexts.api.refusedWithoutReason],
  ['nothing', '', signInTexts.api.refusedWithoutReason],
  ['a page', '<html>No</html>', signInTexts.api.refusedWithoutReason],
] as const) {
  t.test(
    `UP-14: after a 422 answer with ${what}, the form shows a message above its fields, and keeps the typed text`,
    async t => {
      const { browser, form, platform } = await openForm(t, { returnsClient: true })
      platform.answer('PUT /apps/v1/app-1', { status: 422, body })
      const { formToken, ...fields } = form
      const typed = { ...fields, name: 'Tides', scopes: '' }
      const page = await browser.post(action, { formToken: formToken!, ...typed })
      t.equal(page.statusCode, 422)
      t.match(textOf(page, 'problem'), words)
      t.notMatch(textOf(page, 'problem'), webTexts.form.fieldsRefused)
      t.hasStrict(readForm(page, action), typed)
    },
  )
}

t.test('UP-14: if the API refuses a field without a reason, the form marks the field', async t => {
  const { browser, form, platform } = await openForm(t, { returnsClient: true })
  platform.answer('PUT /apps/v1/app-1', { status: 422, body: { error: { status: 422, message: { name: [] } } } })
  t.equal(faultOf(await browser.post(action, form), 'name'), signInTexts.api.fieldRefused)
})

t.test('if a form contains a field twice, the client ignores both values', async t => {
  const { browser, client: server, form, platform } = await openForm(t, { returnsClient: true })
  const answer = await server.inject({
    method: 'POST',
    url: action,
    payload: `${new URLSearchParams({ ...form, name: 'One' })}&name=Two`,
    headers: {
      cookie: browser.cookieHeader(),
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/x-www-form-urlencoded',
    },
  })
  t.equal(answer.statusCode, 422)
  t.equal(faultOf(answer, 'name'), applicationsTexts.form.required.name)
  t.equal(platform.received('PUT /apps/v1/app-1').length, 0)
})

for (const [what, answer, status, words] of [
  [
    'forbids the change',
    { status: 403, body: { error: { status: 403, message: 'Permission denied' } } },
    403,
    signInTexts.api.forbidden,
  ],
  ['answers with status 500', { status: 500, body: '' }, 502, upstreamTexts.api.failed],
  ['answers 200 without JSON', { status: 200, body: '<html>' }, 502, upstreamTexts.api.unexpected],
  ['is busy', { status: 503, headers: { 'retry-after': '9' }, body: '' }, 503, upstreamTexts.api.busy(9)],
] as const) {
  t.test(`if the API ${what} when the client saves changes, the form keeps the typed text`, async t => {
    const { browser, form, platform } = await openForm(t, { returnsClient: true })
    platform.answer('PUT /apps/v1/app-1', answer)
    const page = await browser.post(action, { ...form, name: 'Typed <at length>' })
    t.equal(page.statusCode, status)
    t.match(textOf(page, 'problem'), words)
    t.equal(readForm(page, action).name, 'Typed <at length>')
    t.equal(platform.received('PUT /apps/v1/app-1').length, 1, 'the changes must be sent only once')
  })
}

t.test(
  'if a visitor saves changes to an application that no longer exists, the page says so and links to the list',
  async t => {
    const { browser, form, platform } = await openForm(t, { returnsClient: true })
    platform.answer('PUT /apps/v1/app-1', { status: 404, body: { error: { status: 404, message: 'App not found.' } } })
    const page = await browser.post(action, form)
    t.equal(page.statusCode, 404)
    t.match(textOf(page), applicationsTexts.notFound)
    t.match(page.body, '"><a href="/applications">', 'the navigation must not mark a link as the current page')
    t.match((await browser.get('/applications/new')).body, '"><a href="/applications" aria-current="true">')
    t.notMatch(page.body, 'formToken')
    t.ok(linksOf(page).includes('/applications'))
  },
)
