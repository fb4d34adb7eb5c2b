// The query of the callback: the client checks each parameter, and shows a parameter only as text.

import t from 'tap'
import { signInTexts } from '../../../src/client/sign-in/texts.ts'
import { beginLogin, buildTestClient, callbackUrl } from '../support/build-test-client.ts'
import { setCookieLine } from '../support/read-response.ts'

/**
 * Begins a login, and opens the callback address that `query` makes from the valid address. Returns the answer, and the
 * requests for tokens that the client sent.
 */
async function callback(t: Parameters<typeof buildTestClient>[0], query: (good: string) => string) {
  const { browser, platform } = await buildTestClient(t)
  const started = await beginLogin(browser)
  const response = await browser.get(query(callbackUrl(started)), { site: 'cross-site' })
  return { response, exchanges: platform.received('POST /api/exchangeToken') }
}

for (const name of ['code', 'state', 'client_id', 'subject', 'redirect_uri', 'error', 'error_description', 'iss']) {
  t.test(`CL-09: a callback that contains ${name} twice is refused`, async t => {
    const { response, exchanges } = await callback(t, good => `${good}&${name}=b&${name}=b`)
    t.equal(response.statusCode, 400)
    t.match(response.body, signInTexts.loginErrors.login_callback_invalid)
    t.equal(exchanges.length, 0)
    const what = 'the login must end, except if the client cannot know to which login the callback belongs'
    t.equal(setCookieLine(response, '__Host-login-') !== undefined, name !== 'state', what)
  })
}

t.test('CL-09: the client ignores parameters that the platform does not define, even if they occur twice', async t => {
  const { response } = await callback(t, good => `${good}&extra=1&extra=2&session_state=x`)
  t.equal(response.statusCode, 200)
})

// The client refuses these callbacks without a call. Each test begins its own login.
const { browser, platform } = await buildTestClient(t)

for (const [what, change] of [
  ['another client_id', { client_id: 'other' }],
  ['no client_id', { client_id: undefined }],
  ['an empty client_id', { client_id: '' }],
  ['no subject', { subject: undefined }],
  ['no code', { code: undefined }],
  ['an empty code', { code: '' }],
] as const) {
  t.test(`CL-10: the client refuses a callback with ${what}, and makes no call`, async t => {
    const started = await beginLogin(browser)
    const response = await browser.get(callbackUrl(started, change), { site: 'cross-site' })
    t.equal(response.statusCode, 400)
    t.match(response.body, 'href="/login"')
    t.equal(platform.received('POST /api/exchangeToken').length, 0)
  })
}

t.test(
  'CL-11: if a callback has a redirect_uri, the client does not send it to the portal, and does not redirect to it',
  async t => {
    const { response, exchanges } = await callback(t, good =>
      good.replace(/redirect_uri=[^&]*/, 'redirect_uri=https%3A%2F%2Fevil.test%2F'),
    )
    t.notMatch(JSON.stringify(response.headers) + response.body, 'evil.test')
    t.equal(exchanges.length, 1)
    for (const { form } of exchanges) t.same(form.getAll('redirect_uri'), ['http://localhost:3000/exchangeToken'])
  },
)

t.test('CL-11: a callback without a redirect_uri succeeds, because the client does not use it', async t => {
  const { response } = await callback(t, good => good.replace(/&redirect_uri=[^&]*/, ''))
  t.equal(response.statusCode, 200)
})

t.test('CL-12: the subject in the address never becomes the user id', async t => {
  const { browser, platform } = await buildTestClient(t, { scripts: { 'GET /things': { body: ['first thing'] } } })
  const started = await beginLogin(browser)
  await browser.get(callbackUrl(started, { subject: 'visitor-2' }), { site: 'cross-site' })
  const pages = [
    await browser.get('/page', { site: 'same-origin' }),
    await browser.get('/note', { site: 'same-origin' }),
  ]
  for (const { statusCode, body } of pages) {
    t.equal(statusCode, 200)
    t.match(body, 'visitor-1')
    t.notMatch(body, 'visitor-2')
  }
  t.notMatch(JSON.stringify(platform.received()), 'visitor-2')
})

t.test('CL-12: HTML in the subject is not shown anywhere', async t => {
  const { response } = await callback(t, good => good.replace('visitor-1', '%3Cimg+src%3Dx%3E'))
  t.equal(response.statusCode, 200)
  t.notMatch(response.body, /<img src=x/)
})

t.test(
  'CL-13: if the callback contains an error from the portal, the page shows the error message as text, and the client does not exchange a code',
  async t => {
    const { browser, platform } = await buildTestClient(t)
    const started = await beginLogin(browser)
    const error_description = '<script>alert(1)</script> & "so"'
    const url = callbackUrl(started, { code: undefined, error: 'server_error', error_description })
    const response = await browser.get(url, { site: 'cross-site' })
    t.equal(response.statusCode, 400)
    t.match(response.headers['content-type'], 'text/html')
    t.match(response.body, '&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;so&quot;')
    t.notMatch(response.body, '<script>alert')
    t.match(response.body, 'href="/login"')
    t.equal(platform.received('POST /api/exchangeToken').length, 0)
  },
)

t.test('CL-13: a callback with an error and a code counts as an error', async t => {
  const { browser, platform } = await buildTestClient(t)
  const started = await beginLogin(browser)
  const response = await browser.get(callbackUrl(started, { error: 'server_error' }), { site: 'cross-site' })
  t.equal(response.statusCode, 400)
  t.equal(platform.received('POST /api/exchangeToken').length, 0)
  t.equal(setCookieLine(response, '__Host-session'), undefined)
})

