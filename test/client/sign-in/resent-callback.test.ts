// A callback that is delivered several times: browsers repeat a GET automatically when its connection drops.

import { once } from 'node:events'
import t from 'tap'
import { signInTexts } from '../../../src/client/sign-in/texts.ts'
import { exchangeRaw, openSocket, rawGet } from '../../support/raw-socket.ts'
import { beginLogin, buildTestClient, callbackUrl } from '../support/build-test-client.ts'
import { refreshTarget, setCookieLine } from '../support/read-response.ts'
import { send, tokenAnswer } from '../support/scripted-platform.ts'
import { smallProduct } from '../support/small-product.ts'
import type { TestProduct } from '../support/test-product.ts'

/** Builds a client with a portal that answers the exchange only when the test calls `answer`. */
async function buildWithSlowPortal(t: Parameters<typeof buildTestClient>[0]) {
  const { promise: isAsked, resolve: tellAsked } = Promise.withResolvers<void>()
  const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>()
  const test = await buildTestClient(t, {
    scripts: {
      'POST /api/exchangeToken': async (request, response) => {
        tellAsked()
        await mayAnswer
        send(response, { body: tokenAnswer(request) })
      },
    },
  })
  return { ...test, isAsked, answer }
}

t.test(
  'CL-29: if the connection breaks and the browser sends the callback again, one exchange signs the visitor in',
  async t => {
    const { browser, client, platform, isAsked, answer } = await buildWithSlowPortal(t)
    const started = await beginLogin(browser)
    const request = rawGet(callbackUrl(started), { cookie: browser.cookieHeader(), 'sec-fetch-site': 'cross-site' })
    const dropped = await openSocket(client)
    dropped.write(request)
    await isAsked
    dropped.destroy()
    await once(dropped, 'close')
    const again = exchangeRaw(client, request)
    // The third request is sent later, on its own connection. When the third request is answered, the second request
    // has arrived.
    await exchangeRaw(client, rawGet('/health/live'))
    answer()
    const response = await again
    t.match(response, /^HTTP\/1\.1 200 OK\r\n/)
    t.match(response, 'content="0;url=/page"')
    t.match(response, 'set-cookie: __Host-session=')
    t.equal(platform.received('POST /api/exchangeToken').length, 1)
  },
)

t.test(
  'CL-29: if the connection breaks while a hook of the product runs, and the browser sends the callback again, the visitor is signed in, and the hook runs once',
  async t => {
    let runs = 0
    const begun = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const product: TestProduct = {
      ...smallProduct,
      async afterSignIn() {
        runs++
        begun.resolve()
        await gate.promise
      },
    }
    const { browser, client, platform, log } = await buildTestClient(t, { product })
    const started = await beginLogin(browser)
    const request = rawGet(callbackUrl(started), { cookie: browser.cookieHeader(), 'sec-fetch-site': 'cross-site' })
    const dropped = await openSocket(client)
    dropped.write(request)
    await begun.promise
    dropped.destroy()
    await once(dropped, 'close')
    const again = browser.get(callbackUrl(started), { site: 'cross-site' })
    // When this request is answered, the second callback has arrived.
    await exchangeRaw(client, rawGet('/health/live'))
    gate.resolve()
    t.match(await again, { statusCode: 200 })
    t.ok(browser.cookie('__Host-session'))
    t.ok(browser.cookie('__Host-arrived'))
    t.equal(runs, 1)
    t.equal(platform.received('POST /api/exchangeToken').length, 1)
    t.equal(platform.received('GET /api/me').length, 1)
    t.equal(log.filter(line => line.includes('"event":"login_succeeded"')).length, 1)
  },
)

t.test(
  'CL-29: if the answer to a callback is lost and the browser sends the callback again, an error page explains what to do, and there is only one exchange',
  async t => {
    const { browser, platform } = await buildTestClient(t)
    const started = await beginLogin(browser)
    const before = browser.copy()
    await browser.get(callbackUrl(started), { site: 'cross-site' })
    const again = await before.get(callbackUrl(started), { site: 'cross-site' })
    t.equal(again.statusCode, 400)
    t.match(again.body, signInTexts.loginErrors.login_used)
    t.match(again.body, 'href="/login"')
    t.equal(again.headers.location, undefined)
    t.equal(refreshTarget(again), undefined)
    t.equal(platform.received('POST /api/exchangeToken').length, 1)
  },
)

t.test(
  'F-22: if a callback is delivered four times at the same time, each delivery signs the visitor in, and all deliveries share one exchange',
  async t => {
    const { browser, platform, isAsked, answer } = await buildWithSlowPortal(t)
    const started = await beginLogin(browser)
    const deliveries = Array.from({ length: 4 }, () => browser.copy().get(callbackUrl(started), { site: 'cross-site' }))
    await isAsked
    answer()
    for (const response of await Promise.all(deliveries)) {
      t.equal(response.statusCode, 200)
      t.ok(setCookieLine(response, '__Host-session='))
      t.ok(setCookieLine(response, '__Host-arrived='))
    }
    t.equal(platform.received('POST /api/exchangeToken').length, 1)
    t.equal(platform.received('GET /api/me').length, 1)
  },
)

t.test(
  'F-22: if four deliveries share one exchange and the exchange fails, no delivery repeats the exchange',
  async t => {
    const { browser, platform } = await buildTestClient(t, {
      scripts: { 'POST /api/exchangeToken': { status: 401, body: { error: 'invalid_grant' } } },
    })
    const started = await beginLogin(browser)
    const deliveries = Array.from({ length: 4 }, () => browser.copy().get(callbackUrl(started), { site: 'cross-site' }))
    for (const { statusCode, body } of await Promise.all(deliveries)) {
      t.equal(statusCode, 400)
      t.match(body, 'href="/login"')
    }
    t.equal(platform.received('POST /api/exchangeToken').length, 1)
  },
)

t.test(
  'F-22: if another replica sends the code a second time, the portal refuses the code, and the visitor stays signed in',
  async t => {
    const { browser, platform, clock, config } = await buildTestClient(t)
    const COOKIE_KEYS = config.cookieKeys[0]!.reveal()
    const { client } = await buildTestClient(t, { platform, clock, environment: { COOKIE_KEYS } })
    const started = await beginLogin(browser)
    const before = browser.copy()
    await browser.get(callbackUrl(started), { site: 'cross-site' })
    platform.answer('POST /api/exchangeToken', { status: 401, body: { error: 'invalid_grant' } })
    before.server = client
    const again = await before.get(callbackUrl(started), { site: 'cross-site' })
    t.equal(again.statusCode, 400)
    t.match(again.body, signInTexts.loginErrors.invalid_grant)
    t.equal(setCookieLine(again, '__Host-session'), undefined)
    t.equal(setCookieLine(again, '__Host-refresh'), undefined)
  },
)
