// Tests that the client refuses malformed and oversized requests early, with a page. No text in a request can make the
// client slow.

import { gzipSync } from 'node:zlib'
import t from 'tap'
import { webTexts } from '../../../src/client/web/texts.ts'
import { exchangeRaw, rawGet } from '../../support/raw-socket.ts'
import { cpuMs, timed } from '../../support/stopwatch.ts'
import { buildTestClient, publicUrl, signIn } from '../support/build-test-client.ts'
import { fastest, oddPatterns, repeatTo, sendOddForms } from '../support/odd-texts.ts'
import { readForm, textOf } from '../support/read-form.ts'
import { smallApi } from '../support/small-product.ts'

const form = 'application/x-www-form-urlencoded'

async function start(t: Parameters<typeof buildTestClient>[0]) {
  const test = await buildTestClient(t, { scripts: smallApi })
  await signIn(test.browser)
  const cookie = test.browser.cookieHeader()
  const post = (payload: string | Buffer, type: string | undefined, more: Record<string, string> = {}) =>
    test.client.inject({
      method: 'POST',
      url: '/note',
      payload,
      headers: { cookie, origin: publicUrl, ...(type && { 'content-type': type }), ...more },
    })
  return { ...test, cookie, post }
}

t.test('DO-01: a form of more than 32 KiB is refused', async t => {
  const { post, platform } = await start(t)
  const calls = platform.received().length
  const page = await post('note='.padEnd(100 * 1024, 'x'), form)
  t.equal(page.statusCode, 413)
  t.match(textOf(page), webTexts.errors.byStatus[413])
  t.equal((await post('note='.padEnd(32 * 1024 + 1, 'x'), form)).statusCode, 413)
  t.equal(platform.received().length, calls)
  t.not((await post('note='.padEnd(32 * 1024, 'x'), form)).statusCode, 413)
})

t.test('DO-01: if a form has no Content-Length, the client stops reading the form at the limit', async t => {
  const { client, cookie } = await start(t)
  const chunk = `1000\r\n${'x'.repeat(0x1000)}\r\n`
  const head =
    `POST /note HTTP/1.1\r\nhost: localhost:3000\r\norigin: ${publicUrl}\r\ncookie: ${cookie}\r\n` +
    `content-type: ${form}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n`
  // The test never sends the last chunk, because the answer must arrive before the end of the form.
  t.match(await exchangeRaw(client, head + chunk.repeat(20)), /^HTTP\/1\.1 413 /)
})

/** All tests with refused requests share one client, because refused requests change nothing. */
const one = await start(t)

for (const type of [
  'application/json',
  'text/plain',
  'multipart/form-data; boundary=x',
  'multipart/form-data; boundary=',
  'application/json\ta',
  ' application/json',
  'application/json garbage',
  'APPLICATION/JSON;charset=utf-8',
  'application/xml',
  'application/octet-stream',
  '*/*',
  'nonsense',
]) {
  const id = type.startsWith('multipart') ? 'DO-08' : 'PG-18'
  t.test(
    `${id}: a POST of type ${JSON.stringify(type)} is refused, and the client does not call the platform`,
    async t => {
      const { post, platform } = one
      const calls = platform.received().length
      for (const payload of [
        '{"note":"x"}',
        'note=x',
        '--x\r\ncontent-disposition: form-data; name="note"\r\n\r\nx\r\n--x--\r\n',
      ])
        t.equal((await post(payload, type)).statusCode, 415)
      t.equal(platform.received().length, calls)
    },
  )
}

t.test('PG-18: the content type of a form may be written in capital letters and have a charset', async t => {
  const { post } = await start(t)
  t.equal((await post('note=x', 'Application/X-WWW-Form-URLEncoded; charset=UTF-8')).statusCode, 409)
})

