// The client checks the certificates of the portal and the API. A bad certificate leads to a page and a log line.

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import t, { type Test } from 'tap'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { liveBytes } from '../support/live-bytes.ts'
import { makeCertificate } from '../support/make-certificate.ts'
import { textOf } from '../support/read-form.ts'
import { spawnClient } from '../support/spawn-client.ts'

/** Starts a server that simulates the API, and also serves the metadata of a portal that supports PKCE. */
async function startTls(t: Test, { cert, key }: { cert: string; key: string }) {
  const received: string[] = []
  const server = createServer({ cert, key }, (request, response) => {
    received.push(`${request.method} ${request.url}`)
    const metadata = { issuer: url, code_challenge_methods_supported: ['S256'] }
    const answer = request.url === '/things' ? ['one'] : metadata
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
  })
  server.on('tlsClientError', () => {}).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, received }
}

const here = '127.0.0.1'
const day = 24 * 60 * 60 * 1000
const past = { notBefore: new Date(Date.now() - 2 * day), notAfter: new Date(Date.now() - day) }
const future = { notBefore: new Date(Date.now() + day), notAfter: new Date(Date.now() + 2 * day) }
const good = await makeCertificate(here)
const unknown = await makeCertificate(here)
/** Bad certificates, keyed by what is wrong with them. Each has the error code that OpenSSL must report. */
const bad = {
  'of another host': [await makeCertificate('127.0.0.2'), 'ERR_TLS_CERT_ALTNAME_INVALID'],
  'that has expired': [await makeCertificate(here, past), 'CERT_HAS_EXPIRED'],
  'that is not valid yet': [await makeCertificate(here, future), 'CERT_NOT_YET_VALID'],
  'that an unknown authority has issued': [unknown, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
} as const
const trusted = [good, ...Object.values(bad).map(([certificate]) => certificate)].filter(one => one !== unknown)
setDefaultCACertificates([...getCACertificates('default'), ...trusted.map(({ cert }) => cert)])

for (const [what, [certificate, code]] of Object.entries(bad)) {
  t.test(
    `UP-09, F-05: if the portal has a certificate ${what}, the visitor gets a page, and the portal gets no request`,
    async t => {
      const portal = await startTls(t, certificate)
      const { browser, log } = await buildTestClient(t, { environment: { LOGIN_URL: portal.url } })
      const page = await signIn(browser)
      t.equal(page.statusCode, 502)
      t.match(textOf(page), upstreamTexts.portal.certificate)
      t.notMatch(page.body, /certificate|CERT_|127\.0\.0\.1/i)
      t.equal(browser.cookie('__Host-session'), undefined)
      t.same(portal.received, [])
      const fault = log.map(line => JSON.parse(line)).find(({ event }) => event === 'portal_certificate')
      t.equal(fault?.cause?.code, code, 'LG-04: the log must name the problem with the certificate')
    },
  )

  t.test(`UP-09, F-05: if the API has a certificate ${what}, the client does not send the access token`, async t => {
    const api = await startTls(t, certificate)
    const { browser, log } = await buildTestClient(t, { environment: { API_URL: api.url } })
    await signIn(browser)
    t.equal((await browser.get('/page')).statusCode, 502)
    t.same(api.received, [])
    t.match(log.join(''), `"event":"api_certificate"`)
    t.ok(browser.cookie('__Host-session'))
  })
}

t.test('UP-09: a certificate that a trusted authority has issued is accepted', async t => {
  const api = await startTls(t, good)
  const { browser } = await buildTestClient(t, { environment: { API_URL: api.url } })
  await signIn(browser)
  t.equal((await browser.get('/page')).statusCode, 200)
})

t.test('F-05: after a thousand bad certificates, the client uses hardly more memory than before', async t => {
  const api = await startTls(t, await makeCertificate(here))
  const { browser } = await buildTestClient(t, { environment: { API_URL: api.url, LOG_LEVEL: 'silent' } })
  await signIn(browser)
  const ask = async (times: number) => {
    for (let count = 0; count < times; count += 10)
      await Promise.all(Array.from({ length: 10 }, () => browser.get('/page')))
  }
  await ask(100)
  const before = liveBytes()
  await ask(1_000)
  const grownMb = (liveBytes() - before) / 2 ** 20
  t.ok(grownMb < 20, `${grownMb} MB`)
  t.equal((await browser.get('/health/live')).statusCode, 200)
})

t.test('UP-09: the client trusts a private certificate authority only if NODE_EXTRA_CA_CERTS names it', async t => {
  const portal = await startTls(t, good)
  const file = join(t.testdir({}), 'ca.pem')
  writeFileSync(file, good.cert)
  const environment = { LOGIN_URL: portal.url, COOKIE_KEYS: randomBytes(32).toString('base64url') }

  const without = await spawnClient(t, environment)
  const plain = await without.get('/login')
  t.match(plain.headers.location, `${portal.url}/?`)
  t.notMatch(plain.headers.location, 'code_challenge')
  t.same(portal.received, [])

  const trusting = await spawnClient(t, { ...environment, NODE_EXTRA_CA_CERTS: file })
  const known = await trusting.get('/login')
  t.match(known.headers.location, 'code_challenge=')
  t.same(portal.received, ['GET /.well-known/oauth-authorization-server'])
})
