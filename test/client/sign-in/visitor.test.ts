// `request.visitor` and `request.visitorIfAny`, and the links that the header shows to a visitor.

import t from 'tap'
import { webTexts } from '../../../src/client/web/texts.ts'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { linksOf } from '../support/read-form.ts'
import { smallApi, smallProduct } from '../support/small-product.ts'
import type { TestProduct } from '../support/test-product.ts'

const product: TestProduct = {
  ...smallProduct,
  links: visitor => [
    { href: '/page', text: 'Your things' },
    { href: `/people/${visitor.userId}`, text: `All of <b>${visitor.name}` },
  ],
  async publicPages(app) {
    app.get('/public', async request => request.visitor.userId)
    app.get('/recognised', { preHandler: app.signIn.recognise }, async request => request.visitor.userId)
    app.get('/if-any', { preHandler: app.signIn.recognise }, async request => ({
      userId: request.visitorIfAny?.userId,
      hasApi: 'api' in (request.visitorIfAny ?? {}),
    }))
  },
}
const scripts = { ...smallApi, 'GET /api/me': { body: { name: 'Ada' } } }

for (const path of ['/public', '/recognised']) {
  t.test(
    `a route outside the signed-in scope (${path}) that reads request.visitor fails, and the log says why`,
    async t => {
      const { browser, log } = await buildTestClient(t, { product, scripts })
      for (const isSignedIn of [false, true]) {
        if (isSignedIn) await signIn(browser)
        log.length = 0
        const page = await browser.get(path, { site: 'same-origin' })
        t.equal(page.statusCode, 500)
        t.match(page.headers['content-type'], 'text/html')
        t.match(page.body, webTexts.errors.internal)
        t.notMatch(page.body, /request\.visitor|signed-in scope/)
        const errors = log.map(line => JSON.parse(line)).filter(({ event }) => event === 'internal')
        t.equal(errors.length, 1)
        t.match(errors[0].cause.stack, `GET ${path} read request.visitor outside the signed-in scope.`)
        t.match(errors[0].cause.stack, 'Register the route in a scope that app.signIn.protect protects')
      }
    },
  )
}

t.test('a public page can read request.visitorIfAny, which cannot call the API', async t => {
  const { browser } = await buildTestClient(t, { product, scripts })
  t.same((await browser.get('/if-any', { site: 'same-origin' })).json(), { hasApi: false })
  await signIn(browser)
  t.same((await browser.get('/if-any', { site: 'same-origin' })).json(), { userId: 'visitor-1', hasApi: false })
})

t.test('the header has the links that the product makes for the visitor', async t => {
  const { browser } = await buildTestClient(t, { product, scripts })
  const start = await browser.get('/')
  t.equal(start.statusCode, 200)
  t.notOk(linksOf(start).includes('/page'), 'a stranger must not get the links')
  await signIn(browser)
  for (const path of ['/', '/page', '/note']) {
    const page = await browser.get(path, { site: 'same-origin' })
    t.ok(linksOf(page).includes('/people/visitor-1'), path)
    t.match(page.body, 'All of &lt;b&gt;', path)
  }
})
