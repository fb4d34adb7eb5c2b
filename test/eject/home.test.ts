// Tests the page of the bare starter, including failures of the API. `npm run eject -- --bare` keeps this test as
// test/client/home.test.ts.
import t from 'tap'
import { home } from '../../scripts/starter/bare/home.ts'
import { homeTexts } from '../../scripts/starter/bare/home-texts.ts'
import { buildTestClient, signIn } from '../client/support/build-test-client.ts'
import { textOf } from '../client/support/read-form.ts'

const product = {
  name: 'My client',
  home: '/home',
  links: () => [{ href: '/home', text: homeTexts.home }],
  pages: home,
}
const scripts = { 'GET /apps/v1': { body: { ItemList: [{}, {}] } } }

t.test(
  'after a login, the visitor sees the page of the bare client, which calls the API once with the access token',
  async t => {
    const { browser, platform } = await buildTestClient(t, { product, scripts })
    t.match((await signIn(browser)).body, '/home')
    const page = await browser.get('/home', { site: 'same-origin' })
    t.equal(page.statusCode, 200)
    t.match(textOf(page), homeTexts.applications(2))
    const [call, ...more] = platform.received('GET /apps/v1')
    t.match(call!.headers.authorization, /^Bearer /)
    t.same(more, [])
  },
)

t.test(
  'if a visitor is not signed in, the page of the bare client redirects to the login and does not call the API',
  async t => {
    const { browser, platform } = await buildTestClient(t, { product, scripts })
    t.equal((await browser.get('/home')).statusCode, 302)
    t.same(platform.received('GET /apps/v1'), [])
  },
)

t.test(
  'if the API fails, the page of the bare client answers with an error; if the API refuses the token, the page answers 401',
  async t => {
    const { browser, platform } = await buildTestClient(t, { product, scripts })
    await signIn(browser)
    for (const [answer, status] of [
      [{ body: [] }, 502],
      [{ status: 404, body: {} }, 404],
      [{ status: 503, body: {} }, 503],
      [{ status: 401, body: {} }, 401],
    ] as const) {
      platform.answer('GET /apps/v1', answer)
      t.equal((await browser.get('/home', { site: 'same-origin' })).statusCode, status)
    }
  },
)
