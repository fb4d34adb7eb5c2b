// Tests application forms that are sent after the session has ended. See sign-in/interrupted-forms.test.ts for forms in
// general.

import t, { type Test } from 'tap'
import { applicationsTexts } from '../../../src/client/applications/texts.ts'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'
import { beginLogin, callbackUrl, signIn, TestClock } from '../support/build-test-client.ts'
import { linksOf, readForm, textOf } from '../support/read-form.ts'
import { refreshTarget, setCookieLine } from '../support/read-response.ts'
import { accessTokenOf, giveTokens } from '../support/scripted-platform.ts'
import { applicationRecord } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

const typed = {
  groupId: 'group-1',
  name: 'Weather <b>& tides</b>',
  description: 'Typed “at length”',
  webPageUrl: 'https://weather.test/',
  iconUrl: '',
  privacyPolicyUrl: '',
  redirectUris: 'https://weather.test/back',
  defaultRedirectUri: '',
  scopes: 'read',
  defaultScopes: '',
}
const long = { ...typed, description: 'x'.repeat(2_000), redirectUris: `https://weather.test/${'y'.repeat(1_500)}` }

/**
 * Signs a visitor in and opens `path`. `endSession` ends the session: it expires, and the portal refuses to renew it.
 */
async function openForm(t: Test, path: string, action: string) {
  const clock = new TestClock()
  const api = rememberingApi(clock)
  api.records.set('app-1', applicationRecord('app-1'))
  const test = await buildApplicationsClient(t, { clock, scripts: api.scripts })
  const { browser, platform } = test
  await signIn(browser)
  const form = readForm(await browser.get(path), action)
  const endSession = () => {
    clock.advance(3601)
    platform.answer('POST /api/exchangeToken', { status: 401, body: { error: 'invalid_grant' } })
  }
  const startNewSession = async () => {
    platform.answer('POST /api/exchangeToken', giveTokens())
    await signIn(browser)
  }
  return { ...test, api, form, endSession, startNewSession }
}

/** Does the same as openForm, and then ends the session. */
async function openFormAndWait(t: Test, path: string, action: string) {
  const test = await openForm(t, path, action)
  const { browser, platform } = test
  test.endSession()
  /** Signs in with the link on the page. Returns the page that the login leads to. */
  const signInAgain = async (page: { body: string }, visitor = 'visitor-1') => {
    platform.answer('POST /api/exchangeToken', giveTokens({ access_token: accessTokenOf(visitor) }))
    platform.answer(`GET /identities/v1/${visitor}/links`, { status: 404, body: {} })
    const link = linksOf(page).find(href => href.startsWith('/login?'))!
    const started = await beginLogin(browser, new URL(link, 'http://here').searchParams.get('returnTo')!)
    return refreshTarget(await browser.get(callbackUrl(started), { site: 'cross-site' }))
  }
  const changes = () =>
    platform
      .received()
      .filter(({ method, url }) => method !== 'GET' && !url.startsWith('/api/'))
      .map(({ method, url }) => `${method} ${url}`)
  return { ...test, signInAgain, changes }
}

