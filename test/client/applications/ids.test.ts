// Tests addresses that contain an impossible application id. The client must not call the API for these addresses.
import t from 'tap'
import { exchangeRaw, rawGet, rawPost } from '../../support/raw-socket.ts'
import { publicUrl, signIn } from '../support/build-test-client.ts'
import { accessTokenOf, giveTokens } from '../support/scripted-platform.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'

const { browser, client, platform } = await buildApplicationsClient(t)
await signIn(browser)

for (const id of [
  '..%2f..%2fapi%2fexchangeToken',
  '%2e%2e%2f',
  '%2e%2e',
  '..',
  '.',
  'a%3Fx=1',
  'a%23b',
  'a%00',
  '%5c..%5c',
  '..\\..',
  'a%0d%0aHost:%20evil.test',
  'a%252f..',
  '@evil.test',
  'app-1;x',
  'app%201',
  '%C3%A5',
  'x'.repeat(101),
]) {
  t.test(`PG-23: an address with the id ${id} does not cause a request to the API`, async t => {
    const before = platform.received().length
    const cookie = browser.cookieHeader()
    for (const path of ['', '/edit', '/delete']) {
      const answer = await exchangeRaw(client, rawGet(`/applications/${id}${path}`, { cookie }))
      t.match(answer, /^HTTP\/1\.1 (404|400) /, path)
    }
    for (const path of ['/edit', '/delete', '/secret']) {
      const request = rawPost(`/applications/${id}${path}`, { cookie, origin: publicUrl }, { a: 'b' })
      t.match(await exchangeRaw(client, request), /^HTTP\/1\.1 (404|400) /, path)
    }
    t.equal(platform.received().length, before)
  })
}

t.test('PG-23: an id of 100 letters, digits, hyphens and underscores is used unchanged', async t => {
  const id = 'aZ09-_'.padEnd(100, 'x')
  const { browser, platform } = await buildApplicationsClient(t, {
    scripts: { [`GET /apps/v1/${id}`]: { body: { '@id': id } } },
  })
  await signIn(browser)
  t.equal((await browser.get(`/applications/${id}`)).statusCode, 200)
  t.equal(platform.received(`GET /apps/v1/${id}`).length, 1)
})

t.test('PG-23: the client encodes the user id in the address of the request for groups', async t => {
  const { browser, platform } = await buildApplicationsClient(t)
  const visitor = '../../admin?x=1#y/%2f'
  const token = `x.${Buffer.from(JSON.stringify({ sub: visitor })).toString('base64url')}.x`
  platform.answer('POST /api/exchangeToken', (request, response) => {
    const state = request.form.get('state')
    const body = { access_token: token, expires_in: 60, token_type: 'Bearer', state, refresh_token: 'r' }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
  })
  const path = `/identities/v1/${encodeURIComponent(visitor)}/links`
  platform.answer(`GET ${path}`, { status: 404, body: {} })
  await signIn(browser)
  t.equal((await browser.get('/applications/new')).statusCode, 200)
  t.equal(platform.received(`GET ${path}`).length, 1)
})

for (const sub of ['.', '..'])
  t.test(
    `PG-23: if the user id is ${sub}, the client does not put it into an address, and does not ask for groups`,
    async t => {
      const { browser, platform } = await buildApplicationsClient(t)
      platform.answer('POST /api/exchangeToken', giveTokens({ access_token: accessTokenOf(sub) }))
      await signIn(browser)
      t.equal((await browser.get('/applications/new', { site: 'same-origin' })).statusCode, 200)
      t.notOk(platform.received().some(({ url }) => url.includes('MemberOf')))
    },
  )
