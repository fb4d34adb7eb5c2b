// A portal that does not renew a session: only its own word that the grant is over ends it.
import t from 'tap'
import { buildSignedIn, grantNames, openList, tokenRoute } from '../support/build-signed-in.ts'
import { setCookieLines } from '../support/read-response.ts'
import { giveTokens, type Script, send, tokenAnswer } from '../support/scripted-platform.ts'

const passing: Record<string, Script> = {
  'is out of order': { status: 500, body: {} },
  'is busy (503)': { status: 503, headers: { 'retry-after': '9' }, body: {} },
  'limits the rate (429)': { status: 429, body: {} },
  'answers HTML': { headers: { 'content-type': 'text/html' }, body: '<html></html>' },
  'answers half an answer': { body: '{"access_token":' },
  'answers other tokens than agreed': giveTokens({ expires_in: -1 }),
  'drops the connection': (_request, response) => response.destroy(),
  'refuses the client': { status: 401, body: { error: 'invalid_client' } },
  redirects: { status: 302, headers: { location: 'https://elsewhere.test/' }, body: {} },
}

for (const [what, renewal] of Object.entries(passing)) {
  t.test(`RF-05: a portal that ${what} ends no session: a page says so, and later it goes on`, async t => {
    const { browser, clock, platform } = await buildSignedIn(t, renewal)
    const kept = grantNames(browser)
    clock.advance(3601)
    const page = await openList(browser)
    t.ok([502, 503].includes(page.statusCode), `${page.statusCode}`)
    t.match(page.headers['content-type'], 'text/html')
    t.same(setCookieLines(page), [])
    t.same(grantNames(browser), kept)
    platform.answer(tokenRoute, giveTokens({ refresh_token: 'second' }))
    t.equal((await openList(browser)).statusCode, 200)
  })

  t.test(`RF-05: while the access token is still good, a portal that ${what} is not even noticed`, async t => {
    const { browser, clock, renewals } = await buildSignedIn(t, renewal)
    clock.advance(3600 - 30)
    t.equal((await openList(browser)).statusCode, 200)
    t.equal(renewals().length, 1)
  })
}

t.test('F-17: a busy portal’s Retry-After stands on the page of a renewal, and the session stays', async t => {
  const { browser, clock } = await buildSignedIn(t, { status: 503, headers: { 'retry-after': '1000000000' }, body: {} })
  clock.advance(3601)
  const page = await openList(browser)
  t.equal(page.statusCode, 503)
  t.equal(page.headers['retry-after'], '3600')
  t.match(page.body, 'try again in 3600 seconds')
  t.equal(grantNames(browser).length, 1)
})

for (const status of [400, 401]) {
  t.test(`RF-05: invalid_grant with ${status} ends the session: its cookies go, and it is the login`, async t => {
    const { browser, clock, renewals } = await buildSignedIn(t, { status, body: { error: 'invalid_grant' } })
    clock.advance(3601)
    const page = await openList(browser)
    t.equal(page.statusCode, 302)
    t.match(page.headers.location, /^\/login/)
    t.same(grantNames(browser), [])
    await openList(browser)
    t.equal(renewals().length, 1)
  })
}

t.test('F-24: a portal that is slow to renew holds up only what needs it', async t => {
  const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>()
  const { browser, clock } = await buildSignedIn(t, async (request, response) => {
    await mayAnswer
    send(response, { body: tokenAnswer(request, { refresh_token: 'second' }) })
  })
  clock.advance(3601)
  const slow = openList(browser)
  t.equal((await browser.get('/', { site: 'same-origin' })).statusCode, 200)
  answer()
  t.equal((await slow).statusCode, 200)
})
