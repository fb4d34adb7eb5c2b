// Tests notices, which a page shows once after a form was sent. A sealed cookie says which notice to show, and the page
// adds the text of the notice.

import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { applicationsTexts } from '../../../src/client/applications/texts.ts'
import { signIn, TestClock } from '../support/build-test-client.ts'
import { readForm, textOf } from '../support/read-form.ts'
import { setCookieLine, setCookieLines } from '../support/read-response.ts'
import { accessTokenOf, giveTokens } from '../support/scripted-platform.ts'
import { applicationRecord } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

const name = '__Host-notice'
const environment = { COOKIE_KEYS: randomBytes(32).toString('base64url') }
const client = {
  clientId: 'app-1',
  redirectUris: 'https://weather.test/back',
  defaultRedirectUri: '',
  scopes: '',
  defaultScopes: '',
}

/** Signs in a visitor who has two applications. */
async function withApplications(t: Test) {
  const clock = new TestClock()
  const api = rememberingApi(clock)
  for (const id of ['app-1', 'app-2']) api.records.set(id, applicationRecord(id, { name: `Name of ${id}` }, { client }))
  api.scripts['PUT /apps/v1/app-1'] = { body: api.records.get('app-1') }
  const test = await buildApplicationsClient(t, { clock, environment, scripts: api.scripts })
  await signIn(test.browser)
  const { browser, platform } = test
  const send = async (path: string, action: string, typed: Record<string, string> = {}) => {
    const answer = await browser.post(action, { ...readForm(await browser.get(path), action), ...typed })
    t.equal(answer.statusCode, 303)
    return answer
  }
  return {
    ...test,
    api,
    save: () => send('/applications/app-1/edit', '/applications/app-1/edit'),
    remove: () => send('/applications/app-1/delete', '/applications/app-1/delete'),
    /**
     * Sends a form twice. The API's answer to the first form is lost, so the client finds the application when it gets
     * the second form.
     */
    async createTwice() {
      const form = readForm(await browser.get('/applications/new'), '/applications')
      const typed = { ...form, name: 'Tides', redirectUris: 'https://tides.test/back' }
      api.losesAnswers = true
      const lost = await browser.post('/applications', typed)
      t.equal(lost.statusCode, 502)
      api.losesAnswers = false
      const answer = await browser.post('/applications', readForm(lost, '/applications'))
      t.equal(platform.received('POST /apps/v1').length, 1)
      return answer
    },
  }
}

type Setting = Awaited<ReturnType<typeof withApplications>>

const cases: { notice: string; text: string; page: string; act: (setting: Setting) => ReturnType<Setting['save']> }[] =
  [
    { notice: 'saved', text: applicationsTexts.details.saved, page: '/applications/app-1', act: ({ save }) => save() },
    { notice: 'removed', text: applicationsTexts.list.removed, page: '/applications', act: ({ remove }) => remove() },
    {
      notice: 'created-earlier',
      text: applicationsTexts.details.createdEarlier,
      page: '/applications/app-3',
      act: ({ createTwice }) => createTwice(),
    },
  ]

