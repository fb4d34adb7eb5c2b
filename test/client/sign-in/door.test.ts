// The door of signing in: what a product is told of its visitors and when, and what a fault of its own may not do.
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { TestProduct } from '../support/test-product.ts'
import { type Visitor, visitorOf } from '../../../src/client/sign-in/sign-in.ts'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { giveTokens } from '../support/scripted-platform.ts'
import { smallProduct } from '../support/small-product.ts'

const things = { 'GET /things': { body: ['one', 'two'] } }

/** A client whose product does this beside its pages. */
async function buildWith(t: Test, hooks: Partial<TestProduct>, requestDeadlineMs?: number) {
  const deadline = requestDeadlineMs === undefined ? {} : { requestDeadlineMs }
  return buildTestClient(t, { product: { ...smallProduct, ...hooks }, scripts: things, ...deadline })
}

/** A product with a page that tells what `visitorOf` says. */
const telling: Partial<TestProduct> = {
  async pages(signedIn, options) {
    await signedIn.register(smallProduct.pages, options)
    signedIn.get('/who', async request => {
      const { userId, visitorId } = request.visitor
      return { userId: userId ?? null, visitorId }
    })
  },
}

t.test('a page is told the subject of the access token as the user', async t => {
  const { browser } = await buildWith(t, telling)
  await signIn(browser)
  const told = (await browser.get('/who', { site: 'same-origin' })).json()
  t.same(told, { userId: 'visitor-1', visitorId: 'visitor-1' })
})

t.test('a token without a subject gives no user, and another visitor with each login', async t => {
  const { browser, platform } = await buildWith(t, telling)
  platform.answer('POST /api/exchangeToken', giveTokens({ access_token: 'opaque' }))
  const ids = new Set<string>()
  for (let login = 0; login < 2; login++) {
    await signIn(browser)
    const { userId, visitorId } = (await browser.get('/who', { site: 'same-origin' })).json()
    t.equal(userId, null)
    ids.add(visitorId)
  }
  t.equal(ids.size, 2)
})

t.test('a product is told of a sign-in before the answer, with a visitor who can call the API', async t => {
  const seen: unknown[] = []
  const { browser, platform } = await buildWith(t, {
    async afterSignIn({ userId, call }: Visitor, request) {
      const token = await call(async ({ accessToken }) => accessToken)
      seen.push([userId, token.length > 20, request.routeOptions.url])
    },
  })
  t.equal((await signIn(browser)).statusCode, 200)
  t.same(seen, [['visitor-1', true, '/exchangeToken']])
  t.equal(platform.received('POST /api/exchangeToken').length, 1)
})

for (const [what, afterSignIn] of [
  ['throws', () => Promise.reject(new Error('the table is locked'))],
  ['never ends', () => new Promise<void>(() => {})],
] as const) {
  t.test(`what a product does after a sign-in and ${what} is logged, and undoes nothing`, async t => {
    const { browser, log } = await buildWith(t, { afterSignIn }, 1_000)
    t.equal((await signIn(browser)).statusCode, 200)
    t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
    const events = log.map(line => JSON.parse(line))
    t.equal(events.filter(({ event }) => event === 'hook_failed').length, 1)
    t.equal(events.filter(({ event }) => event === 'login_succeeded').length, 1)
  })
}

t.test('a product is told of a sign-out, and cannot keep anybody in', async t => {
  const told: (string | undefined)[] = []
  const { browser } = await buildWith(t, {
    async beforeSignOut(visitor) {
      told.push(visitor?.userId)
      throw new Error('no disk')
    },
  })
  await signIn(browser)
  t.equal((await browser.post('/logout')).statusCode, 303)
  t.same(
    browser.names().filter(name => /session|refresh/.test(name)),
    [],
  )
  t.equal((await browser.post('/logout')).statusCode, 303)
  t.same(told, ['visitor-1', undefined])
})

/** A product whose pages are registered only after it has waited for something, such as a database. */
const slowPages: Product['pages'] = async (signedIn, parts) => {
  await setImmediate()
  smallProduct.pages(signedIn, parts)
}

t.test('the client waits for a product that registers its pages later', async t => {
  const { browser } = await buildWith(t, { pages: slowPages })
  const stranger = await browser.get('/page', { site: 'same-origin' })
  t.equal(stranger.statusCode, 302, 'the pages are behind the login')
  await signIn(browser)
  t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
})

t.test('the forms of a product that registers them later are checked before the start', async t => {
  const pages: Product['pages'] = async (signedIn, parts) => {
    await slowPages(signedIn, parts)
    const form = signedIn.defineForm({ page: '/nowhere', template: 'form' })
    signedIn.post(
      '/other',
      form.route,
      form.submit(async () => {}),
    )
  }
  await t.rejects(buildWith(t, { pages }), { message: /there is no GET \/nowhere/ })
})

t.test('a product whose pages fail after a while stops the start, and its error says why', async t => {
  const pages: Product['pages'] = async () => {
    await setImmediate()
    throw new Error('the database does not answer')
  }
  await t.rejects(buildWith(t, { pages }), { message: 'the database does not answer' })
})

t.test('a product is told at sign-in and at sign-out when the visitor has to sign in again', async t => {
  const seen: [string, Date | undefined][] = []
  const { browser, clock, platform } = await buildWith(t, {
    async afterSignIn({ expiresAt }) {
      seen.push(['in', expiresAt])
    },
    async beforeSignOut(visitor) {
      seen.push(['out', visitor?.expiresAt])
    },
  })
  const inDays = (days: number) => new Date(clock.read().getTime() + days * 24 * 60 * 60 * 1000)
  await signIn(browser)
  await browser.post('/logout')
  t.same(seen.splice(0), [
    ['in', inDays(30)],
    ['out', inDays(30)],
  ])
  platform.answer('POST /api/exchangeToken', giveTokens({ refresh_token: undefined, expires_in: 3600 }))
  await signIn(browser)
  await browser.post('/logout')
  t.same(
    seen,
    [
      ['in', inDays(1 / 24)],
      ['out', inDays(1 / 24)],
    ],
    'without a refresh token, the end of the access token',
  )
})

t.test('a home that is no page stops the start, and is named', async t => {
  await t.rejects(buildWith(t, { home: '/nowhere' }), {
    message: 'A login ends at /nowhere, and there is no GET /nowhere.',
  })
})

t.test('a page outside the scope of signed-in visitors has none, and is a fault of the site', async t => {
  const { client } = await buildTestClient(t, {
    observeRequests: app => app.get('/stray', async request => request.visitor.sessionOwner),
  })
  t.equal((await client.inject('/stray')).statusCode, 500)
  const looked = { visitor: { userId: 'visitor-1', visitorId: 'visitor-1', expiresAt: new Date() } }
  t.throws(() => visitorOf(looked as never), 'nor has one that anyone may see, whoever is signed in')
})
