// A login ends on the page where it began, and never on a page of another site.

import t from 'tap'
import { signInTexts } from '../../../src/client/sign-in/texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'
import { exchangeRaw, rawGet } from '../../support/raw-socket.ts'
import { beginLogin, buildTestClient, callbackUrl, publicUrl, signIn } from '../support/build-test-client.ts'
import { linksOf } from '../support/read-form.ts'
import { refreshTarget } from '../support/read-response.ts'
import { leaving, leavingLater, staying } from '../support/redirect-vectors.ts'
import { giveTokens, type Script } from '../support/scripted-platform.ts'

const { browser: stranger, client } = await buildTestClient(t)

for (const value of [...leaving, ...leavingLater, ...staying]) {
  t.test(`CL-25: a login with returnTo ${JSON.stringify(value)} ends on this site`, async t => {
    const page = await signIn(stranger.copy(), value)
    t.equal(page.statusCode, 200)
    const target = refreshTarget(page) ?? ''
    t.match(target, /^\/(?![/\\])/)
    const { origin, pathname } = new URL(target, publicUrl)
    t.equal(origin, publicUrl)
    t.notMatch(pathname, /^\/\//)
  })
}

t.test('CL-25: a returnTo that is not a path of this site leads to the home page', async t => {
  const { browser } = await buildTestClient(t)
  t.equal(refreshTarget(await signIn(browser, 'https://evil.test/')), '/page')
})

t.test('CL-25: if an address contains returnTo twice, the login leads to the home page', async t => {
  const { browser } = await buildTestClient(t)
  const { headers } = await browser.get('/login?returnTo=/note&returnTo=//evil.test/')
  const started = new URL(String(headers.location)).searchParams
  t.equal(refreshTarget(await browser.get(callbackUrl(started), { site: 'cross-site' })), '/page')
})

const deepLinks = [...leaving, ...leavingLater, ...staying].filter(value => /^\/[!-~]*$/.test(value))

for (const path of [...deepLinks, '/page//evil.test/', '/page/..//evil.test/', '/page?//evil.test/']) {
  t.test(`CL-25: a deep link to ${path} does not lead to another site`, async t => {
    for (const site of ['cross-site', 'same-origin']) {
      const answer = await exchangeRaw(client, rawGet(path, { 'sec-fetch-site': site }))
      t.match(answer, /^HTTP\/1\.1 [234]/)
      const target = /location: (.*)\r/i.exec(answer)?.[1] ?? /content="0;url=([^"]*)"/.exec(answer)?.[1] ?? '/'
      t.equal(new URL(target, publicUrl).origin, publicUrl, target)
      t.notMatch(new URL(target, publicUrl).pathname, /^\/\//)
    }
  })
}

t.test('CL-25: if a visitor without a session opens a signed-in page, the login leads back to this page', async t => {
  const { browser } = await buildTestClient(t)
  const redirect = await browser.get('/note?x=1&y=%2F', { site: 'same-origin' })
  t.equal(redirect.statusCode, 302)
  t.equal(redirect.headers.location, '/login?returnTo=%2Fnote%3Fx%3D1%26y%3D%252F')
  const returnTo = new URL(String(redirect.headers.location), publicUrl).searchParams.get('returnTo')
  t.equal(refreshTarget(await signIn(browser, returnTo!)), '/note?x=1&y=%2F')
})

const failures: Record<string, [change: Record<string, string | undefined>, exchange: Script, status: number]> = {
  'the portal refuses the code': [{}, { status: 401, body: { error: 'invalid_grant' } }, 400],
  'the portal refuses this client': [{}, { status: 401, body: { error: 'invalid_client' } }, 502],
  'the portal answers with status 500': [{}, { status: 500, body: {} }, 502],
  'the portal is busy': [{}, { status: 503, body: {} }, 503],
  'the connection drops': [{}, (_request, response) => response.destroy(), 502],
  'the token response is for another login': [{}, giveTokens({ state: 'another' }), 502],
  'the access token is too long': [{}, giveTokens({ access_token: 'x'.repeat(6_000) }), 502],
  'the callback has no code': [{ code: undefined }, giveTokens(), 400],
  'the callback is from another issuer': [{ iss: 'https://evil.test' }, giveTokens(), 400],
  'the portal answers with an error': [{ code: undefined, error: 'server_error' }, giveTokens(), 400],
  'the visitor declines': [{ code: undefined, error: 'access_denied' }, giveTokens(), 200],
}