for (const { notice, text, page, act } of cases) {
  t.test(
    `the notice “${notice}” is shown once, and not again if the visitor reloads the page or presses Back`,
    async t => {
      const setting = await withApplications(t)
      const { browser } = setting
      const answer = await act(setting)
      t.equal(answer.headers.location, page, 'the address must not contain the notice')
      const shown = await browser.get(page, { site: 'same-origin' })
      t.equal(shown.statusCode, 200)
      t.match(textOf(shown), text)
      t.match(shown.body, /<p class="(success|warning)" role="status" tabindex="-1" autofocus>/)
      t.match(setCookieLine(shown, name), /=; Max-Age=0; Path=\//)
      t.equal(browser.cookie(name), undefined)
      for (const what of ['a reload', 'another visit']) {
        const again = await browser.get(page, { site: 'same-origin' })
        t.equal(again.statusCode, 200)
        t.notMatch(textOf(again), text, what)
        t.notMatch(again.body, /<p class="(success|warning)"/)
      }
    },
  )

  t.test(`the notice “${notice}” is in a sealed Strict cookie, and expires after ten minutes`, async t => {
    const setting = await withApplications(t)
    const { browser, clock } = setting
    const line = setCookieLine(await act(setting), name) ?? ''
    t.match(line, /^__Host-notice=[\w-]{60,600}; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Strict$/)
    const { value } = browser.cookies.get(name)!
    t.notMatch(Buffer.from(value, 'base64url').toString('latin1'), /saved|removed|created|app-/)
    clock.advance(601)
    const cookie = `${browser.cookieHeader()}; ${name}=${value}`
    t.notMatch(textOf(await browser.get(page, { headers: { cookie } })), text)
  })

  t.test(`the notice “${notice}” is kept if its page fails, and is shown when the page works again`, async t => {
    const setting = await withApplications(t)
    const { browser, platform } = setting
    await act(setting)
    const call = `GET /apps/v1${page.replace('/applications', '')}`
    const script = platform.script(call)
    platform.answer(call, { status: 500, body: '' })
    const failed = await browser.get(page, { site: 'same-origin' })
    t.equal(failed.statusCode, 502)
    t.notMatch(textOf(failed), text)
    platform.answer(call, script)
    t.match(textOf(await browser.get(page, { site: 'same-origin' })), text)
  })

  t.test(`the notice “${notice}” is shown only on its page and only to its visitor`, async t => {
    const setting = await withApplications(t)
    const { browser, platform } = setting
    await act(setting)
    const { value } = browser.cookies.get(name)!
    const others = ['/', '/applications', '/applications/new', '/applications/app-2', '/applications/app-2/edit']
    for (const path of others.filter(path => path !== page)) {
      const other = await browser.get(path, { site: 'same-origin' })
      t.equal(other.statusCode, 200)
      t.notMatch(textOf(other), text, path)
      t.equal(setCookieLine(other, name), undefined, path)
    }

    const stranger = browser.copy()
    await stranger.post('/logout')
    t.equal(stranger.cookie(name), undefined, 'signing out must delete the cookie')
    platform.answer('POST /api/exchangeToken', giveTokens({ access_token: accessTokenOf('visitor-2') }))
    await signIn(stranger)
    const cookie = `${stranger.cookieHeader()}; ${name}=${value}`
    const theirs = await stranger.get(page, { headers: { cookie } })
    t.equal(theirs.statusCode, 200)
    t.match(theirs.body, 'visitor-2')
    t.notMatch(textOf(theirs), text)

    t.match(
      textOf(await browser.get(page, { site: 'same-origin' })),
      text,
      'the notice must still be shown on its page',
    )
  })
}

for (const url of [
  '/applications/app-1?saved=yes',
  '/applications/app-1?created=earlier',
  '/applications/app-1?notice=saved',
  '/applications?removed=yes',
  '/applications?notice=removed',
])
  t.test(`a link to ${url} does not show a notice`, async t => {
    const { browser } = await withApplications(t)
    const page = await browser.get(url, { site: 'same-origin' })
    t.equal(page.statusCode, 200)
    t.notMatch(page.body, /<p class="(success|warning)"/)
    t.match(
      page.body,
      `<title>${url.includes('app-1') ? 'Name of app-1' : applicationsTexts.list.title} · Applications</title>`,
    )
  })

t.test(
  'if the client has not sealed the notice cookie, or has sealed it for another purpose, the page does not show a notice',
  async t => {
    const { browser, save } = await withApplications(t)
    await save()
    const sealed = browser.cookie(name)!
    const session = browser.cookie('__Host-session')!
    browser.cookies.delete(name)
    const values = [
      'saved',
      'Call 555-1234',
      sealed.slice(0, -1),
      `${sealed}A`,
      session,
      '%7B%22notice%22%3A%22saved%22%7D',
      '',
    ]
    for (const value of values) {
      const cookie = `${browser.cookieHeader()}; ${name}=${value}`
      const page = await browser.get('/applications/app-1', { headers: { cookie } })
      t.equal(page.statusCode, 200)
      t.notMatch(page.body, /<p class="(success|warning)"/, value)
      t.notMatch(page.body, '555-1234')
    }
  },
)

t.test('a notice does not replace a draft or new credentials that have not been shown yet', async t => {
  const { browser, save } = await withApplications(t)
  const secretForm = readForm(await browser.get('/applications/app-2/secret'), '/applications/app-2/secret')
  t.equal((await browser.post('/applications/app-2/secret', secretForm)).statusCode, 303)
  const answer = await save()
  t.notOk(setCookieLines(answer).some(line => line.startsWith('__Host-handover')))
  t.match(textOf(await browser.get('/applications/app-1', { site: 'same-origin' })), applicationsTexts.details.saved)
  t.match(
    textOf(await browser.get('/applications/app-2', { site: 'same-origin' })),
    applicationsTexts.credentials.copyNow,
  )
})
