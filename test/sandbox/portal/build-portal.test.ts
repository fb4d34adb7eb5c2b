import t from 'tap'
import { openBrowser, startUrl } from '../support/browser.ts'
import { buildTestSandbox } from '../support/build-test-sandbox.ts'

const urls = [
  startUrl(),
  '/no-such-page',
  '/api/me',
  '/api/exchangeToken',
  '/.well-known/oauth-authorization-server',
  '/health/live',
]

t.test('PG-10: a portal with https says in every answer to come back by https only, for its own host', async t => {
  const browser = openBrowser(await buildTestSandbox(t, { portalUrl: 'https://login.example.test' }))
  for (const url of urls)
    t.equal((await browser.get(url)).headers['strict-transport-security'], 'max-age=31536000', url)
})

t.test('PG-10: a portal on a loopback address without TLS does not', async t => {
  const browser = openBrowser(await buildTestSandbox(t))
  for (const url of urls) t.equal((await browser.get(url)).headers['strict-transport-security'], undefined, url)
})
