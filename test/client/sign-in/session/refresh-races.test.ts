// Several requests, tabs and replicas renew one session at the same time, and the visitor stays signed in.
import t, { type Test } from 'tap'
import { buildTestClient, signIn } from '../../support/build-test-client.ts'
import { holdAnswer } from '../../support/hold-answer.ts'
import { setCookieLine } from '../../support/read-response.ts'
import { accessTokenOf, giveTokens, type Script, send, tokenAnswer } from '../../support/scripted-platform.ts'
import { smallProduct } from '../../support/small-product.ts'
import type { TestProduct } from '../../support/test-product.ts'
import { buildSignedIn, openPage, refreshCookieNames, renewedToken, tokenRoute } from '../support/build-signed-in.ts'

type Signed = Awaited<ReturnType<typeof buildSignedIn>>

async function addReplica(t: Test, { platform, clock, config }: Signed) {
  const COOKIE_KEYS = config.cookieKeys[0]!.reveal()
  return (await buildTestClient(t, { platform, clock, environment: { COOKIE_KEYS } })).client
}

/**
 * A portal that rotates refresh tokens. For `graceSeconds` after a renewal, the portal answers the previous refresh
 * token with the same new token again. If a client sends any older token, the portal revokes all tokens of this login.
 */
function rotatingPortal({ clock }: Signed, graceSeconds: number) {
  let count = 0
  let current = 'first'
  let previous = ''
  let rotatedAt = 0
  let isRevoked = false
  const script: Script = (request, response) => {
    const given = request.form.get('refresh_token')
    const now = clock.read().getTime()
    const isForgiven = given === previous && now - rotatedAt < graceSeconds * 1000
    if (given !== current && !isForgiven) isRevoked = true
    if (isRevoked) return send(response, { status: 401, body: { error: 'invalid_grant' } })
    if (given === current) {
      previous = current
      current = `successor-${++count}`
      rotatedAt = now
    }
    send(response, { body: tokenAnswer(request, { access_token: renewedToken, refresh_token: current }) })
  }
  return { script, isRevoked: () => isRevoked }
}

t.test(
  'RF-02: if a browser opens twenty pages just after the access token has expired, two replicas can show all twenty pages',
  async t => {
    const test = await buildSignedIn(t)
    const { browser, client, platform, clock, renewals } = test
    const portal = rotatingPortal(test, 10)
    platform.answer(tokenRoute, portal.script)
    const other = await addReplica(t, test)
    clock.advance(3601)
    const pages = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const tab = browser.copy()
        tab.server = index % 2 ? other : client
        return openPage(tab)
      }),
    )
    for (const page of pages) {
      t.equal(page.statusCode, 200)
      browser.keep(page)
    }
    t.ok(renewals().length <= 2, `${renewals().length} renewals: each replica must renew at most once`)
    t.equal(portal.isRevoked(), false)
    t.equal(refreshCookieNames(browser).length, 1)
    t.equal((await openPage(browser)).statusCode, 200)
    clock.advance(3601)
    t.equal((await openPage(browser)).statusCode, 200, 'the session must also be renewed an hour later')
    t.equal(portal.isRevoked(), false)
  },
)

t.test(
  'RF-03: a request with the old cookie gets the result of a renewal that ended shortly before the request',
  async t => {
    const { browser, clock, renewals } = await buildSignedIn(t)
    clock.advance(3601)
    const late = browser.copy()
    await openPage(browser)
    clock.advance(0.01)
    const page = await openPage(late)
    t.equal(page.statusCode, 200)
    t.ok(setCookieLine(page, '__Host-session='))
    t.equal(renewals().length, 1)
  },
)

t.test(
  'F-20: if a request with the old cookie gets the result of an earlier renewal, the session cookie still ends with the access token',
  async t => {
    const { browser, clock, platform, renewals } = await buildSignedIn(t)
    platform.answer(tokenRoute, giveTokens({ refresh_token: 'second', expires_in: 120 }))
    clock.advance(3601)
    const late = browser.copy()
    await openPage(browser)
    clock.advance(50)
    const page = await openPage(late)
    t.equal(renewals().length, 1)
    t.equal(page.cookies.find(({ name }) => name === '__Host-session')?.maxAge, 70)
  },
)

