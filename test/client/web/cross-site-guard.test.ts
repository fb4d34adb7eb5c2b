// If a page on another site makes the browser send a request to this site, the request changes nothing.

import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { webTexts } from '../../../src/client/web/texts.ts'
import { buildTestClient, publicUrl, signIn } from '../support/build-test-client.ts'
import { readForm } from '../support/read-form.ts'
import { setCookieLines } from '../support/read-response.ts'
import { smallApi } from '../support/small-product.ts'

type Headers = Record<string, string>

/** Signs a visitor in, and collects a valid form for each POST route of the client. */
async function start(t: Test, settings: Parameters<typeof buildTestClient>[1] = {}) {
  const test = await buildTestClient(t, { scripts: smallApi, ...settings })
  const { browser, client } = test
  await signIn(browser)
  const forms: Record<string, Record<string, string>> = {
    '/note': { ...readForm(await browser.get('/note'), '/note'), note: 'typed' },
    '/logout': {},
  }
  /** Sends a form with the Strict cookies, as a browser does if the form is on another host of the same site. */
  const send = (url: string, headers: Headers) =>
    client.inject({
      method: 'POST',
      url,
      payload: new URLSearchParams(forms[url]).toString(),
      headers: {
        cookie: browser.cookieHeader(),
        'content-type': 'application/x-www-form-urlencoded',
        host: 'localhost:3000',
        ...headers,
      },
    })
  return { ...test, forms, send }
}

const refused: Record<string, Headers> = {
  'Sec-Fetch-Site cross-site': { 'sec-fetch-site': 'cross-site', origin: 'https://evil.test' },
  'Sec-Fetch-Site same-site': { 'sec-fetch-site': 'same-site', origin: 'http://localhost:4000' },
  'Sec-Fetch-Site cross-site and the right Origin': { 'sec-fetch-site': 'cross-site', origin: publicUrl },
  'an unknown Sec-Fetch-Site': { 'sec-fetch-site': 'same-planet', origin: publicUrl },
  'Origin null': { origin: 'null' },
  'another origin': { origin: 'https://evil.test' },
  'the right host and another port': { origin: 'http://localhost:4000' },
  'the right host and another scheme': { origin: 'https://localhost:3000' },
  'an Origin that begins with the right origin': { origin: `${publicUrl}.evil.test` },
  'an empty Origin': { origin: '' },
  'neither Sec-Fetch-Site nor Origin': {},
  'only a Referer of this site': { referer: `${publicUrl}/note` },
  'a foreign Origin and the same Host': { host: 'evil.test', origin: 'http://evil.test' },
  'a foreign Origin and the same X-Forwarded-Host': { 'x-forwarded-host': 'evil.test', origin: 'http://evil.test' },
}

const one = await start(t)

for (const [what, headers] of Object.entries(refused)) {
  const id = 'host' in headers || 'x-forwarded-host' in headers ? 'PG-02' : 'PG-01'
  t.test(`${id}: a POST with ${what} is refused, and the client does not call the platform`, async t => {
    const { forms, send, platform } = one
    const calls = platform.received().length
    for (const url of Object.keys(forms)) {
      const page = await send(url, headers)
      t.equal(page.statusCode, 403, url)
      t.match(page.body, webTexts.errors.fromAnotherSite, url)
      t.same(setCookieLines(page), [], url)
    }
    t.equal(platform.received().length, calls)
  })
}

for (const [what, headers] of Object.entries({
  'Sec-Fetch-Site same-origin': { 'sec-fetch-site': 'same-origin', origin: publicUrl },
  'Sec-Fetch-Site same-origin and Origin null': { 'sec-fetch-site': 'same-origin', origin: 'null' },
  'Sec-Fetch-Site none': { 'sec-fetch-site': 'none' },
  'no Sec-Fetch-Site and the right Origin': { origin: publicUrl },
})) {
  t.test(`PG-01: a POST with ${what} is accepted`, async t => {
    const { forms, send } = await start(t)
    for (const url of Object.keys(forms)) t.equal((await send(url, headers as Headers)).statusCode, 303, url)
  })
}

