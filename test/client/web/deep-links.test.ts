// Tests links in e-mails and on other sites that lead to signed-in pages. The client makes the browser request such a
// page a second time, because only the second request has the Strict cookies.

import t from 'tap'
import { around } from '../../../src/client/texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'
import { exchangeRaw, rawGet } from '../../support/raw-socket.ts'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { refreshTarget, setCookieLines } from '../support/read-response.ts'
import { leaving, leavingLater } from '../support/redirect-vectors.ts'
import { smallApi as scripts } from '../support/small-product.ts'

const long = `/page?q=${'x'.repeat(2_000)}`
const pages = ['/page', '/page?q=wea&page=1', '/note', '/page/1', long]

t.test(
  'PG-12: if a signed-in visitor follows a link from another site, the client makes the browser request the page a second time, and then shows it',
  async t => {
    const { browser } = await buildTestClient(t, { scripts })
    await signIn(browser)
    for (const path of pages) {
      const first = await browser.get(path, { site: 'cross-site' })
      t.equal(first.statusCode, 200, path)
      t.equal(first.headers.location, undefined, path)
      t.equal(refreshTarget(first), path)
      t.same(setCookieLines(first), [], path)
      const second = await browser.get(refreshTarget(first)!, { site: 'same-origin' })
      t.equal(second.statusCode, 200, path)
      t.match(second.body, around(webTexts.page.signedInAs)[0], path)
    }
  },
)

t.test(
  'PG-12: if a visitor without a session follows a link from another site, the client makes the browser request the page a second time, and then begins a login',
  async t => {
    const { browser } = await buildTestClient(t, { scripts })
    for (const path of pages) {
      const first = await browser.get(path, { site: 'cross-site' })
      const second = await browser.get(refreshTarget(first)!, { site: 'same-origin' })
      t.equal(second.statusCode, 302, path)
      // The login cookie has no room for a long path, so the login then leads to the home page.
      const returnTo = path === long ? '/page' : path
      t.equal(second.headers.location, `/login?${new URLSearchParams({ returnTo })}`)
      const third = await browser.get(String(second.headers.location), { site: 'same-origin' })
      t.equal(third.statusCode, 302, path)
      t.match(third.headers.location, /^http:\/\/127\.0\.0\.1:\d+\/\?/, path)
    }
  },
)

t.test('PG-12: a form from another site is refused, and the error page does not redirect automatically', async t => {
  const { browser, platform } = await buildTestClient(t, { scripts })
  await signIn(browser)
  const calls = platform.received().length
  for (const path of ['/note', '/logout']) {
    const page = await browser.post(path, {}, { site: 'cross-site' })
    t.equal(page.statusCode, 403, path)
    t.equal(refreshTarget(page), undefined, path)
  }
  t.equal(platform.received().length, calls)
})

t.test('PG-12: however a link is written, it does not lead to another site', async t => {
  const { client } = await buildTestClient(t, { scripts })
  for (const path of [...leaving, ...leavingLater, '//evil.test/page', '/page//evil.test/']) {
    const target = `/${encodeURI(path).replace(/^\//, '')}`
    const answer = await exchangeRaw(client, rawGet(target, { 'sec-fetch-site': 'cross-site' }))
    t.notMatch(answer, /location:|http-equiv/i, target)
    t.notMatch(answer, 'evil.test', target)
  }
})

t.test(
  'PG-13: if a browser sends the Strict cookies although the request comes from another site, the client shows the page without a second request',
  async t => {
    const { browser, client } = await buildTestClient(t, { scripts })
    await signIn(browser)
    for (const path of pages) {
      const page = await client.inject({
        url: path,
        headers: { cookie: browser.cookieHeader(), 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
      })
      t.equal(page.statusCode, 200, path)
      t.equal(refreshTarget(page), undefined, path)
      t.match(page.body, around(webTexts.page.signedInAs)[0], path)
    }
  },
)

t.test(
  'PG-13: if the client cannot unseal a session cookie, it redirects to the login and deletes the cookie, so no loop begins',
  async t => {
    const { client } = await buildTestClient(t, { scripts })
    const headers = { cookie: '__Host-session=of-another-key', 'sec-fetch-site': 'cross-site' }
    const answer = await client.inject({ url: '/page', headers })
    t.equal(answer.statusCode, 302)
    t.match(answer.headers.location, /^\/login\?/)
    t.ok(setCookieLines(answer).some(line => line.startsWith('__Host-session=; Max-Age=0')))
  },
)

t.test('PG-12: the start page knows who is signed in, even if the visitor comes from another site', async t => {
  const { browser } = await buildTestClient(t, { scripts })
  await signIn(browser)
  const first = await browser.get('/', { site: 'cross-site' })
  t.equal(refreshTarget(first), '/')
  t.match((await browser.get('/', { site: 'same-origin' })).body, around(webTexts.page.signedInAs)[0])
})