t.test(
  'RF-03: if a page with a renewed session waits for the API, a request with the old cookies does not end the session',
  async t => {
    const test = await buildSignedIn(t)
    const { browser, clock, platform, renewals } = test
    const portal = rotatingPortal(test, 10)
    platform.answer(tokenRoute, portal.script)
    const things = holdAnswer({ body: ['first thing'] })
    platform.answer('GET /things', things.script)
    clock.advance(3601)
    const slow = openPage(browser)
    await things.asked
    platform.answer('GET /things', { body: ['first thing'] })
    clock.advance(24)
    t.equal((await openPage(browser)).statusCode, 200)
    things.release()
    t.equal((await slow).statusCode, 200)
    t.equal(renewals().length, 1)
    clock.advance(3601)
    t.equal((await openPage(browser)).statusCode, 200, 'the session must also be renewed an hour later')
    t.equal(portal.isRevoked(), false)
  },
)

t.test(
  'RF-03: the result of a renewal is shared only for a short time, and the failure of a renewal is not shared with later requests',
  async t => {
    const { browser, clock, platform, renewals } = await buildSignedIn(t)
    clock.advance(3601)
    const late = browser.copy()
    await openPage(browser)
    platform.answer(tokenRoute, { status: 503, body: {} })
    clock.advance(60)
    t.equal((await openPage(late)).statusCode, 503)
    t.equal((await openPage(late)).statusCode, 503)
    t.equal(renewals().length, 3)
  },
)

t.test('RF-04: a late renewal on another replica does not delete the new session', async t => {
  const test = await buildSignedIn(t)
  const { browser, platform, clock } = test
  platform.answer(tokenRoute, rotatingPortal(test, 0).script)
  clock.advance(3601)
  const loser = browser.copy()
  loser.server = await addReplica(t, test)
  t.equal((await openPage(browser)).statusCode, 200)
  clock.advance(5)
  const page = await openPage(loser)
  t.not(page.statusCode, 500)
  t.equal(setCookieLine(page, '__Host-session='), undefined)
  // The browser gets both answers, and the answer of the slower replica comes last.
  browser.keep(page)
  t.equal((await openPage(browser)).statusCode, 200)
  t.equal(refreshCookieNames(browser).length, 1)
})

t.test(
  'RF-04: if the portal refuses the renewal in one tab, this tab shows its page until the access token expires',
  async t => {
    const test = await buildSignedIn(t)
    const { browser, platform, clock } = test
    platform.answer(tokenRoute, rotatingPortal(test, 0).script)
    clock.advance(3600 - 30)
    const loser = browser.copy()
    loser.server = await addReplica(t, test)
    await openPage(browser)
    clock.advance(5)
    const page = await openPage(loser)
    t.equal(page.statusCode, 200)
    t.equal(setCookieLine(page, '__Host-session='), undefined)
    browser.keep(page)
    t.equal(refreshCookieNames(browser).length, 1)
  },
)

/** An API that accepts only one access token. */
function apiFor(accessToken: string): Script {
  return ({ headers }, response) => {
    const isGood = headers.authorization === `Bearer ${accessToken}`
    send(response, isGood ? { body: ['first thing'] } : { status: 401, body: {} })
  }
}

t.test(
  'if the API answers with status 401 after a renewal, the same request renews again with the new refresh token',
  async t => {
    const test = await buildSignedIn(t)
    const { browser, platform, clock, renewals } = test
    const good = accessTokenOf('visitor-1', { jti: 'good' })
    const portal = rotatingPortal(test, 10)
    platform.answer(tokenRoute, portal.script)
    platform.answer('GET /things', (_request, response) => {
      // The API answers late. By then, the portal no longer accepts the first refresh token, which the client has
      // already used.
      clock.advance(11)
      platform.answer(tokenRoute, giveTokens({ access_token: good, refresh_token: 'newest' }))
      platform.answer('GET /things', apiFor(good))
      return send(response, { status: 401, body: {} })
    })
    clock.advance(3601)
    const page = await openPage(browser)
    t.equal(page.statusCode, 200)
    t.same(
      renewals().map(({ form }) => form.get('refresh_token')),
      ['first', 'successor-1'],
    )
    t.equal(refreshCookieNames(browser).length, 1, 'the browser must keep only the newest refresh token')
    clock.advance(3601)
    platform.answer(tokenRoute, giveTokens({ access_token: good, refresh_token: 'after' }))
    t.equal((await openPage(browser)).statusCode, 200)
    t.equal(renewals().at(-1)!.form.get('refresh_token'), 'newest')
  },
)

