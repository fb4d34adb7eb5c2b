// The one page: what it shows, and where it leads when the API does not answer as it should.
import t from 'tap'
import { product } from '../../../src/client/bare/product.ts'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { textOf } from '../support/read-form.ts'

const scripts = { 'GET /apps/v1': { body: { ItemList: [{}, {}] } } }

t.test('a login ends on the page, which calls the API once, with the access token', async t => {
  const { browser, platform } = await buildTestClient(t, { product, scripts })
  t.match((await signIn(browser)).body, '/home')
  const page = await browser.get('/home', { site: 'same-origin' })
  t.equal(page.statusCode, 200)
  t.match(textOf(page), 'The platform lists 2 of what you made there.')
  const [call, ...more] = platform.received('GET /apps/v1')
  t.match(call!.headers.authorization, /^Bearer /)
  t.same(more, [])
})

t.test('nobody sees the page who has not signed in', async t => {
  const { browser, platform } = await buildTestClient(t, { product, scripts })
  t.equal((await browser.get('/home')).statusCode, 302)
  t.same(platform.received('GET /apps/v1'), [])
})

t.test('an answer that is none is told, and a token that the API refuses leads to the login', async t => {
  const { browser, platform } = await buildTestClient(t, { product, scripts })
  await signIn(browser)
  for (const [answer, status] of [
    [{ body: [] }, 502],
    [{ status: 404, body: {} }, 502],
    [{ status: 503, body: {} }, 503],
    [{ status: 401, body: {} }, 401],
  ] as const) {
    platform.answer('GET /apps/v1', answer)
    t.equal((await browser.get('/home', { site: 'same-origin' })).statusCode, status)
  }
})
