// Tests the headers of every answer.
import { randomBytes } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { exchangeRaw, rawGet } from '../../support/raw-socket.ts'
import { beginLogin, buildTestClient, callbackUrl } from '../support/build-test-client.ts'
import { readForm } from '../support/read-form.ts'
import { smallApi } from '../support/small-product.ts'

/** Returns one answer of every kind. The key of each answer describes it. */
async function everyAnswer(t: Test, environment: Record<string, string> = {}) {
  const test = await buildTestClient(t, { scripts: smallApi, environment })
  const { browser, client, platform } = test
  platform.answer('GET /things/2', { status: 404, body: {} })
  platform.answer('GET /things/3', { status: 500, body: '' })
  const answers: Record<string, LightMyRequestResponse> = {}
  const post = (url: string, payload: string, type = 'application/x-www-form-urlencoded') =>
    client.inject({ method: 'POST', url, payload, headers: { origin: test.config.publicUrl, 'content-type': type } })

  answers['the start page'] = await browser.get('/')
  answers['a signed-in page without a session'] = await browser.get('/page')
  answers['the page for a link from another site'] = await browser.get('/page', { site: 'cross-site' })
  const started = await beginLogin(browser)
  answers['a refused callback'] = await browser.get('/exchangeToken?state=x')
  answers['a callback'] = await browser.get(callbackUrl(started), { site: 'cross-site' })
  answers['a declined login'] = await browser.get('/cancelled')
  answers['a signed-in page'] = await browser.get('/page')
  answers['the form'] = await browser.get('/note')
  answers['a thing'] = await browser.get('/page/1')
  answers['a thing that does not exist'] = await browser.get('/page/2')
  answers['a thing from a broken API'] = await browser.get('/page/3')
  answers['a page that does not exist'] = await browser.get('/nowhere')
  answers['a method that the path does not accept'] = await browser.post('/login')
  answers['a form from another site'] = await browser.post('/note', {}, { site: 'cross-site' })
  answers['a form with another content type'] = await post('/note', '{}', 'application/json')
  answers['a form that is too large'] = await post('/note', 'a='.padEnd(100_000, 'x'))
  answers['an address that cannot be decoded'] = await client.inject('/page/%E0%A4%A')
  answers['an address that is too long'] = await client.inject(`/page/${'x'.repeat(300)}`)
  platform.answer('POST /things', { status: 503, body: {} })
  answers['a refused form'] = await browser.post('/note', readForm(answers['the form'], '/note'))
  answers['a form without a session'] = await post('/note', 'note=x')
  answers['the health'] = await client.inject('/health/live')
  answers['the readiness'] = await client.inject('/health/ready')
  answers['signing out'] = await browser.post('/logout')
  const style = /href="(\/assets\/style[^"]*)"/.exec(answers['the start page'].body)![1]!
  answers['the stylesheet'] = await client.inject(style)
  return { ...test, answers }
}

const isHtml = ({ headers }: LightMyRequestResponse) => String(headers['content-type']).startsWith('text/html')

const { answers, client, platform } = await everyAnswer(t)

t.test('PG-09: every answer has the security headers and a content type', async t => {
  for (const [what, { headers, body }] of Object.entries(answers)) {
    t.hasStrict(
      headers,
      {
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
      },
      what,
    )
    t.match(headers['permissions-policy'], /^camera=\(\), geolocation=\(\)/, what)
    if (body) t.match(headers['content-type'], /; charset=utf-8$/, what)
  }
})

t.test(
  'PG-08: the Content-Security-Policy of every page allows scripts only from the client, and forms only to the client and the portal',
  async t => {
    for (const [what, answer] of Object.entries(answers).filter(([, answer]) => isHtml(answer))) {
      const policy = String(answer.headers['content-security-policy'])
      const directives = Object.fromEntries(policy.split('; ').map(one => [one.split(' ')[0], one.split(' ').slice(1)]))
      t.same(directives['default-src'], ["'none'"], what)
      t.same(directives['frame-ancestors'], ["'none'"], what)
      t.same(directives['base-uri'], ["'none'"], what)
      t.notMatch(policy, /unsafe|data:|blob:|\*/, what)
      const goesOn = what === 'a callback' || what === 'the page for a link from another site'
      t.same(directives['form-action'], goesOn ? ["'none'"] : ["'self'", platform.url], what)
      if (goesOn) continue
      for (const kind of ['script-src', 'style-src', 'img-src'])
        t.same(directives[kind], ["'self'"], `${what}: ${kind}`)
      t.same(directives['object-src'], ["'none'"], what)
    }
  },
)

t.test(
  'PG-08: no page contains inline scripts, style attributes or event handlers, because its policy forbids them',
  async t => {
    for (const [what, { body }] of Object.entries(answers).filter(([, answer]) => isHtml(answer))) {
      t.notMatch(body, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|javascript:/i, what)
    }
  },
)

