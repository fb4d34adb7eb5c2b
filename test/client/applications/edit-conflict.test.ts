// If somebody else changes an application while the visitor edits it, the client overwrites nothing, and lets the
// visitor choose.

import t, { type Test } from 'tap'
import { applicationsTexts } from '../../../src/client/applications/texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'
import { beginLogin, callbackUrl, signIn, TestClock } from '../support/build-test-client.ts'
import { linksOf, readForm, textOf } from '../support/read-form.ts'
import { refreshTarget } from '../support/read-response.ts'
import { giveTokens, type Received, send } from '../support/scripted-platform.ts'
import { applicationRecord } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'

const action = '/applications/app-1/edit'
const data = {
  name: 'Weather',
  description: 'Two\nlines',
  webPageUrl: 'https://weather.test/',
  iconUrl: '',
  privacyPolicyUrl: '',
}
const client = {
  clientId: 'app-1',
  redirectUris: 'https://weather.test/back,http://localhost:3000/back',
  defaultRedirectUri: 'http://localhost:3000/back',
  scopes: 'read write',
  defaultScopes: 'read',
}

/**
 * Signs a visitor in and opens the form. The API stores each update. `change` makes an update as another person. If
 * `hasTags` is true, the API sends and compares entity tags.
 */
async function openForm(t: Test, { hasTags = true, tagOf = (version: number) => `"${version}"` } = {}) {
  const clock = new TestClock()
  const stored = { data: { ...data }, client: { ...client }, version: 1 }
  const change = (changes: Record<string, string> = {}) => {
    for (const part of [stored.data, stored.client])
      for (const name of Object.keys(part)) if (name in changes) Object.assign(part, { [name]: changes[name] })
    stored.version += 1
  }
  const headers = (): Record<string, string> => (hasTags ? { etag: tagOf(stored.version) } : {})
  const record = () => applicationRecord('app-1', stored.data, { client: { ...stored.client } })
  const test = await buildApplicationsClient(t, {
    clock,
    scripts: {
      'GET /apps/v1/app-1': (_request, response) => send(response, { body: record(), headers: headers() }),
      'PUT /apps/v1/app-1': (request: Received, response) => {
        const ifMatch = request.headers['if-match']
        // A weak tag never matches (RFC 9110 13.1.1).
        if (hasTags && ifMatch !== undefined && (ifMatch !== tagOf(stored.version) || ifMatch.startsWith('W/')))
          return send(response, { status: 412, body: { error: { status: 412, message: 'App was changed.' } } })
        change(JSON.parse(request.body).data)
        send(response, { body: record() })
      },
    },
  })
  const { browser, platform } = test
  await signIn(browser)
  const form = readForm(await browser.get(action), action)
  const puts = () => platform.received('PUT /apps/v1/app-1')
  const fields = () => ({ ...stored.data, ...stored.client })
  /**
   * Returns the fields as a browser sends them. A radio button is sent if it is checked on the page or listed in
   * `choices`.
   */
  const choose = (page: { body: string }, choices: Record<string, string> = {}) => {
    const shown = readForm(page, action)
    const keeps = Object.keys(shown).filter(name => name.startsWith('keep-'))
    for (const name of keeps) delete shown[name]
    const checked = [...page.body.matchAll(/name="(keep-\w+)" value="(\w+)"[^>]* checked/g)]
    return { ...shown, ...Object.fromEntries(checked.map(([, name, value]) => [name, value!])), ...choices }
  }
  return { ...test, clock, form, stored, change, fields, puts, choose }
}

const chosen = (page: { body: string }, name: string) =>
  new RegExp(`name="keep-${name}" value="(\\w+)"[^>]* checked`).exec(page.body)?.[1]

/** Returns the names of the fields that the page asks about. */
const asked = (page: { body: string }) => [
  ...new Set([...page.body.matchAll(/type="radio" name="keep-(\w+)"/g)].map(([, name]) => name!)),
]

t.test(
  'PG-16: the client sends the changes in one call, with the ETag of the values that the form has shown',
  async t => {
    const { browser, form, puts, platform } = await openForm(t)
    const before = platform.received().length
    t.equal((await browser.post(action, { ...form, name: 'Tides' })).statusCode, 303)
    t.strictSame(
      puts().map(({ headers }) => headers['if-match']),
      ['"1"'],
    )
    t.equal(platform.received().length - before, 1)
  },
)

