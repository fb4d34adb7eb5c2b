// Tests exchanges that the portal refuses, and exchanges that fail: the messages for the visitor and the operator.

import t, { type Test } from 'tap'
import { signInTexts } from '../../../src/client/sign-in/texts.ts'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import { timed } from '../../support/stopwatch.ts'
import { beginLogin, buildTestClient, callbackUrl, clientSecret } from '../support/build-test-client.ts'
import { refreshTarget, setCookieLines } from '../support/read-response.ts'
import { accessTokenOf, type Script, send, tokenAnswer } from '../support/scripted-platform.ts'

const one = await buildTestClient(t)

/**
 * Begins a login, in which the portal answers the exchange with `answer`. Checks that the login ends without a session
 * and without a second exchange. Returns the answer to the callback, and the log.
 */
async function failedLogin(t: Test, answer: Script) {
  const browser = one.browser.copy()
  one.platform.answer('POST /api/exchangeToken', answer)
  const [asked, logged] = [one.platform.received('POST /api/exchangeToken').length, one.log.length]
  const started = await beginLogin(browser)
  const response = await browser.get(callbackUrl(started), { site: 'cross-site' })
  t.match(response.headers['content-type'], 'text/html')
  t.equal(response.headers.location, undefined)
  t.equal(refreshTarget(response), undefined)
  const cleared = `__Host-login-${started.get('state')}=; Max-Age=0`
  t.same(
    setCookieLines(response).map(line => line.split('; Path')[0]),
    [cleared],
    'the login must end without a session',
  )
  t.equal(one.platform.received('POST /api/exchangeToken').length, asked + 1)
  return { response, log: one.log.slice(logged) }
}

for (const status of [400, 401]) {
  t.test(
    `F-15: if the portal refuses the code with invalid_grant and ${status}, a page asks the visitor to sign in again`,
    async t => {
      const body = { error: 'invalid_grant', error_description: 'Code 4711 has expired.' }
      const { response } = await failedLogin(t, { status, body })
      t.equal(response.statusCode, 400)
      t.match(response.body, signInTexts.loginErrors.invalid_grant)
      t.notMatch(response.body, '4711')
    },
  )

  t.test(
    `F-15: if the portal refuses the code with invalid_grant and ${status}, the page links to the login`,
    async t => {
      const { response } = await failedLogin(t, { status, body: { error: 'invalid_grant' } })
      t.match(response.body, 'href="/login"')
    },
  )

  t.test(
    `F-16: invalid_client with ${status} counts as a mistake of the operator, and the client logs it once`,
    async t => {
      const { response, log } = await failedLogin(t, { status, body: { error: 'invalid_client' } })
      t.equal(response.statusCode, 502)
      t.match(response.body, signInTexts.loginErrors.client_misconfigured)
      const alerts = log.map(line => JSON.parse(line)).filter(({ level }) => level >= 50)
      t.equal(alerts.length, 1)
      t.match(alerts[0], { event: 'client_misconfigured', cause: /invalid_client/ })
      t.notMatch(log.join(''), clientSecret)
    },
  )
}

t.test(
  'F-16: if the portal refuses the exchange in the API’s format or in an unknown format, the visitor gets a 502 page without the portal’s text',
  async t => {
    for (const answer of [
      { status: 401, body: { error: { status: 401, message: 'secret-bearing words' } } },
      { status: 403, body: 'secret-bearing words', headers: { 'content-type': 'text/html' } },
      { status: 404, body: {} },
      { status: 400, body: { error: '<script>secret-bearing words</script>' } },
    ]) {
      const { response, log } = await failedLogin(t, answer)
      t.equal(response.statusCode, 502)
      t.notMatch(response.body + log.join(''), 'secret-bearing')
    }
  },
)

for (const [status, error] of [
  [201, 'invalid_grant'],
  [201, 'invalid_client'],
  [302, 'invalid_grant'],
] as const) {
  t.test(
    `UP-14: the client treats a ${status} answer with tokens and the error ${error} as unexpected, not as a refusal`,
    async t => {
      // RFC 6749 5.2: only an answer with status 400 or more is a refusal, whatever its body says.
      const { response, log } = await failedLogin(t, (request, response) =>
        send(response, { status, body: tokenAnswer(request, { error }) }),
      )
      t.equal(response.statusCode, 502)
      t.match(response.body, upstreamTexts.portal.unexpected)
      t.match(
        log.join(''),
        new RegExp(`"portal_unexpected".*"cause":"\\w+ ${status}"`),
        'the log must contain the cause',
      )
      t.notMatch(log.join(''), /"event":"(invalid_grant|client_misconfigured)"/)
    },
  )
}

for (const [retryAfter, shown] of [
  ['7', '7'],
  ['0', undefined],
  ['1000000000', '3600'],
  ['Wed, 21 Oct 2026 07:28:00 GMT', undefined],
  ['soon', undefined],
  ['-5', undefined],
  ['1e3', undefined],
] as const) {
  for (const status of [429, 503]) {
    t.test(
      `F-17: if the portal answers with ${status} and Retry-After: ${retryAfter}, a page immediately says when to try again`,
      async t => {
        const answer = { status, headers: { 'retry-after': retryAfter }, body: {} }
        const [{ response }, took] = await timed(failedLogin(t, answer))
        t.ok(took.own < 5, `${took.own} s`)
        t.equal(response.statusCode, 503)
        t.equal(response.headers['retry-after'], shown)
        t.match(response.body, upstreamTexts.portal.busy(shown === undefined ? undefined : Number(shown)))
      },
    )
  }
}

for (const skew of [-300, 300]) {
  t.test(
    `F-20: a login succeeds if the portal’s clock differs by ${skew} s, because the client uses only expires_in`,
    async t => {
      const { browser, clock, platform } = await buildTestClient(t, {
        scripts: {
          'POST /api/exchangeToken': (request, response) => {
            const issuedAt = Math.floor(clock.read().getTime() / 1000) + skew
            // If the client compared the times in this token with its own clock, it would find an expired token, or a
            // token that is not valid yet.
            const access_token = accessTokenOf('visitor-1', { iat: issuedAt, nbf: issuedAt, exp: issuedAt + 120 })
            send(response, { body: tokenAnswer(request, { access_token, expires_in: 120, refresh_token: undefined }) })
          },
          'GET /things': { body: [] },
        },
      })
      const started = await beginLogin(browser)
      const page = await browser.get(callbackUrl(started), { site: 'cross-site' })
      t.equal(page.statusCode, 200)
      t.equal(page.cookies.find(({ name }) => name === '__Host-session')?.maxAge, 120)
      clock.advance(119)
      t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
      clock.advance(2)
      t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 302)
      t.equal(platform.received('POST /api/exchangeToken').length, 1)
    },
  )
}