t.test('for visitors who prefer dark pages, every page is dark even before its style sheet has loaded', async t => {
  for (const [what, { body }] of Object.entries(answers).filter(([, answer]) => isHtml(answer)))
    t.match(body, '<meta name="color-scheme" content="light dark">', what)
})

t.test(
  'PG-03: the Referrer-Policy of a page is same-origin, or no-referrer if the page opens the next page automatically',
  async t => {
    for (const [what, { headers, body }] of Object.entries(answers)) {
      const goesOn = /http-equiv="refresh"/.test(body)
      t.equal(headers['referrer-policy'], goesOn ? 'no-referrer' : 'same-origin', what)
      if (goesOn) t.notMatch(body, '<form', what)
    }
  },
)

t.test('PG-11: only assets may be cached', async t => {
  const { 'the stylesheet': style, ...others } = answers
  for (const [what, { headers }] of Object.entries(others)) t.equal(headers['cache-control'], 'no-store', what)
  t.match(style!.headers['cache-control'], 'immutable')
})

t.test(
  'PG-10: if the public address is https, Strict-Transport-Security requires https for this host only, for a year',
  async t => {
    const { answers } = await everyAnswer(t, { PUBLIC_URL: 'https://client.test' })
    for (const [what, { headers }] of Object.entries(answers))
      t.equal(headers['strict-transport-security'], 'max-age=31536000', what)
  },
)

t.test('PG-10: if the public address is http, answers have no Strict-Transport-Security', async t => {
  for (const [what, { headers }] of Object.entries(answers))
    t.equal(headers['strict-transport-security'], undefined, what)
})

t.test('CT-06: no answer names the software of the server', async t => {
  for (const [what, { headers, body }] of Object.entries(answers)) {
    t.equal(headers['x-powered-by'], undefined, what)
    t.equal(headers.server, undefined, what)
    t.notMatch(body, /fastify|undici|node\.js/i, what)
  }
})

t.test('CT-09: no source map is served, and no page contains a path of the code', async t => {
  const assets = answers['the start page']!.body.matchAll(/(?:href|src)="(\/assets\/[^"]*)"/g)
  for (const [, path] of assets) t.equal((await client.inject(`${path}.map`)).statusCode, 404, `${path}.map`)
  for (const path of [
    '/app.js.map',
    '/src/client/app.ts',
    '/package.json',
    '/.env',
    '/.git/config',
    '/views/client/home.eta',
  ])
    t.equal((await client.inject(path)).statusCode, 404, path)
  for (const [what, { body }] of Object.entries(answers))
    t.notMatch(body, /sourceMappingURL|node_modules|\.ts:\d/, what)
})

const canary = randomBytes(8).toString('hex')
for (const [what, status, request] of [
  ['that is not HTTP', 400, `${canary}\r\n\r\n`],
  ['with an invalid header', 400, `GET / HTTP/1.1\r\nhost : ${canary}\r\n\r\n`],
  ['with an address of 17 KB', 431, rawGet(`/?${canary}${'x'.repeat(17_000)}`)],
  ['with cookies of 17 KB', 431, rawGet('/', { cookie: `${canary}=${'x'.repeat(17_000)}` })],
] as const) {
  t.test(`PG-09: a request ${what} gets ${status}, and the answer does not contain text from the request`, async t => {
    const answer = await exchangeRaw(client, request)
    t.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `))
    t.match(answer, /\r\nx-content-type-options: nosniff\r\n/i)
    t.match(answer, /\r\ncontent-type: text\/plain; charset=utf-8\r\n/i)
    t.notMatch(answer, canary)
    t.notMatch(answer, /fastify|node/i)
  })
}

t.test('PG-09: the answer to a request with an unknown Expect has the security headers', async t => {
  const answer = await exchangeRaw(client, rawGet('/', { expect: 'something' }))
  t.match(answer, /^HTTP\/1\.1 200 /)
  t.match(answer, /\r\nx-content-type-options: nosniff\r\n/i)
  t.match(answer, /\r\ncontent-security-policy: /i)
})

t.test('PG-22: pages load only our own assets, whose names contain a hash of their content', async t => {
  const pages = Object.values(answers).filter(isHtml)
  const loads = /<(?:link|script|img|iframe|object|embed|source)\b[^>]*?\s(?:href|src|srcset|data)="([^"]*)"/g
  const loaded = new Set(pages.flatMap(({ body }) => [...body.matchAll(loads)].map(([, address]) => address!)))
  t.equal(loaded.size, 3)
  for (const address of loaded) {
    t.match(address, /^\/assets\/\w+\.[0-9a-f]{12}\.(css|js|svg)$/)
    const asset = await client.inject(address)
    t.equal(asset.statusCode, 200, address)
    t.notMatch(asset.body, /@import|url\(["']?(?:https?:)?\/\/|import\(/, address)
  }
})
