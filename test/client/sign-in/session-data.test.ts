// The product's own data in the session. `loadSessionData` loads the data once, a renewal keeps it, and `links` can
// read it.
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import type { Visitor } from '../../../src/client/sign-in/visitor.ts'
import { timed } from '../../support/stopwatch.ts'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { holdAnswer } from '../support/hold-answer.ts'
import { linksOf } from '../support/read-form.ts'
import { accessTokenOf, giveTokens, send } from '../support/scripted-platform.ts'
import { smallApi, smallProduct } from '../support/small-product.ts'
import type { TestProduct } from '../support/test-product.ts'

declare module '../../../src/client/sign-in/visitor.ts' {
  interface SessionData {
    role?: string
  }
}

const unauthorized = { status: 401, headers: { 'www-authenticate': 'Bearer' }, body: {} }
const roleSchema = { type: 'object', properties: { role: { type: 'string' } }, required: ['role'] } as const

/**
 * Builds a client. Its product loads session data with the function `load`. Without `load`, the product asks the API
 * for the visitor's role.
 */
async function start(t: Test, load?: (visitor: Visitor) => Promise<{ role?: string }>) {
  let timesLoaded = 0
  const product: TestProduct = {
    ...smallProduct,
    links: ({ data }) => (data.role === 'admin' ? [{ href: '/admin', text: 'Administration' }] : []),
    async loadSessionData(visitor) {
      timesLoaded++
      if (load) return load(visitor)
      const { role } = await visitor.api.get('/role', roleSchema)
      return { role }
    },
    async pages(signedIn, options) {
      await signedIn.register(smallProduct.pages, options)
      signedIn.get('/data', async request => request.visitor.data)
    },
  }
  const scripts = { ...smallApi, 'GET /role': { body: { role: 'admin' } } }
  const test = await buildTestClient(t, { product, scripts })
  const { browser, log, platform } = test
  return {
    ...test,
    timesLoaded: () => timesLoaded,
    read: async () => (await browser.get('/data', { site: 'same-origin' })).json(),
    renewals: () => platform.received('POST /api/exchangeToken').length - 1,
    errors: () => log.map(line => JSON.parse(line)).filter(({ event }) => event === 'hook_failed'),
  }
}

t.test('session data is loaded once, at the sign-in, and every request can read it', async t => {
  const { browser, timesLoaded, read } = await start(t)
  t.equal((await signIn(browser)).statusCode, 200)
  t.equal(timesLoaded(), 1)
  t.same(await read(), { role: 'admin' })
  t.same(await read(), { role: 'admin' })
  t.equal(timesLoaded(), 1)
})

t.test('a function named `links` can read the session data, in the signed-in scope and on public pages', async t => {
  const { browser } = await start(t)
  t.notOk(linksOf(await browser.get('/')).includes('/admin'), 'a stranger must not see the link')
  const { body } = await signIn(browser)
  t.notMatch(body, 'admin', 'the page at the callback must have no header with links')
  for (const path of ['/', '/page', '/note']) {
    const page = await browser.get(path, { site: 'same-origin' })
    t.equal(page.statusCode, 200, path)
    t.ok(linksOf(page).includes('/admin'), path)
  }
})

t.test('a visitor who is not an administrator does not see the link for administrators', async t => {
  const { browser } = await start(t, async () => ({ role: 'reader' }))
  await signIn(browser)
  t.notOk(linksOf(await browser.get('/page', { site: 'same-origin' })).includes('/admin'))
})

t.test('session data is kept when the session is renewed before it ends', async t => {
  const { browser, clock, platform, timesLoaded, read, renewals } = await start(t)
  await signIn(browser)
  platform.answer('GET /role', { status: 500, body: {} })
  for (let hour = 1; hour <= 3; hour++) {
    clock.advance(3_570)
    t.same(await read(), { role: 'admin' })
    t.equal(renewals(), hour)
  }
  t.equal(timesLoaded(), 1)
})

t.test('if the API refuses the access token, the client renews the session and keeps the session data', async t => {
  const { browser, platform, timesLoaded, read, renewals } = await start(t)
  await signIn(browser)
  platform.answer('GET /things', (_request, response) => {
    const isFirst = platform.received('GET /things').length === 1
    send(response, isFirst ? unauthorized : { body: [] })
  })
  t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
  t.equal(renewals(), 1)
  t.same(await read(), { role: 'admin' })
  t.equal(timesLoaded(), 1)
})

t.test(
  'session data is loaded again when the session cookie has expired and the browser has a refresh token',
  async t => {
    const { browser, clock, platform, timesLoaded, read } = await start(t)
    await signIn(browser)
    platform.answer('GET /role', { body: { role: 'reader' } })
    clock.advance(3_601)
    t.same(await read(), { role: 'reader' })
    t.same(await read(), { role: 'reader' })
    t.equal(timesLoaded(), 2)
  },
)