t.test('PG-14: if the session has ended, a form for a new application is kept until the visitor signs in', async t => {
  const { browser, form, signInAgain, changes } = await openFormAndWait(t, '/applications/new', '/applications')
  const page = await browser.post('/applications', { ...form, ...typed })
  t.equal(page.statusCode, 401)
  t.match(textOf(page), webTexts.form.sessionEnded)
  t.match(textOf(page), webTexts.form.draftKept)
  t.match(setCookieLine(page, '__Host-handover'), /; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
  t.same(changes(), [])

  const path = await signInAgain(page)
  t.equal(path, '/applications/new')
  const again = await browser.get(path!)
  t.hasStrict(readForm(again, '/applications'), typed)
  t.match(textOf(again), webTexts.form.hasDraft)
  t.same(changes(), [], 'the form must not be sent automatically')

  t.equal((await browser.post('/applications', readForm(again, '/applications'))).statusCode, 303)
  t.same(changes(), ['POST /apps/v1'])
})

t.test(
  'PG-14: if changes were sent without a session, the form contains these changes after the next sign-in',
  async t => {
    const action = '/applications/app-1/edit'
    const { browser, form, signInAgain, changes } = await openFormAndWait(t, action, action)
    const page = await browser.post(action, { ...form, name: 'Tides', redirectUris: 'https://typed.test/back' })
    t.equal(page.statusCode, 401)
    const path = await signInAgain(page)
    t.equal(path, action)
    const again = await browser.get(path!)
    t.hasStrict(readForm(again, action), { name: 'Tides', redirectUris: 'https://typed.test/back' })
    t.match(textOf(again), webTexts.form.hasDraft)
    t.notMatch(textOf(await browser.get(path!)), 'This is what you typed', 'the draft must be shown only once')
    t.same(changes(), [])
  },
)

for (const [path, action] of [
  ['/applications/app-1/secret', '/applications/app-1/secret'],
  ['/applications/app-1/delete', '/applications/app-1/delete'],
] as const) {
  t.test(
    `PG-14: if the session has ended, a POST to ${action} changes nothing, and the page offers a next step`,
    async t => {
      const { browser, form, signInAgain, changes } = await openFormAndWait(t, path, action)
      const page = await browser.post(action, form)
      t.equal(page.statusCode, 401)
      t.match(textOf(page), webTexts.form.nothingDone)
      t.equal(await signInAgain(page), path)
      t.equal((await browser.get(path)).statusCode, 200)
      t.same(changes(), [])
    },
  )
}

t.test(
  'PG-14: if the session has ended, a form of more than 2.5 KB is shown again with its text, and can be sent after a login in another tab',
  async t => {
    const { browser, form, signInAgain, changes } = await openFormAndWait(t, '/applications/new', '/applications')
    const page = await browser.post('/applications', { ...form, ...long })
    t.equal(page.statusCode, 401)
    t.equal(setCookieLine(page, '__Host-handover'), undefined)
    t.hasStrict(readForm(page, '/applications'), long)
    t.match(page.body, /<a class="button" href="\/login\?[^"]*" target="_blank" rel="noopener">/)
    t.match(textOf(page), webTexts.form.signInFirst)
    t.same(changes(), [])

    await signInAgain(page)
    t.equal((await browser.post('/applications', readForm(page, '/applications'))).statusCode, 303)
    t.same(changes(), ['POST /apps/v1'])
  },
)

t.test(
  'PG-14: if the session has ended, an edit form with more than 2.5 KB of changes is shown again, and its changes can still be saved',
  async t => {
    const action = '/applications/app-1/edit'
    const { browser, form, signInAgain, platform } = await openFormAndWait(t, action, action)
    platform.answer('PUT /apps/v1/app-1', { body: applicationRecord('app-1') })
    const { groupId: _, ...changed } = long
    const page = await browser.post(action, { ...form, ...changed })
    t.equal(page.statusCode, 401)
    t.hasStrict(readForm(page, action), changed)
    await signInAgain(page)
    t.equal((await browser.post(action, readForm(page, action))).statusCode, 303)
    t.equal(JSON.parse(platform.received('PUT /apps/v1/app-1')[0]!.body).data.description, long.description)
  },
)

const described = { redirectUris: 'https://a.test/', defaultRedirectUri: 'https://a.test/', defaultScopes: 'read' }
for (const [what, description] of [
  ['shown again', 'x'.repeat(2_600)],
  ['kept', 'short'],
] as const) {
  for (const wasReturned of [true, false]) {
    const known = wasReturned
      ? 'the visitor has cleared a field'
      : 'a field is empty because the API did not return its value'
    t.test(
      `PG-14: if a form is ${what} because the session has ended, the client still knows that ${known}`,
      async t => {
        const action = '/applications/app-1/edit'
        const { api, browser, signInAgain, platform, clock } = await openFormAndWait(t, action, action)
        const record = (isReturned: boolean) =>
          applicationRecord('app-1', {}, isReturned ? { client: { ...described, scopes: 'write' } } : {})
        platform.answer('PUT /apps/v1/app-1', { body: record(true) })
        platform.answer('POST /api/exchangeToken', giveTokens())
        api.records.set('app-1', record(wasReturned) as never)
        await signIn(browser)
        const form = readForm(await browser.get(action), action)
        clock.advance(3601)
        platform.answer('POST /api/exchangeToken', { status: 401, body: { error: 'invalid_grant' } })
        const typed = { ...form, redirectUris: 'https://a.test/', defaultRedirectUri: '', scopes: '', description }
        const page = await browser.post(action, typed)
        t.equal(page.statusCode, 401)
        t.equal(/name="description"/.test(page.body), what === 'shown again')
        // From now on, the API does the opposite: its answers contain the OAuth client only if they did not contain it
        // before.
        api.records.set('app-1', record(!wasReturned) as never)
        const path = await signInAgain(page)
        const again = readForm(what === 'kept' ? await browser.get(path!) : page, action)
        t.equal((await browser.post(action, { ...again, description: 'short' })).statusCode, 303)
        const { data } = JSON.parse(platform.received('PUT /apps/v1/app-1')[0]!.body)
        t.same(
          [data.scopes, data.defaultScopes, data.defaultRedirectUri],
          wasReturned ? ['', 'read', 'https://a.test/'] : [undefined, undefined, undefined],
        )
      },
    )
  }
}

t.test(
  'PG-14: if two forms arrive after the session has ended, the client keeps the text of the first as a draft, and shows the second form again with its own text',
  async t => {
    const test = await openFormAndWait(t, '/applications/new', '/applications')
    const { browser, form, signInAgain, changes } = test
    const first = await browser.post('/applications', { ...form, ...typed })
    t.match(textOf(first), webTexts.form.draftKept)

    const others: Record<string, Record<string, string>> = {
      '/applications/app-1/edit': { formToken: form.formToken ?? '', name: 'Tides', redirectUris: 'https://a.test/' },
      '/applications': { ...form, ...typed, name: 'Tides' },
    }
    for (const [action, other] of Object.entries(others)) {
      const second = await browser.post(action, other)
      t.equal(second.statusCode, 401)
      t.match(textOf(second), webTexts.form.signInFirst)
      t.equal(readForm(second, action).name, 'Tides')
    }
    t.match(
      textOf(await browser.post('/applications', { ...form, ...typed })),
      webTexts.form.draftKept,
      'a repeated request must have the same answer',
    )

    const path = await signInAgain(first)
    t.hasStrict(readForm(await browser.get(path!), '/applications'), typed)
    t.same(changes(), [])
  },
)

t.test('F-42: the draft of one visitor is not shown to another visitor who signs in', async t => {
  const { browser, form, signInAgain, changes } = await openFormAndWait(t, '/applications/new', '/applications')
  const path = await signInAgain(await browser.post('/applications', { ...form, ...typed }), 'visitor-2')
  const page = await browser.get(path!)
  t.equal(page.statusCode, 200)
  t.notMatch(page.body, 'tides')
  t.same(changes(), [])
})

t.test(
  'PG-14: if a form was open for more than a day, the client shows the form again with the typed text and a new form token',
  async t => {
    const { browser, form, signInAgain, changes, clock } = await openFormAndWait(
      t,
      '/applications/new',
      '/applications',
    )
    clock.advance(24 * 60 * 60)
    const page = await browser.post('/applications', { ...form, ...typed })
    t.equal(page.statusCode, 401)
    t.hasStrict(readForm(page, '/applications'), typed)
    await signInAgain(page)
    const again = await browser.post('/applications', readForm(page, '/applications'))
    t.equal(again.statusCode, 409)
    t.match(textOf(again, 'problem'), webTexts.form.tooOld)
    t.hasStrict(readForm(again, '/applications'), typed)
    t.same(changes(), [])
    t.equal((await browser.post('/applications', readForm(again, '/applications'))).statusCode, 303)
  },
)

t.test(
  'F-23: if a form is sent after the session has expired, and the session can be renewed, the client renews the session and does what the form asks',
  async t => {
    const { browser, form, platform, changes } = await openFormAndWait(t, '/applications/new', '/applications')
    platform.answer('POST /api/exchangeToken', giveTokens())
    const answer = await browser.post('/applications', { ...form, ...typed })
    t.equal(answer.statusCode, 303)
    t.same(changes(), ['POST /apps/v1'])
    t.equal(platform.received('POST /api/exchangeToken').length, 2, 'the client must send one exchange and one renewal')
    t.ok(setCookieLine(answer, '__Host-session'))
  },
)

t.test(
  'PG-14: if the session cannot be renewed because of a problem with the portal, the form for a new application keeps its text',
  async t => {
    const { browser, platform, form, changes } = await openFormAndWait(t, '/applications/new', '/applications')
    platform.answer('POST /api/exchangeToken', { status: 500, body: {} })
    const page = await browser.post('/applications', { ...form, ...long, groupNames: 'group-1=Tide watchers' })
    t.equal(page.statusCode, 502)
    t.match(textOf(page, 'problem'), upstreamTexts.portal.failed)
    const { groupNames: _, ...shown } = readForm(page, '/applications')
    t.hasStrict(shown, long)
    t.match(textOf(page), 'Tide watchers', 'the page must show the name of the chosen group')
    t.notMatch(textOf(page), applicationsTexts.form.hints.groupChosen)
    t.same(changes(), [])

    platform.answer('POST /api/exchangeToken', giveTokens({}))
    t.equal((await browser.post('/applications', readForm(page, '/applications'))).statusCode, 303)
    t.same(changes(), ['POST /apps/v1'])
  },
)

t.test(
  'PG-14: if the session cannot be renewed because of a problem with the portal, the edit form keeps its text',
  async t => {
    const path = '/applications/app-1/edit'
    const { browser, platform, form, changes } = await openFormAndWait(t, path, path)
    platform.answer('POST /api/exchangeToken', { status: 500, body: {} })
    platform.answer('PUT /apps/v1/app-1', { body: applicationRecord('app-1') })
    const changed = { ...form, name: 'Tides', redirectUris: 'https://typed.test/back' }
    const page = await browser.post(path, changed)
    t.equal(page.statusCode, 502)
    t.same(readForm(page, path), changed)
    t.same(changes(), [])

    platform.answer('POST /api/exchangeToken', giveTokens({}))
    t.equal((await browser.post(path, readForm(page, path))).statusCode, 303)
    t.same(changes(), ['PUT /apps/v1/app-1'])
  },
)

for (const [action, call] of [
  ['secret', 'POST /apps/v1/app-1/refreshSecret'],
  ['delete', 'DELETE /apps/v1/app-1'],
] as const) {
  const path = `/applications/app-1/${action}`
  t.test(
    `PG-14: if the session cannot be renewed because of a problem with the portal, the form on the page ${action} can be sent again later`,
    async t => {
      const { browser, platform, form, changes } = await openFormAndWait(t, path, path)
      platform.answer('POST /api/exchangeToken', { status: 500, body: {} })
      const page = await browser.post(path, form)
      t.equal(page.statusCode, 502)
      t.match(textOf(page, 'problem'), upstreamTexts.portal.failed)
      t.notMatch(page.body, 'undefined')
      t.same(changes(), [])

      platform.answer('POST /api/exchangeToken', giveTokens({}))
      t.ok((await browser.post(path, readForm(page, path))).statusCode < 400)
      t.same(changes(), [call])
    },
  )
}

t.test(
  'PG-15: if the answer to a creation is lost and the session then ends, the kept form does not create a second application',
  async t => {
    const { browser, api, clock, form, endSession, startNewSession } = await openForm(
      t,
      '/applications/new',
      '/applications',
    )
    api.losesAnswers = true
    const failed = await browser.post('/applications', { ...form, ...typed })
    t.equal(failed.statusCode, 502)
    api.losesAnswers = false
    endSession()
    const ended = await browser.post('/applications', readForm(failed, '/applications'))
    t.equal(ended.statusCode, 401)
    t.match(textOf(ended), webTexts.form.draftKeptInDoubt)

    clock.advance(360)
    await startNewSession()
    const again = readForm(await browser.get('/applications/new'), '/applications')
    t.hasStrict(again, typed)
    const done = await browser.post('/applications', again)
    t.match(done, { statusCode: 303, headers: { location: '/applications/app-2' } })
    t.equal(api.records.size, 2, 'there must be one new application')
  },
)

t.test(
  'PG-15: if the answer to a creation is lost and the session ends meanwhile, the page does not say that nothing was sent',
  async t => {
    const { browser, api, platform, form, endSession } = await openForm(t, '/applications/new', '/applications')
    platform.answer('POST /apps/v1', (_request, response) => {
      endSession()
      platform.answer('GET /identities/v1/visitor-1/links', { status: 401, body: {} })
      response.destroy()
    })
    const ended = await browser.post('/applications', { ...form, ...typed })
    t.equal(ended.statusCode, 401)
    t.match(textOf(ended), webTexts.form.draftKeptInDoubt)
    t.equal(api.records.size, 1)
  },
)

t.test(
  'secret-once: if the answer with a new secret is lost and the session then ends, the client warns before it creates another secret',
  async t => {
    const path = '/applications/app-1/secret'
    const { browser, api, form, endSession, startNewSession } = await openForm(t, path, path)
    api.losesAnswers = true
    const failed = await browser.post(path, form)
    t.equal(failed.statusCode, 502)
    api.losesAnswers = false
    endSession()
    const ended = await browser.post(path, readForm(failed, path))
    t.equal(ended.statusCode, 401)
    t.match(textOf(ended), webTexts.form.inDoubt)

    await startNewSession()
    const shown = await browser.get(path)
    t.notMatch(textOf(shown), webTexts.form.hasDraft, 'the visitor has typed nothing')
    const warned = await browser.post(path, readForm(shown, path))
    t.equal(warned.statusCode, 409)
    t.match(textOf(warned, 'problem'), applicationsTexts.secret.inDoubt)
    t.equal(api.secrets.length, 1)
  },
)