t.test('CL-13: the page shows only the beginning of a long error description', async t => {
  const { browser } = await buildTestClient(t)
  const started = await beginLogin(browser)
  const change = { code: undefined, error: 'server_error', error_description: 'long '.repeat(300) }
  const { body } = await browser.get(callbackUrl(started, change), { site: 'cross-site' })
  const shown = body.split('long ').length - 1
  t.ok(shown > 1 && shown <= 100, `${shown} times`)
})

t.test('CL-13: if the state is not from this browser, the page does not show any text from the error', async t => {
  const { browser, platform } = await buildTestClient(t)
  const change = { code: undefined, error: 'server_error', error_description: 'call 555-1234' }
  const response = await browser.get(callbackUrl(new URLSearchParams({ state: 'forged' }), change), {
    site: 'cross-site',
  })
  t.equal(response.statusCode, 400)
  t.notMatch(response.body, '555-1234')
  t.equal(platform.received('POST /api/exchangeToken').length, 0)
})

t.test('CL-13: a visitor who declines gets a friendly page with a link to sign in', async t => {
  const { browser, platform } = await buildTestClient(t)
  const started = await beginLogin(browser)
  const change = { code: undefined, error: 'access_denied', error_description: '<script>alert(1)</script>' }
  const response = await browser.get(callbackUrl(started, change), { site: 'cross-site' })
  t.equal(response.statusCode, 200)
  t.match(response.body, signInTexts.declined.title)
  t.notMatch(response.body, 'alert(1)')
  t.match(response.body, 'href="/login"')
  t.equal(platform.received('POST /api/exchangeToken').length, 0)
})

t.test(
  'CL-13: with or without a state, the cancel_url shows a friendly page, and can end only a login that began in this browser',
  async t => {
    const { browser, platform } = await buildTestClient(t)
    const [first, second] = [await beginLogin(browser), await beginLogin(browser)]
    for (const query of ['', '?error=access_denied', '?error=access_denied&state=forged', '?state=a&state=b']) {
      const response = await browser.get(`/cancelled${query}`, { site: 'cross-site' })
      t.equal(response.statusCode, 200)
      t.match(response.body, signInTexts.declined.title)
      t.equal(response.headers['set-cookie'], undefined)
    }
    const state = first.get('state')
    const response = await browser.get(`/cancelled?error=access_denied&state=${state}`, { site: 'cross-site' })
    t.match(setCookieLine(response, `__Host-login-${state}=;`), 'Max-Age=0')
    t.equal((await browser.get(callbackUrl(second), { site: 'cross-site' })).statusCode, 200)
    t.equal(platform.received('POST /api/exchangeToken').length, 1)
  },
)

for (const name of ['code', 'state', 'subject', 'client_id', 'redirect_uri', 'error', 'error_description', 'iss']) {
  t.test(`CL-16: the client refuses a callback with a ${name} of 8 KiB, and makes no call`, async t => {
    const started = await beginLogin(browser)
    const url = callbackUrl(started, { [name]: 'x'.repeat(8192) })
    const response = await browser.get(url, { site: 'cross-site' })
    t.equal(response.statusCode, 400)
    t.match(response.body, signInTexts.loginErrors.login_callback_invalid)
    const what = 'the login must end, except if the client cannot know to which login the callback belongs'
    t.equal(setCookieLine(response, '__Host-login-') !== undefined, name !== 'state', what)
    t.equal(platform.received('POST /api/exchangeToken').length, 0)
  })
}

for (const [what, text] of Object.entries({ 'a line end': '\r\n', 'a NUL': '\0', 'a DEL': '\x7f', 'a tab': '\t' })) {
  for (const name of ['code', 'subject', 'error_description']) {
    t.test(`CL-16: the client refuses a callback with ${what} in its ${name}, and makes no call`, async t => {
      const started = await beginLogin(browser)
      const response = await browser.get(callbackUrl(started, { [name]: `a${text}b` }), { site: 'cross-site' })
      t.equal(response.statusCode, 400)
      t.equal(platform.received('POST /api/exchangeToken').length, 0)
    })
  }
}

t.test('CL-16: the client refuses a callback whose code has a letter outside ASCII, and makes no call', async t => {
  const { response, exchanges } = await callback(t, good => good.replace(/(?<=[?&]code=)[^&]*/, 'a%C3%A4b'))
  t.equal(response.statusCode, 400)
  t.match(response.body, signInTexts.loginErrors.login_callback_invalid)
  t.equal(exchanges.length, 0)
})

t.test('CL-16: a code can contain a space (RFC 6749, A.11)', async t => {
  const { response, exchanges } = await callback(t, good => good.replace(/(?<=[?&]code=)[^&]*/, 'a%20b'))
  t.equal(response.statusCode, 200)
  t.equal(exchanges[0]?.form.get('code'), 'a b')
})

t.test('CL-16: a code of 1,800 characters works', async t => {
  const { browser, platform } = await buildTestClient(t)
  const started = await beginLogin(browser)
  const code = 'c'.repeat(1800)
  t.equal((await browser.get(callbackUrl(started, { code }), { site: 'cross-site' })).statusCode, 200)
  t.equal(platform.received('POST /api/exchangeToken')[0]?.form.get('code'), code)
})
