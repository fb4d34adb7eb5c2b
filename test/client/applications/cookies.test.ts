// Tests that the pages for applications do not show the contents of cookies, and set cookies only if necessary.
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { beginLogin, clientSecret, signIn } from '../support/build-test-client.ts'
import { readForm } from '../support/read-form.ts'
import { setCookieLines } from '../support/read-response.ts'
import { accessTokenOf, giveTokens } from '../support/scripted-platform.ts'
import { applicationRecord, collection } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'

const refreshToken = 'refresh0refresh0refresh0refresh0'
const scripts = {
  'GET /apps/v1': { body: collection([applicationRecord('app-1')]) },
  'GET /apps/v1/app-1': { body: applicationRecord('app-1') },
  'GET /apps/v1/app-2': { status: 404, body: { error: { status: 404, message: 'App not found.' } } },
  'GET /identities/v1/visitor-1/links': { body: collection([]) },
}
const pages = [
  '/applications',
  '/applications?q=weather&page=2',
  '/applications/new',
  '/applications/app-1',
  '/applications/app-1/edit',
  '/applications/app-1/delete',
  '/applications/app-2',
]
const editPath = '/applications/app-1/edit'

t.test('CK-08: no page or form of the applications shows a token or the client secret', async t => {
  const { browser, log } = await buildApplicationsClient(t, { scripts })
  await signIn(browser)
  const responses = []
  for (const page of pages) responses.push(await browser.get(page, { site: 'same-origin' }))
  t.match(responses[0]!.body, 'Weather', 'the visitor must be signed in on these pages')
  const edit = readForm(await browser.get(editPath), editPath)
  for (const [form, status] of [
    [{ ...edit, name: '' }, 422],
    [{ ...edit, formToken: 'x' }, 409],
  ] as const) {
    const answer = await browser.post(editPath, form)
    t.equal(answer.statusCode, status)
    responses.push(answer)
  }
  for (const name of browser.names()) browser.cookies.delete(name)
  const unsent = await browser.post(editPath, { ...edit, description: 'd'.repeat(2_600) })
  t.equal(unsent.statusCode, 401)
  responses.push(unsent)
  for (const { body, headers } of responses) {
    const seen = body + JSON.stringify(headers) + log.join('')
    for (const secret of [...accessTokenOf('visitor-1').split('.'), refreshToken, clientSecret])
      t.notMatch(seen, secret)
  }
})

t.test('CK-17: no page of the applications sets cookies, with or without a session', async t => {
  const { browser } = await buildApplicationsClient(t, { scripts })
  const visitor = browser.copy()
  await signIn(visitor)
  // The first page after the login can delete cookies. Later pages change nothing.
  await visitor.get('/applications', { site: 'same-origin' })
  for (const page of pages) {
    t.same(setCookieLines(await visitor.get(page, { site: 'same-origin' })), [], page)
    t.same(setCookieLines(await browser.get(page)), [], page)
    t.same(setCookieLines(await browser.get(page, { site: 'cross-site' })), [], page)
  }
})

t.test(
  'CK-04: if a cookie with the credentials would make the cookies of this site exceed 8 KiB, the answer to the form shows the credentials instead',
  async t => {
    /** Random text that is allowed in a bearer token. */
    const ofLength = (length: number) => randomBytes(length).toString('base64url').slice(0, length)
    const tokens = [1, 2].map(number => ({ id: `token-${number}`, token: ofLength(700) }))
    const client = { clientId: 'app-2', clientSecrets: ['a-new-client-secret'] }
    const { browser } = await buildApplicationsClient(t, {
      scripts: {
        ...scripts,
        'POST /api/exchangeToken': giveTokens({ access_token: `eyJ.${ofLength(3446)}` }),
        'POST /apps/v1': { status: 201, body: { ...applicationRecord('app-2'), client, tokens } },
      },
    })
    await signIn(browser)
    for (let tab = 0; tab < 5; tab++) await beginLogin(browser, '/applications?q='.padEnd(200, 'x'))
    const form = readForm(await browser.get('/applications/new', { site: 'same-origin' }), '/applications')
    const typed = { groupId: 'group-1', name: 'Tides', redirectUris: 'https://a.test/' }
    const page = await browser.post('/applications', { ...form, ...typed })
    t.equal(page.statusCode, 201)
    t.match(page.body, 'a-new-client-secret')
    t.ok(browser.cookieHeader().length < 8192, `${browser.cookieHeader().length} bytes`)
  },
)