t.test(
  'DO-04: the client refuses a form in JSON without reading it, and deeply nested JSON from the API does not slow the client down',
  async t => {
    const { post, browser, platform } = await start(t)
    const before = cpuMs()
    t.equal((await post('['.repeat(60_000), 'application/json')).statusCode, 415)
    t.ok(cpuMs() - before < 100, `${cpuMs() - before} ms`)

    const deep = '['.repeat(100_000) + ']'.repeat(100_000)
    platform.answer('GET /things', { body: deep })
    const [{ statusCode }, took] = await timed(browser.get('/page'))
    t.ok([200, 502].includes(statusCode))
    t.ok(took.own < 1, `${took.own} s`)
    platform.answer('GET /things', { body: '['.repeat(250_000) })
    t.equal((await browser.get('/page')).statusCode, 502)
  },
)

t.test('a compressed form is not decompressed', async t => {
  const { post, platform } = await start(t)
  const page = await post(gzipSync('note=x'.padEnd(1_000_000, 'x')), form, { 'content-encoding': 'gzip' })
  t.ok(page.statusCode >= 400 && page.statusCode < 500)
  t.equal(platform.received('POST /things').length, 0)
})

for (const [what, path, status] of [
  ['bad percent-encoding', '/page/%E0%A4%A', 400],
  ['half an escape', '/page/%', 400],
  ['an id of 300 characters', `/page/${'x'.repeat(300)}`, 414],
  ['bad percent-encoding in a query', '/page?q=%E0%A4%A&page=%', 200],
] as const) {
  t.test(
    `DO-12: an address with ${what} gets ${status}, and the client keeps working`,
    { timeout: 10_000 },
    async t => {
      const { client, cookie, log } = one
      const before = log.length
      const answer = await exchangeRaw(client, rawGet(path, { cookie }))
      t.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `))
      t.match(answer, /\r\ncontent-type: text\/(html|plain); charset=utf-8\r\n/i)
      t.match(answer, /\r\nx-content-type-options: nosniff\r\n/i)
      t.match(await exchangeRaw(client, rawGet('/health/live')), /^HTTP\/1\.1 200 /)
      const lines = log.slice(before).map(line => JSON.parse(line))
      const refusals = lines.filter(({ event }) => event === 'bad_request')
      t.equal(refusals.length, status === 400 || status === 414 ? 1 : 0, 'LG-04: logged')
    },
  )
}

for (const [what, request] of [
  ['a Content-Length and chunks', 'content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['two Content-Length headers', 'content-length: 5\r\ncontent-length: 6\r\n\r\na=b&c'],
  ['a transfer coding after the chunks', 'transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n'],
  ['an unknown coding', 'transfer-encoding: xchunked\r\n\r\n0\r\n\r\n'],
  ['a Content-Length that is not a number', 'content-length: 5x\r\n\r\na=b&c'],
  ['a negative Content-Length', 'content-length: -1\r\n\r\n'],
  ['a folded header', 'x-a: b\r\n c\r\n\r\n'],
  ['a space before the colon', 'content-length : 5\r\n\r\na=b&c'],
  ['a NUL in a header', 'x-a: b\0c\r\n\r\n'],
  ['bare line feeds', 'x-a: b\nx-c: d\r\n\r\n'],
] as const) {
  t.test(`DO-11: a request with ${what} is refused`, async t => {
    const { client } = one
    const head = `POST /logout HTTP/1.1\r\nhost: localhost:3000\r\norigin: ${publicUrl}\r\ncontent-type: ${form}\r\n`
    const answer = await exchangeRaw(client, `${head}connection: close\r\n${request}`)
    t.match(answer, /^HTTP\/1\.1 400 /)
    t.equal(answer.match(/HTTP\/1\.1/g)!.length, 1, 'the client must send one answer')
    t.match(answer, '\r\nX-Content-Type-Options: nosniff\r\n')
    t.match(answer, '\r\nContent-Type: text/plain; charset=utf-8\r\n')
  })
}

t.test(
  'DO-11: a request cannot bypass a check by having two Host headers, having no Host header, or naming another host',
  async t => {
    const { client } = await buildTestClient(t)
    const without = await exchangeRaw(client, 'GET / HTTP/1.1\r\nconnection: close\r\n\r\n')
    t.match(without, /^HTTP\/1\.1 400 /)
    t.match(without, '\r\nx-content-type-options: nosniff\r\n', 'PG-09: the answer must have the security headers')
    const two = await exchangeRaw(client, rawGet('/login', { Host: 'evil.test' }))
    const absolute = await exchangeRaw(client, rawGet('http://evil.test/login'))
    for (const answer of [two, absolute]) t.notMatch(answer, 'evil.test')
  },
)

t.test(
  'DO-03: the client answers 431 to more than 16 KiB of headers, and refuses a request with more than two thousand headers',
  async t => {
    const { client } = await buildTestClient(t)
    t.match(await exchangeRaw(client, rawGet(`/?${'x'.repeat(17 * 1024)}`)), /^HTTP\/1\.1 431 /)
    t.match(await exchangeRaw(client, rawGet('/', { 'x-a': 'x'.repeat(17 * 1024) })), /^HTTP\/1\.1 431 /)
    const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`x-${index}`, 'y']))
    t.match(await exchangeRaw(client, rawGet('/', many)), /^HTTP\/1\.1 (431|400) /)
  },
)

t.test(
  'DO-13: if a browser has too many cookies for this host, the visitor gets an error page with status 431 that says what to do',
  async t => {
    const { client, cookie } = await start(t)
    const planted = Array.from({ length: 5 }, (_, index) => `planted-${index}=${'x'.repeat(4_000)}`).join('; ')
    const answer = await exchangeRaw(client, rawGet('/page', { cookie: `${cookie}; ${planted}` }))
    t.match(answer, /^HTTP\/1\.1 431 /)
    t.match(answer, webTexts.errors.byStatus[431])
    const less = `${cookie}; planted=${'x'.repeat(4_000)}`
    t.match(await exchangeRaw(client, rawGet('/page', { cookie: less })), /^HTTP\/1\.1 200 /)
  },
)

t.test(
  'DO-05: the client answers a form within 100 ms, even if a field contains 30 KB of text, whatever the text is',
  async t => {
    const { browser, client } = await buildTestClient(t, { scripts: smallApi })
    await signIn(browser)
    const form = readForm(await browser.get('/note'), '/note')
    t.same(Object.keys(form), ['formToken', 'note'])
    await sendOddForms(t, { browser, client }, '/note', form)
  },
)

t.test(
  'DO-05: the client answers a request within 100 ms, even if its address, a cookie or a header contains 10 KB of text, whatever the text is',
  async t => {
    const { client } = await buildTestClient(t)
    for (const pattern of oddPatterns) {
      const long = repeatTo(10_000, pattern)
      const query = encodeURIComponent(long).slice(0, 10_000)
      for (const [where, request] of Object.entries({
        'a search': { url: `/page?q=${query}` },
        'a returnTo': { url: `/login?returnTo=${query}` },
        'a callback': { url: `/exchangeToken?state=${query}&code=${query}` },
        'a cookie': { url: '/page', headers: { cookie: `__Host-session=${encodeURIComponent(long)}` } },
        'many cookies': { url: '/page', headers: { cookie: `${encodeURIComponent(pattern)}=; `.repeat(1_000) } },
        'a request id': { url: '/', headers: { 'x-request-id': encodeURIComponent(long) } },
      })) {
        const { ms, statusCode } = await fastest(() => client.inject(request))
        if (ms >= 100 || statusCode >= 500) t.fail(`${where} of ${JSON.stringify(pattern)}: ${statusCode}, ${ms} ms`)
      }
    }
    t.pass(`${oddPatterns.length * 6} requests`)
  },
)

t.test('DO-05: the client shows 25 KB of text from the API within 100 ms, whatever the text is', async t => {
  const { browser, platform } = await buildTestClient(t)
  await signIn(browser)
  for (const pattern of oddPatterns) {
    platform.answer('GET /things', { body: [repeatTo(25_000, pattern)] })
    const { ms, statusCode } = await fastest(() => browser.get('/page'))
    if (ms >= 100 || statusCode !== 200) t.fail(`${JSON.stringify(pattern)}: ${statusCode}, ${ms} ms`)
  }
  t.pass(`${oddPatterns.length} pages`)
})