for (const [when, seconds, tokens] of [
  ['still valid', 60, ['first']],
  ['expired', 3601, ['first', 'successor-1']],
] as const)
  t.test(
    `if the API also refuses the renewed access token, the session ends, and its cookies are deleted (old token ${when})`,
    async t => {
      const test = await buildSignedIn(t)
      const { browser, platform, clock, renewals } = test
      platform.answer(tokenRoute, rotatingPortal(test, 10).script)
      platform.answer('GET /things', { status: 401, body: {} })
      clock.advance(seconds)
      const page = await openPage(browser)
      t.equal(page.statusCode, 302)
      t.match(page.headers.location, /^\/login/)
      t.same(
        renewals().map(({ form }) => form.get('refresh_token')),
        tokens,
      )
      t.notOk(browser.names().some(name => /^__Host-(session|refresh)/.test(name)))
    },
  )

t.test(
  'RF-04: if two replicas renew after a 401 answer from the API, the slower replica does not delete the renewed session',
  async t => {
    const test = await buildSignedIn(t)
    const { browser, platform, clock } = test
    platform.answer(tokenRoute, rotatingPortal(test, 0).script)
    platform.answer('GET /things', apiFor(renewedToken))
    clock.advance(60)
    const loser = browser.copy()
    loser.server = await addReplica(t, test)
    t.equal((await openPage(browser)).statusCode, 200)
    const won = browser.names().toSorted()
    clock.advance(5)
    const page = await openPage(loser)
    t.equal(page.statusCode, 302)
    browser.keep(page)
    t.same(browser.names().toSorted(), won)
    t.equal((await openPage(browser)).statusCode, 200, 'the session of the faster replica must work')
  },
)

t.test('CK-18: a slow answer to an older request does not overwrite the newer session', async t => {
  const { browser, clock, platform } = await buildSignedIn(t)
  const { promise: isAsked, resolve: tellAsked } = Promise.withResolvers<void>()
  const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>()
  platform.answer('GET /things', async ({ headers }, response) => {
    if (headers.authorization === `Bearer ${accessTokenOf('visitor-1')}`) {
      tellAsked()
      await mayAnswer
    }
    send(response, { body: ['first thing'] })
  })
  clock.advance(3600 - 61)
  const slow = openPage(browser)
  await isAsked
  clock.advance(30)
  await openPage(browser)
  const renewedSession = browser.cookie('__Host-session')
  answer()
  t.equal((await slow).statusCode, 200)
  t.equal(browser.cookie('__Host-session'), renewedSession)
  await openPage(browser)
  t.equal(platform.received('GET /things').at(-1)?.headers.authorization, `Bearer ${renewedToken}`)
})

t.test(
  'CK-13: a renewal that ends after the sign-out does not sign anybody in, and the client revokes the new tokens',
  async t => {
    let begin: () => void
    let end: () => void
    const begun = new Promise<void>(resolve => {
      begin = resolve
    })
    const ended = new Promise<void>(resolve => {
      end = resolve
    })
    const { browser, platform, clock } = await buildSignedIn(t, async (request, response) => {
      begin()
      await ended
      send(response, { body: tokenAnswer(request, { access_token: renewedToken, refresh_token: 'second' }) })
    })
    platform.answer('GET /.well-known/oauth-authorization-server', ({ headers }, response) =>
      send(response, {
        body: { issuer: `http://${headers.host}`, revocation_endpoint: `http://${headers.host}/api/revokeToken` },
      }),
    )
    // The metadata that the client has read so far does not list revocation. After three hours, the client reads the
    // metadata again.
    clock.advance(3 * 3600)
    const tab = browser.copy()
    const loading = openPage(tab)
    await begun
    platform.answer('POST /api/revokeToken', { status: 503, body: {} })
    await browser.post('/logout')
    platform.answer('POST /api/revokeToken', { body: {} })
    end!()
    const page = await loading
    t.equal(page.statusCode, 302)
    t.notOk(page.cookies.some(({ name, value }) => /^__Host-(session|refresh)/.test(name) && value))
    t.same(
      platform.received('POST /api/revokeToken').map(({ form }) => form.get('token')),
      ['first', 'second'],
    )
  },
)

