// Rules for the pages and forms of every product, tested on each page for applications.

import t, { type Test } from 'tap'
import { around } from '../../../src/client/texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'
import { publicUrl, signIn, TestClock } from '../support/build-test-client.ts'
import { readForm } from '../support/read-form.ts'
import { refreshTarget, setCookieLines } from '../support/read-response.ts'
import { applicationRecord } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

const pages = [
  '/applications',
  '/applications?q=wea&page=1',
  '/applications/new',
  '/applications/app-1',
  '/applications/app-1/edit',
  '/applications/app-1/secret',
  '/applications/app-1/delete',
]

/** Signs a visitor in, and collects valid fields for each form. */
async function start(t: Test) {
  const clock = new TestClock()
  const api = rememberingApi(clock)
  api.records.set('app-1', applicationRecord('app-1'))
  const test = await buildApplicationsClient(t, { clock, scripts: api.scripts })
  const { browser, client } = test
  test.platform.answer('PUT /apps/v1/app-1', { body: applicationRecord('app-1') })
  await signIn(browser)
  const typed = { name: 'Weather', redirectUris: 'https://weather.test/back' }
  const read = async (page: string, action = page) => ({ ...readForm(await browser.get(page), action), ...typed })
  const forms: Record<string, Record<string, string>> = {
    '/applications': await read('/applications/new', '/applications'),
    '/applications/app-1/edit': await read('/applications/app-1/edit'),
    '/applications/app-1/secret': await read('/applications/app-1/secret'),
    '/applications/app-1/delete': await read('/applications/app-1/delete'),
  }
  /** Sends the form with the Strict cookies, as a browser does if the form is on another host of the same site. */
  const send = (url: string, headers: Record<string, string>) =>
    client.inject({
      method: 'POST',
      url,
      payload: new URLSearchParams(forms[url]).toString(),
      headers: { cookie: browser.cookieHeader(), 'content-type': 'application/x-www-form-urlencoded', ...headers },
    })
  return { ...test, api, forms, send }
}

for (const [what, headers] of Object.entries({
  'Sec-Fetch-Site cross-site': { 'sec-fetch-site': 'cross-site', origin: 'https://evil.test' },
  'Sec-Fetch-Site same-site': { 'sec-fetch-site': 'same-site', origin: 'http://localhost:4000' },
  'another origin': { origin: 'https://evil.test' },
  'neither Sec-Fetch-Site nor Origin': {},
})) {
  t.test(`PG-01: a POST with ${what} is refused, and the client does not call the platform`, async t => {
    const { forms, send, platform } = await start(t)
    const calls = platform.received().length
    for (const url of Object.keys(forms)) {
      const page = await send(url, headers as Record<string, string>)
      t.equal(page.statusCode, 403, url)
      t.match(page.body, webTexts.errors.fromAnotherSite, url)
      t.equal(refreshTarget(page), undefined, url)
      t.same(setCookieLines(page), [], url)
    }
    t.equal(platform.received().length, calls)
  })
}

t.test('PG-01: a POST from a page of this site is processed', async t => {
  const { forms, send } = await start(t)
  for (const url of Object.keys(forms)) t.equal((await send(url, { origin: publicUrl })).statusCode, 303, url)
})

t.test('PG-04: no GET or HEAD changes anything, even with the Strict cookies', async t => {
  const { browser, client, platform, forms } = await start(t)
  const before = platform.received().length
  for (const [url, form] of Object.entries(forms))
    for (const method of ['GET', 'HEAD'] as const) {
      const answer = await client.inject({
        method,
        url: `${url}?${new URLSearchParams(form)}`,
        headers: { cookie: browser.cookieHeader(), 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
      })
      t.ok([200, 405].includes(answer.statusCode), `${method} ${url}: ${answer.statusCode}`)
      t.same(setCookieLines(answer), [], `${method} ${url}`)
    }
  await browser.get('/applications/new?name=planted&redirectUris=https://evil.test/')
  t.same(
    platform
      .received()
      .slice(before)
      .filter(({ method }) => method !== 'GET'),
    [],
  )
})

t.test('PG-04: the query of a link cannot fill in a form', async t => {
  const { browser } = await start(t)
  for (const path of ['/applications/new', '/applications/app-1/edit'])
    t.notMatch(
      (await browser.get(`${path}?name=planted&redirectUris=https://evil.test/`)).body,
      /planted|evil\.test/,
      path,
    )
})

t.test(
  'CL-31, PG-04: the client answers a HEAD request with 405, and does not renew a session, return data or set a cookie',
  async t => {
    const { browser, client, platform, clock } = await start(t)
    clock.advance(3601)
    const before = platform.received().length
    for (const url of pages) {
      const head = await client.inject({ method: 'HEAD', url, headers: { cookie: browser.cookieHeader() } })
      t.equal(head.statusCode, 405, url)
      t.match(head.headers.allow, /^GET(, POST)?$/, url)
      t.same(setCookieLines(head), [], url)
    }
    t.equal(platform.received().length, before)
  },
)

t.test(
  'PG-12: if a signed-in visitor follows a link from another site, the client makes the browser request the page a second time, and then shows it',
  async t => {
    const { browser } = await start(t)
    for (const path of pages) {
      const first = await browser.get(path, { site: 'cross-site' })
      t.equal(refreshTarget(first), path)
      t.same(setCookieLines(first), [], path)
      const second = await browser.get(path, { site: 'same-origin' })
      t.equal(second.statusCode, 200, path)
      t.match(second.body, around(webTexts.page.signedInAs)[0], path)
    }
  },
)

t.test(
  'PG-12: if a visitor without a session follows a link from another site, a login begins, and it leads back to the page',
  async t => {
    const { browser } = await start(t)
    browser.cookies.clear()
    for (const path of pages) {
      t.equal(refreshTarget(await browser.get(path, { site: 'cross-site' })), path)
      const second = await browser.get(path, { site: 'same-origin' })
      t.equal(second.statusCode, 302, path)
      t.equal(second.headers.location, `/login?${new URLSearchParams({ returnTo: path })}`)
    }
  },
)

t.test(
  'PG-03, PG-08, PG-09, PG-11: every page has the security headers, and loads nothing that these headers forbid',
  async t => {
    const { browser, platform } = await start(t)
    const loads = /<(?:link|script|img|iframe|object|embed|source)\b[^>]*?\s(?:href|src|srcset|data)="([^"]*)"/g
    for (const path of pages) {
      const { headers, body } = await browser.get(path)
      t.hasStrict(
        headers,
        {
          'x-content-type-options': 'nosniff',
          'x-frame-options': 'DENY',
          'cache-control': 'no-store',
          'referrer-policy': 'same-origin',
          'content-type': 'text/html; charset=utf-8',
        },
        path,
      )
      t.match(headers['content-security-policy'], `form-action 'self' ${platform.url}`, path)
      t.notMatch(body, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|javascript:/i, path)
      for (const [, address] of body.matchAll(loads)) t.match(address, /^\/assets\/\w+\.[0-9a-f]{12}\.(css|js|svg)$/)
      t.notMatch(body, /fastify|undici|node\.js|node_modules|\.ts:\d/i, path)
    }
  },
)