for (const [what, [change, exchange, status]] of Object.entries(failures)) {
  t.test(`return-after-failure: if ${what}, signing in again leads to the page that the visitor wanted`, async t => {
    const { browser, platform } = await buildTestClient(t, { scripts: { 'POST /api/exchangeToken': exchange } })
    const started = await beginLogin(browser, '/note?x=1&y=%2F')
    const page = await browser.get(callbackUrl(started, change), { site: 'cross-site' })
    t.equal(page.statusCode, status)
    const [link, ...others] = linksOf(page).filter(href => href.startsWith('/login'))
    t.same(others, [])
    platform.answer('POST /api/exchangeToken', giveTokens())
    const { headers } = await browser.get(link!, { site: 'same-origin' })
    const again = new URL(String(headers.location)).searchParams
    t.equal(refreshTarget(await browser.get(callbackUrl(again), { site: 'cross-site' })), '/note?x=1&y=%2F')
  })
}

t.test(
  'return-after-failure: the cancel_url with a state of this browser leads to the page that the visitor wanted',
  async t => {
    const { browser } = await buildTestClient(t)
    const started = await beginLogin(browser, '/note')
    const page = await browser.get(`/cancelled?state=${started.get('state')}`, { site: 'cross-site' })
    t.same(
      linksOf(page).filter(href => href.startsWith('/login')),
      ['/login?returnTo=%2Fnote'],
    )
  },
)

t.test(
  'return-after-failure: if the cancel_url has no state, it leads to the page for which this browser began its newest login',
  async t => {
    const { browser } = await buildTestClient(t)
    await beginLogin(browser, '/note')
    await beginLogin(browser, '/page?newest=1')
    const page = await browser.get('/cancelled', { site: 'cross-site' })
    t.same(
      linksOf(page).filter(href => href.startsWith('/login')),
      ['/login?returnTo=%2Fpage%3Fnewest%3D1'],
    )
  },
)

t.test(
  'return-after-failure: if a login of a signed-in visitor fails, the link leads to the page that the visitor wanted, and not to the callback',
  async t => {
    const { browser, platform } = await buildTestClient(t)
    await signIn(browser)
    platform.answer('POST /api/exchangeToken', { status: 500, body: {} })
    for (const [wanted, login] of [
      ['/note', '/login?returnTo=%2Fnote'],
      // A login without `returnTo` leads to the home page.
      [undefined, '/login'],
    ]) {
      const started = await beginLogin(browser, wanted)
      // The portal is on the same site, so the browser sends the Strict cookies with the callback.
      const page = await browser.get(callbackUrl(started), { site: 'same-site' })
      t.equal(page.statusCode, 502)
      t.match(page.body, webTexts.page.signOut)
      const logins = linksOf(page).filter(href => href.startsWith('/login'))
      t.same(new Set(logins), new Set([login]))
      t.notMatch(page.body, 'Code0123456789')
    }
  },
)

t.test(
  'return-after-failure: if an earlier delivery of the callback has finished the login, the error page links to the page that the visitor wanted',
  async t => {
    const { browser } = await buildTestClient(t)
    const started = await beginLogin(browser, '/note')
    const login = browser.cookies.get(`__Host-login-${started.get('state')}`)!
    await browser.get(callbackUrl(started), { site: 'cross-site' })
    browser.cookies.set(`__Host-login-${started.get('state')}`, login)
    const page = await browser.get(callbackUrl(started), { site: 'same-site' })
    t.equal(page.statusCode, 400)
    t.match(page.body, `<a class="button" href="/note">${signInTexts.continue}</a>`)
  },
)
