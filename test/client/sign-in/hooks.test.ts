// How a product learns about its visitors from sign-in: request.visitor, and the hooks in app.ts.
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Visitor } from '../../../src/client/sign-in/visitor.ts'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { giveTokens } from '../support/scripted-platform.ts'
import { smallProduct } from '../support/small-product.ts'
import type { TestProduct } from '../support/test-product.ts'

const things = { 'GET /things': { body: ['one', 'two'] } }
const thingsSchema = { type: 'array', items: { type: 'string' } } as const

/** Builds a client with the small product and these changes to the product. */
async function buildWith(t: Test, changes: Partial<TestProduct>) {
  return buildTestClient(t, { product: { ...smallProduct, ...changes }, scripts: things })
}

/** A product with a page that returns the ids of its visitor. */
const withIdsPage: Partial<TestProduct> = {
  async pages(signedIn, options) {
    await signedIn.register(smallProduct.pages, options)
    signedIn.get('/who', async request => {
      const { userId, sessionOwner } = request.visitor
      return { userId: userId ?? null, sessionOwner }
    })
  },
}

t.test('request.visitor has the subject of the access token as the user id', async t => {
  const { browser } = await buildWith(t, withIdsPage)
  await signIn(browser)
  const ids = (await browser.get('/who', { site: 'same-origin' })).json()
  t.same(ids, { userId: 'visitor-1', sessionOwner: 'visitor-1' })
})

t.test('if the token has no subject, there is no user id, and each login has its own session owner', async t => {
  const { browser, platform } = await buildWith(t, withIdsPage)
  platform.answer('POST /api/exchangeToken', giveTokens({ access_token: 'opaque' }))
  const owners = new Set<string>()
  for (let login = 0; login < 2; login++) {
    await signIn(browser)
    const { userId, sessionOwner } = (await browser.get('/who', { site: 'same-origin' })).json()
    t.equal(userId, null)
    owners.add(sessionOwner)
  }
  t.equal(owners.size, 2)
})

t.test('afterSignIn runs before the client answers the callback, and can call the API for the visitor', async t => {
  const calls: unknown[] = []
  const { browser, platform } = await buildWith(t, {
    async afterSignIn({ userId, api }: Visitor, request) {
      calls.push([userId, await api.get('/things', thingsSchema), request.routeOptions.url])
    },
  })
  t.equal((await signIn(browser)).statusCode, 200)
  t.same(calls, [['visitor-1', ['one', 'two'], '/exchangeToken']])
  t.match(platform.received('GET /things')[0]?.headers.authorization, /^Bearer eyJ/)
  t.equal(platform.received('POST /api/exchangeToken').length, 1)
})

t.test(
  'if the API refuses the new token in afterSignIn, the visitor stays signed in, and the client does not renew the session',
  async t => {
    const { browser, platform, log } = await buildWith(t, {
      async afterSignIn({ api }) {
        await api.get('/things', thingsSchema)
      },
    })
    platform.answer('GET /things', { status: 401, body: {} })
    t.equal((await signIn(browser)).statusCode, 200)
    t.equal(platform.received('POST /api/exchangeToken').length, 1)
    t.ok(browser.cookie('__Host-session'))
    t.equal(log.filter(line => line.includes('"event":"hook_failed"')).length, 1)
  },
)

t.test('if a hook fails because of a mistake in the product, the log names the file of the mistake', async t => {
  const { browser, log } = await buildWith(t, {
    async afterSignIn() {
      JSON.parse('{}').role.trim()
    },
  })
  t.equal((await signIn(browser)).statusCode, 200)
  const failure = log.map(line => JSON.parse(line)).find(({ event }) => event === 'hook_failed')
  t.match(failure, { level: 50, cause: { name: 'TypeError', stack: /hooks\.test\.ts:\d+/ } })
})

for (const [what, afterSignIn] of [
  ['throws', () => Promise.reject(new Error('the table is locked'))],
  ['never ends', () => new Promise<void>(() => {})],
] as const) {
  t.test(`if an afterSignIn hook ${what}, the client logs the failure, and the visitor stays signed in`, async t => {
    const { browser, log } = await buildWith(t, { afterSignIn })
    t.equal((await signIn(browser)).statusCode, 200)
    t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
    const events = log.map(line => JSON.parse(line))
    t.equal(events.filter(({ event }) => event === 'hook_failed').length, 1)
    t.equal(events.filter(({ event }) => event === 'login_succeeded').length, 1)
  })
}

