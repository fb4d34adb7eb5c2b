// The headers of an answer must not name the server program. If the portal uses https, its headers must tell browsers
// to use only https.
import t from 'tap'
import { exchangeRaw, rawRequest } from '../../support/raw-socket.ts'
import { openBrowser, startUrl } from '../support/browser.ts'
import { buildTestSandbox } from '../support/build-test-sandbox.ts'
import { openAsDeveloper } from '../support/forms.ts'

const docs = '/apps/v1/docs'

t.test('CT-06: no answer names the server program or its version', async t => {
  const { portal, api } = await buildTestSandbox(t)
  const portalUrls = [startUrl(), '/account', '/terms', '/nowhere', '/%', '/api/me', '/.well-known/jwks.json']
  const apiUrls = ['/', '/apps/v1', '/nowhere', '/%', '/apps/v1/openapi.json', '/apps/v1/api.raml', docs]
  for (const [listener, urls] of [
    [portal, portalUrls],
    [api, [...apiUrls, `${docs}/nothing`]],
  ] as const)
    for (const url of [...urls, '/health/live', '/health/ready']) {
      const { headers } = await listener.inject(url)
      t.ok(headers['content-type'], url)
      for (const name of ['server', 'x-powered-by', 'via']) t.notOk(name in headers, `${url}: ${name}`)
    }
  for (const listener of [portal, api]) {
    const refused = await exchangeRaw(listener, rawRequest(['FOO / HTTP/1.1', 'Host: 127.0.0.1']))
    t.match(refused, /^HTTP\/1\.1 501 /)
    t.notMatch(refused, /\r\n(server|x-powered-by|via):/i)
  }
})

t.test('CT-09: no source map is served, and no script or stylesheet refers to a source map', async t => {
  const sandbox = await buildTestSandbox(t)
  const account = await (await openAsDeveloper(sandbox)).get('/account')
  // Each page names the icon twice: for the tab, and next to the name of the site.
  const assetsOf = (body: string) => [...new Set(body.match(/\/assets\/[\w.-]+/g))]
  const own = assetsOf(account.body)
  t.equal(own.length, 5, 'an icon, a stylesheet and three scripts')
  const calls = assetsOf((await sandbox.api.inject(docs)).body)
  t.equal(calls.length, 4, 'an icon, two stylesheets and one script')
  for (const [listener, urls] of [
    [sandbox.portal, own],
    [sandbox.api, calls],
  ] as const)
    for (const url of urls) {
      const asset = await listener.inject(url)
      t.equal(asset.statusCode, 200, url)
      t.notMatch(asset.body, 'sourceMappingURL')
      t.equal((await listener.inject(`${url}.map`)).statusCode, 404)
    }
})

const urls = [
  startUrl(),
  '/no-such-page',
  '/api/me',
  '/api/exchangeToken',
  '/.well-known/oauth-authorization-server',
  '/health/live',
]

t.test(
  'PG-10: a portal with https sends Strict-Transport-Security in every answer, without includeSubDomains',
  async t => {
    const browser = openBrowser(await buildTestSandbox(t, { portalUrl: 'https://login.example.test' }))
    for (const url of urls)
      t.equal((await browser.get(url)).headers['strict-transport-security'], 'max-age=31536000', url)
  },
)

t.test('PG-10: a portal on a loopback address without TLS does not send Strict-Transport-Security', async t => {
  const browser = openBrowser(await buildTestSandbox(t))
  for (const url of urls) t.equal((await browser.get(url)).headers['strict-transport-security'], undefined, url)
})
