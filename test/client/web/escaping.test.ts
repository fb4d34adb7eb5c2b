// Tests that pages show strings from visitors, the API and the portal as text, and never as markup.
import t, { type Test } from 'tap'
import { beginLogin, buildTestClient, callbackUrl, signIn } from '../support/build-test-client.ts'
import { hostileTexts, markupOf } from '../support/hostile-texts.ts'
import { linksOf, readForm, textOf, unescapeHtml } from '../support/read-form.ts'
import { accessTokenOf, giveTokens } from '../support/scripted-platform.ts'
import { smallApi } from '../support/small-product.ts'

async function withThing(t: Test, thing: string) {
  const scripts = {
    ...smallApi,
    'GET /things': { body: [thing, 'another'] },
    'GET /things/1': { body: { name: thing } },
  }
  const test = await buildTestClient(t, { scripts })
  await signIn(test.browser)
  return test
}

const { browser: plain } = await withThing(t, 'plain')

for (const [what, text] of Object.entries(hostileTexts)) {
  t.test(`PG-07: ${what} from the API is shown as text on every page`, async t => {
    const { browser } = await withThing(t, text)
    for (const path of ['/page', `/page?q=${encodeURIComponent(text)}`, '/page/1']) {
      const page = await browser.get(path)
      t.equal(page.statusCode, 200, path)
      t.same(markupOf(page.body), markupOf((await plain.get(path)).body), path)
      t.notMatch(page.body, '40301', 'the text must not be run as a template')
      t.match(unescapeHtml(page.body), text, 'the page must show the text')
    }
  })
}

t.test('PG-07: the fields of a refused form are shown as text', async t => {
  const { browser, platform } = await withThing(t, 'plain')
  platform.answer('POST /things', { status: 503, body: {} })
  const form = readForm(await browser.get('/note'), '/note')
  const plain = markupOf((await browser.post('/note', { ...form, note: 'plain' })).body)
  for (const [what, text] of Object.entries(hostileTexts)) {
    const page = await browser.post('/note', { ...form, note: text })
    t.equal(page.statusCode, 503)
    t.same(markupOf(page.body), plain, what)
    t.equal(readForm(page, '/note').note, text)
  }
})

t.test('PG-07: the visitor’s name and the portal’s messages are shown as text', async t => {
  const text = '"><svg/onload=alert(1)>'
  const { browser, platform } = await withThing(t, 'plain')
  platform.answer('POST /api/exchangeToken', giveTokens({ access_token: accessTokenOf(text) }))
  await signIn(browser)
  const page = await browser.get('/page', { site: 'same-origin' })
  t.notMatch(page.body, '<svg')

  const started = await beginLogin(browser)
  const url = callbackUrl(started, { code: undefined, error: 'server_error', error_description: text })
  const refused = await browser.get(url, { site: 'cross-site' })
  t.equal(refused.statusCode, 400)
  t.match(textOf(refused), text)
  t.notMatch(refused.body, '<svg')
})

t.test('PG-07: an error page with status 404 does not contain the requested address', async t => {
  const { browser } = await withThing(t, 'plain')
  for (const path of ['/%3Ccanary%3E', '/"><canary>', '/page/1/%3Ccanary%3E', '/?x=<canary>', '/logout/canary'])
    t.notMatch((await browser.get(path)).body, 'canary', path)
})

t.test('PG-06: an address from the API is shown as text and not as a link', async t => {
  for (const url of [
    'javascript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    '//evil.test/',
    'https://a.test/',
  ]) {
    const { browser } = await withThing(t, url)
    const page = await browser.get('/page/1')
    t.match(textOf(page), url)
    t.same(
      linksOf(page).filter(href => !/^\/|^#main$/.test(href) || href.startsWith('//')),
      [],
    )
  }
})
