// Failed renewals: only a final refusal deletes the refresh token, and no visitor is locked out.

import t from 'tap'
import { signInTexts } from '../../../../src/client/sign-in/texts.ts'
import { upstreamTexts } from '../../../../src/client/upstream-texts.ts'
import { webTexts } from '../../../../src/client/web/texts.ts'
import { buildTestClient, signIn } from '../../support/build-test-client.ts'
import { readForm } from '../../support/read-form.ts'
import { setCookieLines } from '../../support/read-response.ts'
import { giveTokens, type Script, send, tokenAnswer } from '../../support/scripted-platform.ts'
import { buildSignedIn, openPage, refreshCookieNames, tokenRoute } from '../support/build-signed-in.ts'

/** RFC 6749 5.2: only an answer with status 400 or more is a refusal, whatever its body says. */
const giveCreated: Script = (request, response) =>
  send(response, { status: 201, body: tokenAnswer(request, { error: 'invalid_grant' }) })

const passing: Record<string, Script> = {
  'answers with status 500': { status: 500, body: {} },
  'answers with status 503': { status: 503, headers: { 'retry-after': '9' }, body: {} },
  'answers with status 429': { status: 429, body: {} },
  'answers with HTML': { headers: { 'content-type': 'text/html' }, body: '<html></html>' },
  'sends incomplete JSON': { body: '{"access_token":' },
  'sends an expires_in below zero': giveTokens({ expires_in: -1 }),
  'drops the connection': (_request, response) => response.destroy(),
  'answers with the error invalid_client': { status: 401, body: { error: 'invalid_client' } },
  'answers with the error invalid_request': { status: 400, body: { error: 'invalid_request' } },
  'answers with status 400 and an HTML page': {
    status: 400,
    headers: { 'content-type': 'text/html' },
    body: '<html></html>',
  },
  'answers with status 403': { status: 403, body: {} },
  'answers with status 500 and invalid_grant': { status: 500, body: { error: 'invalid_grant' } },
  'answers with status 429 and invalid_grant': { status: 429, body: { error: 'invalid_grant' } },
  'answers with status 201, tokens and invalid_grant': giveCreated,
  redirects: { status: 302, headers: { location: 'https://elsewhere.test/' }, body: {} },
}

const one = await buildTestClient(t, { scripts: { 'GET /things': { body: ['first thing'] } } })
let visitors = 0

/**
 * Signs another visitor in at the client that all tests share. The session lasts an hour. After that, the portal
 * answers each renewal with `renewal`.
 */
async function newVisitor(renewal: Script) {
  const { platform, clock, log } = one
  const browser = one.browser.copy()
  platform.answer(tokenRoute, giveTokens({ refresh_token: `of-visitor-${visitors++}` }))
  await signIn(browser)
  platform.answer(tokenRoute, renewal)
  const [asked, logged] = [platform.received(tokenRoute).length, log.length]
  const renewals = () => platform.received(tokenRoute).slice(asked)
  return { browser, clock, platform, renewals, logged: () => log.slice(logged).join('') }
}

for (const [what, renewal] of Object.entries(passing)) {
  t.test(
    `RF-05: if the portal ${what} at a renewal, the visitor gets an error page, and the session continues later`,
    async t => {
      const { browser, clock, platform } = await newVisitor(renewal)
      const kept = refreshCookieNames(browser)
      clock.advance(3601)
      const page = await openPage(browser)
      t.ok([502, 503].includes(page.statusCode), `${page.statusCode}`)
      t.match(page.headers['content-type'], 'text/html')
      t.same(setCookieLines(page), [])
      t.same(refreshCookieNames(browser), kept)
      platform.answer(tokenRoute, giveTokens({ refresh_token: 'second' }))
      t.equal((await openPage(browser)).statusCode, 200)
    },
  )

  t.test(`RF-05: if the portal ${what} while the access token is still valid, the visitor notices nothing`, async t => {
    const { browser, clock, renewals } = await newVisitor(renewal)
    clock.advance(3600 - 30)
    t.equal((await openPage(browser)).statusCode, 200)
    t.equal(renewals().length, 1)
  })
}

t.test(
  'F-17: if the portal is too busy to renew, the page shows the portal’s Retry-After, and the session continues',
  async t => {
    const { browser, clock } = await buildSignedIn(t, {
      status: 503,
      headers: { 'retry-after': '1000000000' },
      body: {},
    })
    clock.advance(3601)
    const page = await openPage(browser)
    t.equal(page.statusCode, 503)
    t.equal(page.headers['retry-after'], '3600')
    t.match(page.body, upstreamTexts.portal.busy(3600))
    t.equal(refreshCookieNames(browser).length, 1)
  },
)

const final: Record<string, Script> = {
  'invalid_grant with 400': { status: 400, body: { error: 'invalid_grant' } },
  'invalid_grant with 401': { status: 401, body: { error: 'invalid_grant' } },
  unsupported_grant_type: { status: 400, body: { error: 'unsupported_grant_type' } },
  unauthorized_client: { status: 400, body: { error: 'unauthorized_client' } },
  'a 404 answer with an HTML page': { status: 404, headers: { 'content-type': 'text/html' }, body: '<html></html>' },
  'a 405 answer': { status: 405, body: {} },
  'a 501 answer': { status: 501, body: {} },
}

