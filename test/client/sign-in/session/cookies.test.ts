// The attributes of the session's cookies, and the places where their contents must not appear.
import t from 'tap'
import { buildTestClient, clientSecret, signIn } from '../../support/build-test-client.ts'
import { readForm } from '../../support/read-form.ts'
import { setCookieLine, setCookieLines } from '../../support/read-response.ts'
import { accessTokenOf, giveTokens } from '../../support/scripted-platform.ts'

const refreshToken = 'refresh0refresh0refresh0refresh0'
const scripts = { 'GET /things': { body: ['first thing'] }, 'POST /things': { status: 503, body: {} } }
const pages = [
  '/',
  '/login',
  '/cancelled',
  '/page',
  '/page?q=first&page=2',
  '/note',
  '/nowhere',
  '/health/live',
  '/health/ready',
]

t.test(
  'CK-01: the name of the session cookie begins with __Host-; the cookie is HttpOnly, Secure and Strict, and lives as long as the token',
  async t => {
    for (const expires_in of [1, 1234, 86_400, 31 * 86_400, 400 * 86_400]) {
      const { browser, platform } = await buildTestClient(t)
      platform.answer('POST /api/exchangeToken', giveTokens({ expires_in }))
      const [pair, ...attributes] = setCookieLine(await signIn(browser), '__Host-session=')!.split('; ')
      t.same(attributes.toSorted(), ['HttpOnly', `Max-Age=${expires_in}`, 'Path=/', 'SameSite=Strict', 'Secure'])
      t.match(pair, /^__Host-session=[\w-]+$/)
    }
  },
)

t.test('CK-01: the refresh cookie has the same attributes as the session cookie, and lives longer', async t => {
  const { browser } = await buildTestClient(t)
  const [, ...attributes] = setCookieLine(await signIn(browser), '__Host-refresh-')!.split('; ')
  t.same(attributes.toSorted(), ['HttpOnly', `Max-Age=${30 * 24 * 3600}`, 'Path=/', 'SameSite=Strict', 'Secure'])
})

for (const [what, environment] of [
  ['on http://localhost', {}],
  ['on https', { PUBLIC_URL: 'https://client.test' }],
] as const) {
  t.test(`CK-02: ${what} every cookie has a __Host- name, Secure, HttpOnly and Path=/, and no Domain`, async t => {
    const { browser } = await buildTestClient(t, { scripts, environment })
    const responses = [
      await browser.get('/login'),
      await signIn(browser),
      await browser.post('/logout', {}, { headers: { 'sec-fetch-site': 'same-origin' } }),
    ]
    const lines = responses.flatMap(setCookieLines)
    t.ok(lines.length >= 6, lines.join('\n'))
    for (const line of lines) {
      t.match(line, /^__Host-[\w-]+=[\w-]*; /)
      for (const attribute of ['Path=/', 'HttpOnly', 'Secure']) t.ok(line.split('; ').includes(attribute), line)
      t.match(line, /; SameSite=(Strict|Lax)/)
      t.match(line, /; Max-Age=\d+/)
      t.notMatch(line, /domain/i)
    }
  })
}

t.test('CK-08: no page, header or address shows a token or the client secret', async t => {
  const { browser, log } = await buildTestClient(t, { scripts })
  const arrival = await signIn(browser)
  const responses = [arrival]
  for (const page of pages) responses.push(await browser.get(page, { site: 'same-origin' }))
  t.match(responses[4]!.body, 'first thing', 'the visitor must be signed in on these pages')
  const note = readForm(await browser.get('/note'), '/note')
  for (const [form, status] of [
    [note, 503],
    [{ ...note, formToken: 'x' }, 409],
  ] as const) {
    const answer = await browser.post('/note', form)
    t.equal(answer.statusCode, status)
    responses.push(answer)
  }
  responses.push(await browser.post('/logout', {}, { site: 'cross-site' }))
  for (const name of ['__Host-session', ...browser.names().filter(name => name.startsWith('__Host-refresh-'))])
    browser.cookies.delete(name)
  responses.push(await browser.post('/note', { ...note, note: 'd'.repeat(2_600) }))
  t.same(
    responses.slice(-2).map(({ statusCode }) => statusCode),
    [403, 401],
  )
  const parts = accessTokenOf('visitor-1').split('.')
  for (const { body, headers } of responses) {
    const { 'set-cookie': cookies, ...others } = headers
    const seen = body + JSON.stringify(others)
    for (const secret of [...parts, refreshToken, clientSecret]) {
      t.notMatch(seen, secret)
      t.notMatch(String(cookies), secret)
      t.notMatch(log.join(''), secret)
    }
  }
})

t.test(
  'CK-17: an answer sets cookies only if it changes a session, and browsers must not store an answer that sets cookies',
  async t => {
    const { browser } = await buildTestClient(t, { scripts })
    const responses = [await signIn(browser)]
    // The first page after the login can delete cookies. Later pages change nothing.
    await browser.get('/page', { site: 'same-origin' })
    const style = /href="(\/assets\/[^"]+\.css)"/.exec((await browser.get('/', { site: 'same-origin' })).body)![1]!
    for (const page of [...pages.filter(page => page !== '/login'), style]) {
      const response = await browser.get(page, { site: 'same-origin' })
      t.same(setCookieLines(response), [], page)
    }
    responses.push(await browser.get('/login'), await browser.post('/logout'))
    for (const { headers } of responses) {
      t.ok(headers['set-cookie'])
      t.equal(headers['cache-control'], 'no-store')
    }
  },
)

t.test('CK-17: without a session, only signing in sets cookies', async t => {
  const { browser } = await buildTestClient(t)
  for (const page of pages.filter(page => page !== '/login')) {
    t.same(setCookieLines(await browser.get(page)), [], page)
    t.same(setCookieLines(await browser.get(page, { site: 'cross-site' })), [], page)
  }
})
