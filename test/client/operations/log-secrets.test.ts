// Tests that the log contains no secret. The tests use every feature of the client that does not depend on its product.
import t from 'tap'
import { exchangeRaw, rawGet } from '../../support/raw-socket.ts'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { noteSecrets, unguessable } from '../support/note-secrets.ts'
import { rawAnswer, startRawUpstream } from '../support/raw-upstream.ts'
import { readForm } from '../support/read-form.ts'
import type { send } from '../support/scripted-platform.ts'
import { smallApi } from '../support/small-product.ts'

t.test('LG-01, LG-02, SE-04: no line of the log contains a code, state, token, cookie or secret', async t => {
  const { browser, client, clock, platform, secrets, plant, tokens, login, log, checkLog } = await noteSecrets(
    t,
    buildTestClient,
    { scripts: smallApi },
  )

  // Successful and failed logins.
  t.equal((await login()).statusCode, 200)
  await login({ state: plant() })
  await login({ client_id: plant() })
  await login({ code: undefined, error: 'server_error', error_description: plant() })
  await login({ code: undefined, error: plant() })
  await browser.get(`/exchangeToken?code=${plant()}&code=${plant()}&state=${plant()}`)
  await browser.get(`/exchangeToken/${plant()}?code=${plant()}&state=${plant()}`)
  await browser.get(`/cancelled?state=${plant()}&error=access_denied`)
  await browser.get(`/login?returnTo=/page?token=${plant()}`)
  await browser.get(`/${plant()}?access_token=${plant()}`)
  await browser.get('/page', { headers: { cookie: `__Host-session=${plant()}`, authorization: plant() } })
  await exchangeRaw(client, rawGet(`/%E0%A4%A?code=${plant()}`, { cookie: `a=${plant()}` }))
  await exchangeRaw(client, `BAD ${plant()}\r\n\r\n`)

  // Everything that a visitor does.
  const form = readForm(await browser.get('/note'), '/note')
  t.equal((await browser.post('/note', { ...form, note: 'typed' })).statusCode, 303)
  await browser.post('/note', form, { site: 'cross-site' })
  await browser.post('/note', { formToken: plant() })
  clock.advance(3_590)
  t.equal((await browser.get('/page')).statusCode, 200, 'renewed')

  // Answers with secrets in unexpected places, and broken answers.
  const answers: Parameters<typeof send>[1][] = [
    { body: tokens({ access_token: `${plant()} x` }) },
    { body: { ...tokens(), token_type: plant() } },
    { body: { ...tokens(), expires_in: plant() } },
    { body: JSON.stringify(tokens()).slice(0, -3) },
    { status: 400, body: { error: 'invalid_grant', error_description: plant() } },
    { status: 401, body: { error: plant() } },
    { status: 500, headers: { 'x-secret': plant() }, body: plant() },
    { status: 307, headers: { location: `${platform.url}/?client_secret=${plant()}` }, body: '' },
  ]
  for (const answer of answers) {
    platform.answer('POST /api/exchangeToken', answer)
    t.ok((await login()).statusCode >= 400)
  }
  platform.answer('POST /api/exchangeToken', (_request, response) => response.destroy())
  await login()
  for (const answer of [...answers, { status: 401, headers: { 'www-authenticate': plant() }, body: plant() }]) {
    platform.answer('GET /things', answer)
    await browser.get('/page')
  }
  platform.answer('POST /api/revokeToken', { status: 500, body: plant() })
  await browser.post('/logout')

  t.ok(log.length > 45, `${log.length} lines`)
  checkLog(t)
  t.ok(secrets.size > 100, `${secrets.size} secrets`)
})

t.test(
  'LG-01: if the client answers 404, the log does not contain the code and the state from the address',
  async t => {
    const { client, log } = await buildTestClient(t)
    const canary = unguessable()
    for (const url of [
      `/nowhere?code=${canary}&state=${canary}`,
      `/${canary}`,
      `/exchangeToken?code=${canary}`,
      `/assets/${canary}`,
    ])
      for (const method of ['GET', 'POST', 'PUT'] as const)
        await client.inject({ method, url, headers: { origin: 'http://localhost:3000' } })
    t.ok(log.length >= 12)
    t.notMatch(log.join(''), canary)
  },
)

t.test('LG-02: the properties that libraries add to their errors are not logged', async t => {
  const canary = unguessable()
  const headers = { 'content-length': '9999', 'x-secret': canary }
  const api = await startRawUpstream(t, (socket, _request, count) =>
    socket.end(count % 2 ? `${canary}\r\n\r\n` : rawAnswer(canary, { headers })),
  )
  const { browser, log } = await buildTestClient(t, { environment: { API_URL: api.url } })
  await signIn(browser)
  for (let count = 0; count < 4; count++) t.equal((await browser.get('/page')).statusCode, 502)
  t.ok(api.requests.length >= 4)
  t.notMatch(log.join(''), canary)
  t.notMatch(log.join(''), /authorization|Bearer/i)
})