for (const [what, settings] of Object.entries({
  'an API with ETags': { hasTags: true },
  'an API without ETags': { hasTags: false },
  'an API with weak ETags': { tagOf: (version: number) => `W/"${version}"` },
})) {
  t.test(
    `if an edit conflicts with the edit of another person, the client saves nothing, and the page shows the typed and the stored value of each field (${what})`,
    async t => {
      const { browser, form, change, fields, puts } = await openForm(t, settings)
      change({ description: 'Theirs', scopes: 'read' })
      const before = fields()
      const page = await browser.post(action, { ...form, name: 'Mine', description: 'Also mine' })
      t.equal(page.statusCode, 409)
      t.strictSame(fields(), before)
      t.match(
        page.body,
        `<title>${webTexts.page.errorTitle(applicationsTexts.form.editTitle('Weather'))} · Applications</title>`,
      )
      t.match(textOf(page, 'problem'), applicationsTexts.conflict.message)
      t.match(
        textOf(page, 'problem'),
        webTexts.form.problemOf(applicationsTexts.form.labels.description, applicationsTexts.conflict.choose),
      )
      t.ok(linksOf(page).includes('#description'))
      t.strictSame(asked(page), ['name', 'description', 'scopes'])
      const text = textOf(page)
      for (const words of ['Also mine', 'Theirs', 'Mine', 'Weather', 'read write']) t.match(text, words)
      t.strictSame(
        ['name', 'description', 'scopes'].map(name => chosen(page, name)),
        ['typed', undefined, 'stored'],
        'the visitor must choose only for the field that both people changed; the other changes are kept',
      )
      t.equal(
        puts().filter(({ headers }) => headers['if-match'] === undefined).length,
        0,
        'every update must have an If-Match header',
      )
    },
  )

  t.test(`only the values that the visitor chose are saved (${what})`, async t => {
    const { browser, form, change, fields, choose } = await openForm(t, settings)
    change({ description: 'Theirs', scopes: 'read', redirectUris: 'https://weather.test/back,https://new.test/back' })
    const typed = { name: 'Mine', description: 'Also\nmine', defaultRedirectUri: 'https://weather.test/back' }
    const page = await browser.post(action, { ...form, ...typed })
    const answer = await browser.post(action, choose(page, { 'keep-description': 'typed' }))
    t.equal(answer.statusCode, 303, textOf(answer))
    t.strictSame(fields(), {
      ...data,
      ...client,
      ...typed,
      scopes: 'read',
      redirectUris: 'https://weather.test/back,https://new.test/back',
    })
  })

  t.test(`if two people make the same change, there is no conflict (${what})`, async t => {
    const { browser, form, change, fields } = await openForm(t, settings)
    const uri = 'https://weather.test/back'
    change({ description: 'The same', redirectUris: uri, defaultRedirectUri: uri })
    const typed = { description: ' The same\r\n', redirectUris: `${uri}\n${uri}`, defaultRedirectUri: '' }
    const answer = await browser.post(action, { ...form, ...typed, name: 'Mine' })
    t.equal(answer.statusCode, 303)
    t.match(fields(), { name: 'Mine', description: 'The same' })
  })
}

t.test('if an edit form is delivered twice, the changes are saved without a conflict', async t => {
  const { browser, form, fields } = await openForm(t)
  for (let delivery = 0; delivery < 2; delivery += 1)
    t.equal(
      (await browser.post(action, { ...form, name: 'Mine', redirectUris: `${form.redirectUris}` })).statusCode,
      303,
    )
  t.equal(fields().name, 'Mine')
})

t.test('a form that was opened before an upgrade is saved without a conflict, even if it is refused first', async t => {
  const { browser, form, stored } = await openForm(t, { hasTags: false })
  const { shownHashes = '', ...others } = form
  const older = { ...others, seen: shownHashes }
  const again = readForm(await browser.post(action, { ...older, name: '' }), action)
  t.equal(again.shownHashes, shownHashes)
  for (const [fields, name] of [[older, 'Tides'] as const, [again, 'Winds'] as const]) {
    stored.data = { ...data }
    t.equal((await browser.post(action, { ...fields, name })).statusCode, 303)
    t.equal(stored.data.name, name)
  }
})

t.test('a new client secret changes the ETag of an application but causes no conflict', async t => {
  const { browser, form, change, fields, puts } = await openForm(t)
  change()
  t.equal((await browser.post(action, { ...form, name: 'Mine' })).statusCode, 303)
  t.equal(fields().name, 'Mine')
  t.strictSame(
    puts().map(({ headers }) => headers['if-match']),
    ['"1"', '"2"'],
    'the second update must also have an If-Match header',
  )
})

t.test('if the application changes twice in a row, the form is shown again with the typed text', async t => {
  const { browser, form, platform, puts } = await openForm(t)
  platform.answer('PUT /apps/v1/app-1', { status: 412, body: {} })
  const page = await browser.post(action, { ...form, name: 'Mine' })
  t.equal(page.statusCode, 412)
  t.match(textOf(page, 'problem'), applicationsTexts.form.changedJustNow)
  t.equal(readForm(page, action).name, 'Mine')
  t.equal(puts().length, 2)
})