t.test(
  'CK-13: if the visitor signs out while a page with a renewed session waits for the API, this page does not sign the visitor in again',
  async t => {
    const { browser, platform, clock, renewals } = await buildSignedIn(t)
    const things = holdAnswer({ body: ['first thing'] })
    platform.answer('GET /things', things.script)
    clock.advance(3600 - 30)
    const loading = openPage(browser)
    await things.asked
    t.equal(renewals().length, 1)
    await browser.post('/logout')
    things.release()
    t.equal((await loading).statusCode, 200)
    t.same(
      browser.names().filter(name => /^__Host-(session|refresh)/.test(name)),
      [],
    )
  },
)

t.test(
  'CK-13: if the visitor signs out during a request that takes minutes, the answer to this request does not sign the visitor in again',
  async t => {
    const product: TestProduct = {
      ...smallProduct,
      async pages(signedIn, options) {
        await signedIn.register(smallProduct.pages, options)
        signedIn.get('/import', async (request, reply) => {
          await request.visitor.api.get('/things', { type: 'array', items: {} })
          return reply.message({ title: 'Done', message: 'Done.', nextStep: { href: '/page', text: 'All' } })
        })
      },
    }
    const things = holdAnswer({ body: [] })
    const { browser, platform, clock } = await buildTestClient(t, {
      product,
      scripts: { 'GET /things': things.script },
    })
    platform.answer(tokenRoute, giveTokens({ refresh_token: 'first' }))
    await signIn(browser)
    platform.answer(tokenRoute, giveTokens({ access_token: renewedToken, refresh_token: 'second' }))
    clock.advance(3600 - 30)
    const importing = browser.get('/import', { site: 'same-origin' })
    await things.asked
    const oldBrowser = browser.copy()
    await browser.post('/logout')
    clock.advance(280)
    things.release()
    t.equal((await importing).statusCode, 200)
    const sessionCookies = (names: string[]) => names.filter(name => /^__Host-(session|refresh)/.test(name))
    t.same(sessionCookies(browser.names()), [])

    // This request begins more than a minute after the sign-out, so its answer deletes the old cookies.
    await oldBrowser.get('/import', { site: 'same-origin' })
    t.same(sessionCookies(oldBrowser.names()), [])
  },
)

/** Signs a visitor in whose session data cannot be loaded at the sign-in. The next load waits for `data.release`. */
async function buildWithHeldData(t: Test, tokens: Record<string, unknown>) {
  let loads = 0
  const product: TestProduct = {
    ...smallProduct,
    async loadSessionData({ api }) {
      if (++loads === 1) throw new Error('the table is locked')
      await api.get('/data', {})
      return {}
    },
  }
  const data = holdAnswer({ body: {} })
  const scripts = { 'GET /things': { body: [] }, 'GET /data': data.script, [tokenRoute]: giveTokens(tokens) }
  const test = await buildTestClient(t, { product, scripts })
  await signIn(test.browser)
  return { ...test, data }
}

t.test(
  'CK-18: if another request renews the session while session data is loaded, the slow answer does not bring the old session back',
  async t => {
    const { browser, clock, platform, data } = await buildWithHeldData(t, { refresh_token: 'first' })
    const slow = openPage(browser)
    await data.asked
    platform.answer('GET /data', { body: {} })
    platform.answer(tokenRoute, giveTokens({ access_token: renewedToken, refresh_token: 'second' }))
    clock.advance(3600 - 30)
    t.equal((await openPage(browser)).statusCode, 200)
    const renewed = browser.cookieHeader()
    data.release()
    t.equal((await slow).statusCode, 200)
    t.equal(browser.cookieHeader(), renewed)
    clock.advance(3601)
    platform.answer(tokenRoute, giveTokens({ access_token: renewedToken, refresh_token: 'third' }))
    t.equal((await openPage(browser)).statusCode, 200)
    t.equal(platform.received(tokenRoute).at(-1)?.form.get('refresh_token'), 'second')
  },
)

for (const refresh_token of ['first', undefined])
  t.test(
    `CK-13: if the visitor signs out while session data is loaded, the visitor stays signed out (${refresh_token ? 'with' : 'without'} a refresh token)`,
    async t => {
      const { browser, data } = await buildWithHeldData(t, { refresh_token })
      const loading = openPage(browser)
      await data.asked
      await browser.post('/logout')
      data.release()
      t.equal((await loading).statusCode, 200)
      t.same(
        browser.names().filter(name => /^__Host-(session|refresh)/.test(name)),
        [],
      )
    },
  )