for (const [what, renewal] of Object.entries(final)) {
  t.test(
    `RF-05, refused-for-good, no-renewals: ${what} deletes the refresh cookie immediately, and the session ends when its access token expires`,
    async t => {
      const { browser, clock, renewals, logged } = await newVisitor(renewal)
      clock.advance(3600 - 30)
      t.equal((await openPage(browser)).statusCode, 200)
      t.same(refreshCookieNames(browser), [])
      t.match(logged(), /"event":"session_ended".*"cause":"(\w+|status \d+)"/, 'the log must contain the cause')
      t.equal((await openPage(browser)).statusCode, 200)
      t.equal(renewals().length, 1, 'the client must not try the renewal again')
      clock.advance(30)
      const page = await openPage(browser)
      t.equal(page.statusCode, 302)
      t.match(page.headers.location, /^\/login/)
    },
  )

  t.test(
    `RF-05, refused-for-good, no-renewals: if the access token has expired, ${what} ends the session, and the client redirects the visitor to the login`,
    async t => {
      const { browser, clock, renewals } = await newVisitor(renewal)
      clock.advance(3601)
      const page = await openPage(browser)
      t.equal(page.statusCode, 302)
      t.match(page.headers.location, /^\/login/)
      t.same(refreshCookieNames(browser), [])
      await openPage(browser)
      t.equal(renewals().length, 1)
    },
  )
}

t.test('RF-05: an error page for the portal or the API offers to sign in again and to sign out', async t => {
  const { browser, clock, platform } = await buildSignedIn(t, { status: 401, body: { error: 'invalid_client' } })
  const offers = async (path: string, status: number, returnTo: string) => {
    const page = await browser.get(path, { site: 'same-origin' })
    t.equal(page.statusCode, status, path)
    const href = `/login?${new URLSearchParams({ returnTo })}`
    t.match(page.body, `<a href="${href}">${signInTexts.signInAgain}</a>`, path)
    t.match(page.body, /<form[^>]* method="post" action="\/logout">[\s\S]*<\/button>/, path)
    t.equal(page.body.split(`${webTexts.page.signOut}</button>`).length, 2, `${path} must offer to sign out once`)
  }
  platform.answer('GET /things', { status: 500, body: {} })
  await offers('/page?q=1', 502, '/page?q=1')
  platform.answer('GET /things', { body: [] })
  clock.advance(3601)
  await offers('/page', 502, '/page')
  await offers('/note', 502, '/note')
  platform.answer(tokenRoute, giveTokens())
  await signIn(browser)
  t.equal((await openPage(browser)).statusCode, 200, 'the pages must work after signing in again')
  await browser.post('/logout')
  platform.answer(tokenRoute, { status: 500, body: {} })
  const page = await signIn(browser)
  t.equal(page.statusCode, 502)
  t.notMatch(
    page.body,
    webTexts.errorPage.ifThisKeepsHappening,
    'without a session the page must not name the session as the cause',
  )
  t.notMatch(page.body, '/logout')
})

t.test(
  'RF-05: an error page with status 404 does not offer a new login, and has a sign-out button only in the signed-in scope',
  async t => {
    const { browser } = await buildSignedIn(t)
    for (const [path, offers] of [
      ['/gone', 1],
      ['/nowhere', 0],
    ] as const) {
      const page = await browser.get(path, { site: 'same-origin' })
      t.equal(page.statusCode, 404, path)
      t.notMatch(
        page.body,
        signInTexts.signInAgain,
        `${path} must not offer to sign in again, because this would not help`,
      )
      t.equal(page.body.split(`${webTexts.page.signOut}</button>`).length - 1, offers, path)
      t.equal(page.body.includes('action="/logout"'), offers === 1, path)
    }
  },
)

t.test('RF-05: a form that failed shows the typed text and offers to sign in again', async t => {
  const { browser, clock, platform } = await buildSignedIn(t, { status: 503, body: {} })
  const form = readForm(await browser.get('/note'), '/note')
  platform.answer('POST /things', { status: 401, body: {} })
  clock.advance(60)
  const page = await browser.post('/note', { ...form, note: 'typed at length' })
  t.equal(page.statusCode, 503)
  t.match(page.body, 'href="/login" target="_blank"')
  t.equal(readForm(page, '/note').note, 'typed at length')
})

t.test('F-24: a portal that renews slowly delays only requests that need the renewal', async t => {
  const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>()
  const { browser, clock } = await buildSignedIn(t, async (request, response) => {
    await mayAnswer
    send(response, { body: tokenAnswer(request, { refresh_token: 'second' }) })
  })
  clock.advance(3601)
  const slow = openPage(browser)
  t.equal((await browser.get('/', { site: 'same-origin' })).statusCode, 200)
  answer()
  t.equal((await slow).statusCode, 200)
})
