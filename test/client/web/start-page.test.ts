// Tests the start page. The page shows the name of a signed-in visitor, even if the browser has only the refresh token.

import t from 'tap'
import { signInTexts } from '../../../src/client/sign-in/texts.ts'
import { around } from '../../../src/client/texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { linksOf, textOf } from '../support/read-form.ts'
import { type Script, send } from '../support/scripted-platform.ts'

const onward = (page: { body: string }) => linksOf(page).filter(href => href === '/login' || href === '/page')

t.test('a visitor without a session gets only a link to sign in', async t => {
  const { browser } = await buildTestClient(t)
  const page = await browser.get('/')
  t.same(onward(page), ['/login'])
  t.notMatch(textOf(page), signInTexts.signedOut.title)
  t.notMatch(
    page.body,
    webTexts.page.cookie,
    'the page must not show the sentence about the cookie that keeps a visitor signed in',
  )
  await signIn(browser)
  t.match((await browser.get('/')).body, webTexts.page.cookie)
})

for (const [what, isKept] of [
  ['only a session', (name: string) => name === '__Host-session'],
  ['only a refresh token', (name: string) => name.startsWith('__Host-refresh-')],
] as const) {
  t.test(`a visitor with ${what} gets a link to the product`, async t => {
    const { browser } = await buildTestClient(t)
    await signIn(browser)
    for (const name of browser.names()) if (!isKept(name)) browser.cookies.delete(name)
    t.equal(browser.names().length, 1)
    const page = await browser.get('/')
    t.ok(onward(page).includes('/page'))
    t.notOk(onward(page).includes('/login'))
  })
}

const metadata = 'GET /.well-known/oauth-authorization-server'

/** Returns a script that sends a metadata document of the scripted portal with these fields. */
const documentWith =
  (members: Record<string, unknown>): Script =>
  ({ headers }, response) =>
    send(response, { body: { issuer: `http://${headers.host}`, ...members } })

t.test(
  'from a sign-out until the next login, the page says that the visitor has signed out, and links to the portal’s sign-out page',
  async t => {
    const listed = documentWith({ end_session_endpoint: 'https://elsewhere.test/end' })
    const { browser, platform } = await buildTestClient(t, { scripts: { [metadata]: listed } })
    await signIn(browser)
    t.equal((await browser.post('/logout')).headers.location, '/')
    t.match(textOf(await browser.get('/')), signInTexts.signedOut.notice)
    for (const path of ['/', '/page', '/login']) {
      const page = await browser.get(path, { site: path === '/login' ? 'cross-site' : 'none' })
      t.match(textOf(page), around(signInTexts.signedOut.atPortal)[0].trim(), path)
      t.ok(linksOf(page).includes(`${platform.url}/sign-out`), path)
      t.notMatch(page.body, 'elsewhere.test', 'UP-01: links must not use an address from the metadata')
    }
    t.same(onward(await browser.get('/')), ['/login'])
    await signIn(browser)
    const page = await browser.get('/')
    t.notMatch(textOf(page), signInTexts.signedOut.notice)
    t.notMatch(page.body, '/sign-out')
  },
)

const noSignOutPage: Record<string, Script> = {
  'has no metadata document': { status: 404, body: {} },
  'does not list a sign-out page': documentWith({ revocation_endpoint: 'listed' }),
  'lists a sign-out page, but not as an address': documentWith({ end_session_endpoint: true }),
  'lists a sign-out page in a document with another issuer': {
    body: { issuer: 'https://evil.test', end_session_endpoint: 'https://evil.test/sign-out' },
  },
  'never answers': () => new Promise(() => {}),
}

for (const [what, document] of Object.entries(noSignOutPage))
  t.test(`portal-sign-out-link: if the portal ${what}, no page links to the portal's sign-out page`, async t => {
    const { browser, platform } = await buildTestClient(t, { scripts: { [metadata]: document } })
    platform.answer('POST /api/revokeToken', { body: {} })
    await signIn(browser)
    await browser.post('/logout')
    for (const path of ['/', '/page', '/login']) {
      const page = await browser.get(path, { site: path === '/login' ? 'cross-site' : 'none' })
      t.match(textOf(page), path === '/' ? signInTexts.signedOut.notice : signInTexts.signedOut.title)
      t.match(textOf(page), signInTexts.signedOut.atPortal(signInTexts.signedOut.atPortalLink), path)
      t.notMatch(page.body, '/sign-out', path)
      t.notMatch(page.body, 'undefined', path)
    }
  })

t.test(
  'portal-sign-out-link: if the client cannot read the metadata again, the page keeps the link; if the new metadata lists no sign-out page, the link disappears',
  async t => {
    const listed = documentWith({ end_session_endpoint: 'listed' })
    const { browser, platform, clock } = await buildTestClient(t, { scripts: { [metadata]: listed } })
    const isLinked = async () => {
      await signIn(browser)
      await browser.post('/logout')
      return linksOf(await browser.get('/')).includes(`${platform.url}/sign-out`)
    }
    t.equal(await isLinked(), true)
    platform.answer(metadata, { status: 503, body: {} })
    clock.advance(61 * 60)
    t.equal(await isLinked(), true)
    platform.answer(metadata, documentWith({}))
    clock.advance(31)
    t.equal(await isLinked(), false)
  },
)