t.test('beforeSignOut runs at every sign-out, and the sign-out succeeds even if the hook fails', async t => {
  const userIds: (string | undefined)[] = []
  const { browser } = await buildWith(t, {
    async beforeSignOut(visitor) {
      userIds.push(visitor?.userId)
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
  t.same(userIds, ['visitor-1', undefined])
})

t.test('the hooks receive the time at which the visitor has to sign in again', async t => {
  const ends: [string, Date | undefined][] = []
  const { browser, clock, platform } = await buildWith(t, {
    async afterSignIn({ expiresAt }) {
      ends.push(['in', expiresAt])
    },
    async beforeSignOut(visitor) {
      ends.push(['out', visitor?.expiresAt])
    },
  })
  const inDays = (days: number) => new Date(clock.read().getTime() + days * 24 * 60 * 60 * 1000)
  await signIn(browser)
  await browser.post('/logout')
  t.same(ends.splice(0), [
    ['in', inDays(30)],
    ['out', inDays(30)],
  ])
  platform.answer('POST /api/exchangeToken', giveTokens({ refresh_token: undefined, expires_in: 3600 }))
  await signIn(browser)
  await browser.post('/logout')
  t.same(
    ends,
    [
      ['in', inDays(1 / 24)],
      ['out', inDays(1 / 24)],
    ],
    'without a refresh token, the time must be the end of the access token',
  )
})

t.test('if a product registers its pages late, the client waits for the product before it starts', async t => {
  const { browser } = await buildWith(t, {
    async pages(signedIn, options) {
      await setImmediate()
      await signedIn.register(smallProduct.pages, options)
    },
  })
  const stranger = await browser.get('/page', { site: 'same-origin' })
  t.equal(stranger.statusCode, 302, 'the pages must need a session')
  await signIn(browser)
  t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
})

t.test('if a product cannot register its pages, the client does not start and throws the product’s error', async t => {
  const pages: TestProduct['pages'] = async () => {
    await setImmediate()
    throw new Error('the database does not answer')
  }
  await t.rejects(buildWith(t, { pages }), { message: 'the database does not answer' })
})

t.test(
  'if there is no GET route for the home page, the client does not start, and the error names the path',
  async t => {
    await t.rejects(buildWith(t, { home: '/nowhere' }), {
      message: 'A login leads to /nowhere, but there is no GET /nowhere. Register this route, or change "home".',
    })
  },
)

t.test(
  'request.visitor throws on a public route, even for a signed-in visitor, and the log says what to do',
  async t => {
    const { browser, log } = await buildWith(t, {
      async publicPages(app) {
        app.get('/stray', async request => request.visitor.sessionOwner)
        app.get('/stray-but-recognised', { preHandler: app.signIn.recognise }, async request => request.visitor.name)
      },
    })
    await signIn(browser)
    for (const path of ['/stray', '/stray-but-recognised']) {
      const page = await browser.get(path, { site: 'same-origin' })
      t.equal(page.statusCode, 500)
      t.match(log.join(''), `GET ${path} read request.visitor outside the signed-in scope. Register the route in`)
    }
  },
)

t.test(
  'request.visitorIfAny is undefined without a session, and also on public routes that do not recognise visitors',
  async t => {
    const { browser } = await buildWith(t, {
      async publicPages(app) {
        app.get('/plain', async request => ({ owner: request.visitorIfAny?.sessionOwner ?? null }))
        app.get('/recognised', { preHandler: app.signIn.recognise }, async request => ({
          owner: request.visitorIfAny?.sessionOwner ?? null,
        }))
      },
    })
    const ownerOn = async (path: string) => (await browser.get(path, { site: 'same-origin' })).json().owner
    t.equal(await ownerOn('/recognised'), null)
    await signIn(browser)
    t.equal(await ownerOn('/recognised'), 'visitor-1')
    t.equal(await ownerOn('/plain'), null)
  },
)