t.test('another sign-in loads the session data again', async t => {
  const { browser, platform, timesLoaded, read } = await start(t)
  await signIn(browser)
  platform.answer('GET /role', { body: { role: 'reader' } })
  await signIn(browser)
  t.same(await read(), { role: 'reader' })
  t.equal(timesLoaded(), 2)
})

t.test('the client keeps session data of up to 500 bytes; it drops larger data, and the log says so', async t => {
  // {"role":"…"} has 11 characters in addition to the text. ä takes two bytes.
  for (const [role, isKept] of [
    ['x'.repeat(489), true],
    ['x'.repeat(490), false],
    [`x${'ä'.repeat(244)}`, true],
    ['ä'.repeat(245), false],
  ] as const) {
    const { browser, read, errors, log } = await start(t, async () => ({ role }))
    t.equal((await signIn(browser)).statusCode, 200, 'the sign-in must work')
    t.same(await read(), isKept ? { role } : {})
    t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200, 'the pages must work')
    if (isKept) {
      t.same(errors(), [])
    } else {
      t.equal(errors()[0].level, 50)
      t.match(errors()[0].cause.stack, /loadSessionData returned 501 bytes of JSON\. .* room for 500/)
    }
    t.notMatch(log.join(''), role.slice(0, 20), 'the data itself must not be logged')
  }
})

t.test(
  'if loadSessionData never ends, the client shows the page without the data after at most three seconds, and the page can still call the API',
  async t => {
    let isHanging = false
    const { browser, errors } = await start(t, () => (isHanging ? new Promise(() => {}) : Promise.reject(new Error())))
    await signIn(browser)
    isHanging = true
    const [page, took] = await timed(browser.get('/page', { site: 'same-origin' }))
    t.equal(page.statusCode, 200)
    t.match(page.body, 'one, two')
    t.ok(took.own < 3.5, `${took.own} s`)
    t.match(errors().at(-1)?.cause.stack, 'The hook did not finish within 3 seconds.')
  },
)

/**
 * Builds a client whose `loadSessionData` does not finish in time. It calls the API, which refuses the access token and
 * then accepts only the renewed token. `ready` is called when the page is ready.
 */
async function startWithSlowHook(t: Test, ready: () => void) {
  const hook = Promise.withResolvers<{ role?: string }>()
  let isSlow = false
  const product: TestProduct = {
    ...smallProduct,
    async loadSessionData({ api }) {
      if (!isSlow) throw new Error('the table is locked')
      const role = api.get('/role', roleSchema)
      role.then(hook.resolve, hook.reject)
      return role
    },
    async pages(signedIn, options) {
      await signedIn.register(smallProduct.pages, options)
      signedIn.get('/ready', async () => {
        ready()
        return {}
      })
    },
  }
  const test = await buildTestClient(t, { product, scripts: smallApi })
  const { browser, platform } = test
  platform.answer('POST /api/exchangeToken', giveTokens({ refresh_token: 'first' }))
  await signIn(browser)
  isSlow = true
  const renewed = accessTokenOf('visitor-1', { jti: 'renewed' })
  const renewal = giveTokens({ access_token: renewed, refresh_token: 'second' })
  platform.answer('POST /api/exchangeToken', renewal)
  platform.answer('GET /role', ({ headers }, response) => {
    send(response, headers.authorization === `Bearer ${renewed}` ? { body: { role: 'admin' } } : unauthorized)
  })
  return { ...test, renewal, hook: hook.promise }
}

t.test(
  'RF-09: if loadSessionData does not finish in time while it renews the session, the page waits for the new cookies',
  async t => {
    let release = () => {}
    const { browser, platform, renewal } = await startWithSlowHook(t, () => setImmediate(release))
    const tokens = holdAnswer(renewal)
    release = tokens.release
    platform.answer('POST /api/exchangeToken', tokens.script)
    const before = browser.cookieHeader()
    t.equal((await browser.get('/ready', { site: 'same-origin' })).statusCode, 200)
    t.not(browser.cookieHeader(), before)
    platform.answer('POST /api/exchangeToken', renewal)
    t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
    t.equal(
      platform.received('GET /things').at(-1)?.headers.authorization,
      `Bearer ${accessTokenOf('visitor-1', { jti: 'renewed' })}`,
    )
  },
)

t.test(
  'RF-09: if the API refuses the access token after the page was sent, the client does not renew the session, because the browser could not get the new cookies',
  async t => {
    const { browser, platform, hook } = await startWithSlowHook(t, () => {})
    const role = holdAnswer(platform.script('GET /role'))
    platform.answer('GET /role', role.script)
    t.equal((await browser.get('/ready', { site: 'same-origin' })).statusCode, 200)
    role.release()
    await t.rejects(hook, { code: 'sign_in_required' })
    t.equal(platform.received('POST /api/exchangeToken').length, 1, 'only the login must have asked for tokens')
  },
)

