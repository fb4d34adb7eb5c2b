// Two visitors use one browser, and the client never gives data of one visitor to the other.

import t, { type Test } from 'tap'
import { webTexts } from '../../../../src/client/web/texts.ts'
import { buildTestClient, signIn } from '../../support/build-test-client.ts'
import { accessTokenOf, giveTokens, send, tokenAnswer } from '../../support/scripted-platform.ts'
import { refreshCookieNames } from '../support/build-signed-in.ts'

type TestClient = Awaited<ReturnType<typeof buildTestClient>>

/** Builds a client with a platform whose answers name the visitor to whom the access token belongs. */
async function buildForTwo(t: Test): Promise<TestClient> {
  return buildTestClient(t, {
    scripts: {
      'GET /things': ({ headers }, response) => {
        const isSecond = headers.authorization === `Bearer ${accessTokenOf('visitor-2')}`
        const name = isSecond ? 'Of the second' : 'Of the first'
        send(response, { body: [name] })
      },
    },
  })
}

/** Signs this visitor in, and opens the first page. An earlier visitor's refresh token stays valid at the portal. */
async function signInAs(test: TestClient, visitor: string, refreshToken: string | undefined, returnTo?: string) {
  const { platform, browser, clock } = test
  platform.answer('POST /api/exchangeToken', (request, response) => {
    const isOfFirst = request.form.get('refresh_token') === 'refresh-of-the-first'
    const access_token = accessTokenOf(isOfFirst ? 'visitor-1' : visitor)
    send(response, { body: tokenAnswer(request, { access_token, refresh_token: refreshToken }) })
  })
  clock.advance(1)
  await signIn(browser, returnTo)
  return browser.get(returnTo ?? '/page', { site: 'same-origin' })
}

t.test(
  'CL-20: if a second visitor signs in with the same browser, the new session replaces the session of the first visitor',
  async t => {
    const test = await buildForTwo(t)
    t.match((await signInAs(test, 'visitor-1', 'refresh-of-the-first')).body, 'Of the first')
    const before = test.browser.cookie('__Host-session')
    t.match((await signInAs(test, 'visitor-2', 'refresh-of-the-second')).body, 'Of the second')
    t.not(test.browser.cookie('__Host-session'), before)
    t.equal(refreshCookieNames(test.browser).length, 1)
  },
)

t.test(
  "CL-20: after a second visitor has signed in, a copy of the first visitor's session cookies still shows the first visitor's data",
  async t => {
    const test = await buildForTwo(t)
    await signInAs(test, 'visitor-1', undefined)
    const first = test.browser.copy()
    await signInAs(test, 'visitor-2', undefined)
    t.match((await first.get('/page')).body, 'Of the first')
  },
)

for (const [what, refreshToken] of [
  ['with a refresh token', 'refresh-of-the-second'],
  ['without a refresh token', undefined],
  ['with a refresh token that is too long for its cookie', 'r'.repeat(400)],
] as const) {
  t.test(
    `CL-20: after the session of the second visitor has ended (${what}), the first visitor is not signed in again`,
    async t => {
      const test = await buildForTwo(t)
      await signInAs(test, 'visitor-1', 'refresh-of-the-first')
      await signInAs(test, 'visitor-2', refreshToken)
      test.platform.answer('POST /api/exchangeToken', { status: 401, body: { error: 'invalid_grant' } })
      test.clock.advance(3601)
      t.equal((await test.browser.get('/page', { site: 'same-origin' })).statusCode, 302)
      const renewals = test.platform.received('POST /api/exchangeToken').filter(({ form }) => form.has('refresh_token'))
      t.notOk(renewals.some(({ form }) => form.get('refresh_token') === 'refresh-of-the-first'))
    },
  )
}

t.test(
  'CL-20: if the login of the second visitor led to the start page, the first visitor is not signed in again after the second visitor’s session has ended',
  async t => {
    const test = await buildForTwo(t)
    await signInAs(test, 'visitor-1', 'refresh-of-the-first')
    await signInAs(test, 'visitor-2', undefined, '/')
    test.clock.advance(3601)
    t.equal((await test.browser.get('/page', { site: 'same-origin' })).statusCode, 302)
  },
)

t.test(
  'CL-20: a session without a refresh token is not renewed with the refresh token of the first visitor',
  async t => {
    const test = await buildForTwo(t)
    const { browser, platform, clock } = test
    await signInAs(test, 'visitor-1', 'refresh-of-the-first')
    // The second visitor must not open another page before the page below, because that page would delete the first
    // visitor's cookies.
    platform.answer(
      'POST /api/exchangeToken',
      giveTokens({ access_token: accessTokenOf('visitor-2'), refresh_token: undefined }),
    )
    await signIn(browser)
    platform.answer('POST /api/exchangeToken', giveTokens({ access_token: accessTokenOf('visitor-1') }))
    t.equal(refreshCookieNames(browser).length, 1)
    clock.advance(3590)
    const page = await browser.get('/page', { site: 'same-origin' })
    t.match(page.body, 'Of the second')
    t.match(page.body, webTexts.page.signedInAs('<b>visitor-2</b>'))
    t.equal(platform.received('POST /api/exchangeToken').length, 2, 'only the two logins may ask for tokens')
    t.equal(refreshCookieNames(browser).length, 0)
  },
)

t.test(
  'CL-20: if the API refuses the second visitor’s access token, the client does not use the first visitor’s session',
  async t => {
    const test = await buildForTwo(t)
    const { browser, platform } = test
    await signInAs(test, 'visitor-1', 'refresh-of-the-first')
    platform.answer('GET /things', ({ headers }, response) => {
      const isSecond = headers.authorization === `Bearer ${accessTokenOf('visitor-2')}`
      if (isSecond) return send(response, { status: 401, body: {} })
      send(response, { body: ['Of the first'] })
    })
    const page = await signInAs(test, 'visitor-2', undefined)
    t.equal(page.statusCode, 401)
    t.notMatch(page.body, 'Of the first')
    t.not((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
  },
)