t.test(
  'if a choice is missing or invalid, the page asks for this choice again, and keeps the other choices',
  async t => {
    const { browser, form, change, fields, choose } = await openForm(t)
    change({ description: 'Theirs', scopes: 'read' })
    const page = await browser.post(action, { ...form, name: 'Mine', description: 'Also mine' })
    for (const choices of [{}, { 'keep-description': 'both' }] as Record<string, string>[]) {
      const again = await browser.post(action, choose(page, { 'keep-name': 'stored', ...choices }))
      t.equal(again.statusCode, 409)
      t.match(textOf(again, 'description-error'), applicationsTexts.conflict.choose)
      t.strictSame(
        ['name', 'description', 'scopes'].map(name => chosen(again, name)),
        ['stored', undefined, 'stored'],
      )
      t.equal(choose(again).description, 'Also mine')
      t.equal(fields().description, 'Theirs')
    }
  },
)

t.test('if somebody changes a field after the choices were shown, the page asks about this field only', async t => {
  const { browser, form, change, fields, choose } = await openForm(t)
  change({ description: 'Theirs', scopes: 'read' })
  const page = await browser.post(action, { ...form, name: 'Mine', description: 'Also mine' })
  change({ description: 'Theirs, later' })
  const choices = { 'keep-name': 'typed', 'keep-description': 'stored', 'keep-scopes': 'stored' }
  const again = await browser.post(action, choose(page, choices))
  t.equal(again.statusCode, 409)
  t.match(textOf(again), 'Theirs, later')
  t.strictSame(
    ['name', 'description', 'scopes'].map(name => chosen(again, name)),
    ['typed', undefined, 'stored'],
  )
  t.equal((await browser.post(action, choose(again, { 'keep-description': 'stored' }))).statusCode, 303)
  t.match(fields(), { name: 'Mine', description: 'Theirs, later', scopes: 'read' })
})

t.test('if the chosen values contradict each other, the form is shown again with these values', async t => {
  const { browser, form, change, choose, fields } = await openForm(t)
  change({ redirectUris: 'https://new.test/back', defaultRedirectUri: 'https://new.test/back' })
  const page = await browser.post(action, { ...form, defaultRedirectUri: 'https://weather.test/back' })
  const before = fields()
  const refused = await browser.post(
    action,
    choose(page, { 'keep-redirectUris': 'stored', 'keep-defaultRedirectUri': 'typed' }),
  )
  t.equal(refused.statusCode, 422)
  const back = readForm(refused, action)
  t.strictSame([back.redirectUris, back.defaultRedirectUri], ['https://new.test/back', 'https://weather.test/back'])
  t.strictSame(asked(refused), [])
  t.strictSame(fields(), before)
  const answer = await browser.post(action, { ...back, defaultRedirectUri: '' })
  t.equal(answer.statusCode, 303)
  t.equal(fields().defaultRedirectUri, 'https://new.test/back')
})

t.test(
  'a refused form keeps its ETag, so the client still finds a conflict when the visitor sends the corrected form',
  async t => {
    const { browser, form, change, fields } = await openForm(t)
    const refused = await browser.post(action, { ...form, name: '' })
    change({ description: 'Theirs' })
    const page = await browser.post(action, { ...readForm(refused, action), name: 'Mine' })
    t.equal(page.statusCode, 409)
    t.equal(fields().name, 'Weather')
  },
)

t.test(
  'if the ETag of a form is missing or forged, the form still overwrites only values that it has shown',
  async t => {
    for (const made of [
      { etag: '*' },
      { etag: '', shownHashes: '' },
      { etag: 'x\r\ny: z', shownHashes: ',,,' },
      { etag: '"1", "2"' },
    ] as Record<string, string>[]) {
      const { browser, form, change, fields, puts } = await openForm(t)
      change({ description: 'Theirs' })
      const page = await browser.post(action, { ...form, ...made, name: 'Mine' })
      t.equal(page.statusCode, 409)
      t.equal(fields().name, 'Weather')
      t.strictSame(puts(), [])
    }
  },
)

t.test('values that other people have saved are shown as text, even if they contain HTML', async t => {
  const { browser, form, change } = await openForm(t)
  change({ description: '"><script>alert(1)</script>', name: '<b>Bold</b>' })
  const page = await browser.post(action, { ...form, description: '"><img src=x>' })
  t.equal(page.statusCode, 409)
  t.notMatch(page.body, /<script>|<img src=x|<b>Bold/)
  t.match(textOf(page), '"><script>alert(1)</script>')
})

