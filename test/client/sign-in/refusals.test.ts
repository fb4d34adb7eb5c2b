// A refusal of the token endpoint is one by its status, too: the word alone refuses nothing.
import t from 'tap'
import { buildTestClient, signIn } from '../support/build-test-client.ts'

const answer = { status: 201, body: { error: 'invalid_grant' } }

t.test('UP-14: an exchange that is answered 201 and invalid_grant makes no sense, and is no refusal', async t => {
  const { browser, platform } = await buildTestClient(t)
  platform.answer('POST /api/exchangeToken', answer)
  const page = await signIn(browser)
  t.equal(page.statusCode, 502)
  t.match(page.body, 'makes no sense')
})

t.test('RF-05: a renewal that is answered 201 and invalid_grant fails for now, and ends no session', async t => {
  const { browser, platform, clock } = await buildTestClient(t)
  await signIn(browser)
  clock.advance(3601)
  platform.answer('POST /api/exchangeToken', answer)
  const page = await browser.get('/page', { site: 'same-origin' })
  t.equal(page.statusCode, 502)
  t.ok(browser.names().some(name => name.startsWith('__Host-refresh-')))
})