t.test(
  'RF-09: if a stream calls the API before its first line, and the API refuses the access token, the client does not renew the session',
  async t => {
    const called = Promise.withResolvers<unknown>()
    const product: TestProduct = {
      ...smallProduct,
      async pages(signedIn, options) {
        await signedIn.register(smallProduct.pages, options)
        signedIn.get('/lazy', async ({ visitor }) => {
          async function* lines() {
            await visitor.api.get('/role', roleSchema).then(called.resolve, called.reject)
            yield 'the only line'
          }
          return Readable.from(lines())
        })
      },
    }
    const { browser, platform } = await buildTestClient(t, { product, scripts: smallApi })
    await signIn(browser)
    platform.answer('GET /role', unauthorized)
    const isRefused = t.rejects(called.promise, { code: 'sign_in_required' })
    t.equal((await browser.get('/lazy', { site: 'same-origin' })).body, 'the only line')
    await isRefused
    t.equal(platform.received('POST /api/exchangeToken').length, 1, 'only the login must have asked for tokens')
  },
)

t.test(
  'if loadSessionData fails, the client logs the error, signs the visitor in without data, and tries again later',
  async t => {
    const { browser, platform, read, errors } = await start(t)
    platform.answer('GET /role', { status: 500, body: {} })
    t.equal((await signIn(browser)).statusCode, 200)
    t.same(await read(), {})
    t.match(errors()[0], { level: 50, cause: { code: 'api_failed' } })
    platform.answer('GET /role', { body: { role: 'admin' } })
    t.same(await read(), { role: 'admin' })
  },
)

t.test('if the API refuses the access token while session data is loaded, the renewed session is kept', async t => {
  const { browser, platform, read, renewals, timesLoaded } = await start(t)
  platform.answer('GET /role', { status: 500, body: {} })
  await signIn(browser)
  const renewed = accessTokenOf('visitor-1', { jti: 'renewed' })
  platform.answer('POST /api/exchangeToken', giveTokens({ access_token: renewed, refresh_token: 'second' }))
  platform.answer('GET /role', ({ headers }, response) => {
    send(response, headers.authorization === `Bearer ${renewed}` ? { body: { role: 'admin' } } : unauthorized)
  })
  t.same(await read(), { role: 'admin' })
  t.equal(renewals(), 1)
  t.same(await read(), { role: 'admin' })
  t.equal(timesLoaded(), 2, 'the renewed session must contain the data')
  t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
  t.equal(platform.received('GET /things').at(-1)?.headers.authorization, `Bearer ${renewed}`)
  t.equal(
    browser.names().filter(name => name.startsWith('__Host-refresh-')).length,
    1,
    'the session must keep its refresh token',
  )
})

t.test(
  'if the API also refuses the renewed token while session data is loaded, the page is shown without data, and the session ends',
  async t => {
    const { browser, platform, read } = await start(t)
    platform.answer('GET /role', { status: 500, body: {} })
    await signIn(browser)
    platform.answer('GET /role', unauthorized)
    t.same(await read(), {})
    t.same(
      browser.names().filter(name => /^__Host-(session|refresh)/.test(name)),
      [],
      'the client must delete the cookies of the session',
    )
  },
)

t.test(
  'if the access token leaves no room for the data in the cookie, the session works, and the cookie does not contain the data',
  async t => {
    const { browser, platform, read, timesLoaded, log } = await start(t, async () => ({ role: 'x'.repeat(480) }))
    const long = accessTokenOf('visitor-1', { padding: 'x'.repeat(2_300) })
    platform.answer('POST /api/exchangeToken', giveTokens({ access_token: long }))
    t.equal((await signIn(browser)).statusCode, 200)
    t.same(await read(), { role: 'x'.repeat(480) })
    t.same(await read(), { role: 'x'.repeat(480) })
    t.equal(timesLoaded(), 3, 'data that does not fit must be loaded for each request')
    t.ok(log.some(line => JSON.parse(line).event === 'session_data_too_long'))
  },
)

t.test('if a renewed access token leaves no room for the data in the cookie, the session continues', async t => {
  const { browser, clock, platform, read, renewals } = await start(t, async () => ({ role: 'x'.repeat(480) }))
  await signIn(browser)
  const long = accessTokenOf('visitor-1', { padding: 'x'.repeat(2_300) })
  platform.answer('POST /api/exchangeToken', giveTokens({ access_token: long }))
  clock.advance(3_570)
  for (let times = 0; times < 2; times++) {
    t.same(await read(), { role: 'x'.repeat(480) })
    t.equal(renewals(), 1)
  }
})