t.test('if the API fails while the client compares the values, the form keeps the typed text', async t => {
  for (const hasTags of [true, false]) {
    const { browser, form, change, platform, choose, fields } = await openForm(t, { hasTags })
    change({ description: 'Theirs' })
    const page = await browser.post(action, { ...form, name: 'Mine', description: 'Also mine' })
    const get = platform.script('GET /apps/v1/app-1')
    platform.answer('GET /apps/v1/app-1', { status: 500, body: '' })
    const failed = await browser.post(action, choose(page, { 'keep-description': 'stored' }))
    t.equal(failed.statusCode, 502)
    const back = readForm(failed, action)
    t.match(back, { name: 'Mine', description: 'Also mine' })
    platform.answer('GET /apps/v1/app-1', get)
    const again = await browser.post(action, back)
    t.equal(again.statusCode, 409, 'the page must ask for the choices again')
    t.equal(fields().description, 'Theirs')
  }
})

t.test(
  'if the API does not return the OAuth client, the client finds conflicts only in the fields that the API returns',
  async t => {
    const { browser, change, platform, stored } = await openForm(t, { hasTags: false })
    const answer = () => ({ body: applicationRecord('app-1', stored.data) })
    platform.answer('GET /apps/v1/app-1', (_request, response) => send(response, answer()))
    const form = readForm(await browser.get(action), action)
    const redirectUris = 'https://typed.test/back'
    change({ description: 'Theirs' })
    const page = await browser.post(action, { ...form, redirectUris, name: 'Mine' })
    t.equal(page.statusCode, 409)
    t.strictSame(asked(page), ['name', 'description'])
    t.equal(readForm(page, action).redirectUris, redirectUris)
  },
)

for (const [when, isChoosing] of [
  ['the form was sent', false],
  ['the choices were sent', true],
] as const) {
  t.test(
    `PG-14: after the visitor has signed in again, the client compares the draft with the application (${when})`,
    async t => {
      const { browser, form, change, clock, platform, choose, fields } = await openForm(t)
      const typed = { ...form, name: 'Mine', description: 'Also mine' }
      if (isChoosing) change({ description: 'Theirs' })
      const page = isChoosing ? await browser.post(action, typed) : undefined
      clock.advance(3601)
      platform.answer('POST /api/exchangeToken', { status: 401, body: { error: 'invalid_grant' } })
      const sent = page ? choose(page, { 'keep-name': 'typed', 'keep-description': 'stored' }) : typed
      const ended = await browser.post(action, sent)
      t.equal(ended.statusCode, 401)
      if (!isChoosing) change({ description: 'Theirs' })
      platform.answer('POST /api/exchangeToken', giveTokens())
      const link = linksOf(ended).find(href => href.startsWith('/login?'))!
      const started = await beginLogin(browser, new URL(link, 'http://here').searchParams.get('returnTo')!)
      const path = refreshTarget(await browser.get(callbackUrl(started), { site: 'cross-site' }))
      t.equal(path, action)
      const again = await browser.get(action)
      t.match(textOf(again), webTexts.form.hasDraft)

      if (isChoosing) {
        t.strictSame([chosen(again, 'name'), chosen(again, 'description')], ['typed', 'stored'])
        t.equal((await browser.post(action, choose(again))).statusCode, 303)
        t.match(fields(), { name: 'Mine', description: 'Theirs' })
      } else {
        const overtaken = await browser.post(action, readForm(again, action))
        t.equal(overtaken.statusCode, 409)
        t.match(fields(), { name: 'Weather', description: 'Theirs' })
      }
    },
  )
}

t.test(
  'PG-14: if the session has ended and the choices are too long for a cookie, the visitor signs in in another tab, and the page then asks for the choices again',
  async t => {
    const { browser, form, change, clock, platform, choose, fields } = await openForm(t)
    const description = 'x'.repeat(1_900)
    const redirectUris = `https://weather.test/${'y'.repeat(1_900)}`
    change({ description: 'Theirs' })
    const page = await browser.post(action, { ...form, description, redirectUris, defaultRedirectUri: '' })
    t.equal(page.statusCode, 409)
    const choices = { 'keep-description': 'stored', 'keep-redirectUris': 'typed', 'keep-defaultRedirectUri': 'typed' }
    clock.advance(3601)
    platform.answer('POST /api/exchangeToken', { status: 401, body: { error: 'invalid_grant' } })
    const ended = await browser.post(action, choose(page, choices))
    t.equal(ended.statusCode, 401)
    t.match(textOf(ended), webTexts.form.signInFirstLink)
    const back = readForm(ended, action)
    t.equal(back.description, description)
    platform.answer('POST /api/exchangeToken', giveTokens())
    await signIn(browser)
    const again = await browser.post(action, back)
    t.equal(again.statusCode, 409)
    t.equal(fields().description, 'Theirs')
    t.equal((await browser.post(action, choose(again, choices))).statusCode, 303)
    t.match(fields(), { description: 'Theirs', redirectUris })
  },
)