t.test('PG-02: no header of a request changes the addresses in the client’s pages and redirects', async t => {
  const { browser, platform } = await start(t)
  const headers = {
    host: 'evil.test',
    'x-forwarded-host': 'evil.test',
    'x-forwarded-proto': 'gopher',
    'x-forwarded-for': '6.6.6.6',
    'x-forwarded-uri': '//evil.test/',
    'x-original-url': '//evil.test/',
    'x-rewrite-url': '//evil.test/',
    forwarded: 'host=evil.test;proto=gopher',
    referer: 'http://evil.test/',
  }
  for (const path of ['/', '/login', '/page', '/page/1', '/note', '/cancelled', '/nowhere']) {
    const page = await browser.get(path, { headers })
    t.notMatch(`${JSON.stringify(page.headers)}${page.body}`, /evil\.test|gopher|6\.6\.6\.6/, path)
  }
  const login = await browser.get('/login', { headers })
  t.equal(new URL(String(login.headers.location)).searchParams.get('redirect_uri'), `${publicUrl}/exchangeToken`)
  t.notMatch(JSON.stringify(platform.received()), /evil\.test|6\.6\.6\.6/)
})

t.test('PG-04: no GET or HEAD request changes anything, even with the Strict cookies', async t => {
  const { browser, client, platform, forms } = await start(t)
  const before = platform.received().length
  for (const url of Object.keys(forms)) {
    for (const method of ['GET', 'HEAD'] as const) {
      const answer = await client.inject({
        method,
        url: `${url}?${new URLSearchParams(forms[url])}`,
        headers: { cookie: browser.cookieHeader(), 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
      })
      t.ok([200, 404, 405].includes(answer.statusCode), `${method} ${url}: ${answer.statusCode}`)
      t.same(setCookieLines(answer), [], `${method} ${url}`)
    }
  }
  await browser.get('/note?note=planted')
  t.same(
    platform
      .received()
      .slice(before)
      .filter(({ method }) => method !== 'GET'),
    [],
  )
  const logout = await browser.get('/logout')
  t.equal(logout.statusCode, 405)
  t.equal(logout.headers.allow, 'POST')
  t.equal((await browser.get('/page')).statusCode, 200, 'the visitor must still be signed in')
})

t.test('PG-04: the query of a link cannot fill in a form', async t => {
  const { browser } = await start(t)
  t.notMatch((await browser.get('/note?note=planted')).body, 'planted')
})

t.test('PG-19: no answer allows another origin to read it, and preflight requests are refused', async t => {
  const { browser, client } = await start(t)
  for (const url of ['/', '/login', '/exchangeToken', '/page', '/note', '/logout', '/health/ready', '/nowhere']) {
    for (const method of ['OPTIONS', 'GET', 'POST'] as const) {
      const { headers, statusCode } = await client.inject({
        method,
        url,
        headers: {
          cookie: browser.cookieHeader(),
          origin: 'https://evil.test',
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type',
        },
      })
      t.same(
        Object.keys(headers).filter(name => name.startsWith('access-control-')),
        [],
        `${method} ${url}`,
      )
      if (method === 'OPTIONS') t.ok(statusCode >= 400, `${method} ${url}`)
    }
  }
})

t.test('CT-07: forwarded headers do not change the address, host or scheme of a request', async t => {
  const seen: unknown[] = []
  const observeRequests = (client: FastifyInstance) =>
    client.addHook('onRequest', async ({ ip, ips, host, protocol }) => void seen.push({ ip, ips, host, protocol }))
  const { browser, log } = await start(t, { observeRequests })
  const ask = async (headers: Record<string, string>) => {
    const page = await browser.get('/page', { headers: { host: 'localhost:3000', ...headers } })
    const { date, ...rest } = page.headers
    t.ok(date)
    return { status: page.statusCode, headers: rest, body: page.body.replaceAll(/[\w-]{80,}/g, 'sealed') }
  }
  const plain = await ask({})
  const spoofed = await ask({
    'x-forwarded-for': '203.0.113.77',
    'x-forwarded-host': 'evil.test',
    'x-forwarded-proto': 'https',
    forwarded: 'for=203.0.113.77;host=evil.test;proto=https',
    'x-real-ip': '203.0.113.77',
  })
  t.same(spoofed, plain, 'both pages must be the same')
  t.same(seen.at(-1), { ip: '127.0.0.1', ips: undefined, host: 'localhost:3000', protocol: 'http' })
  t.same(seen.at(-1), seen.at(-2))
  t.notMatch(log.join(''), /203\.0\.113\.77|evil\.test/)
})
