// Tests all ways in which an answer can be broken, at the token exchange and on a page that calls the API.

import type { Socket } from 'node:net'
import { deflateSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { around } from '../../../src/client/texts.ts'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'
import { timed } from '../../support/stopwatch.ts'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { nowhere } from '../support/nowhere.ts'
import { type RawScript, rawAnswer, startRawUpstream } from '../support/raw-upstream.ts'
import { textOf } from '../support/read-form.ts'
import { setCookieLine } from '../support/read-response.ts'
import { type Received, tokenAnswer } from '../support/scripted-platform.ts'

/** Sends a broken answer instead of the good answer. `body` is the body of the good answer. */
type Fault = (socket: Socket, body: string) => unknown

const cutOff = (bytes: string | Buffer) => (socket: Socket) => socket.write(bytes, () => socket.resetAndDestroy())
const answer =
  (make: (body: string) => Buffer): Fault =>
  (socket, body) =>
    socket.write(make(body))
const answerAndClose =
  (make: (body: string) => Buffer | string): Fault =>
  (socket, body) =>
    socket.end(make(body))
const chunked = { headers: { 'content-length': undefined, 'transfer-encoding': 'chunked' } }
const encoded = (encoding: string) => ({ headers: { 'content-encoding': encoding } })

const unreachable: Record<string, Fault> = {
  'F-08: a connection closed before the answer': socket => socket.destroy(),
  'F-08: a connection reset before the answer': socket => socket.resetAndDestroy(),
  'F-08: a connection reset in the middle of the headers': cutOff('HTTP/1.1 200 OK\r\ncontent-ty'),
  'F-09: a connection reset in the middle of the body': cutOff(
    'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"access_token":"abc","things":[',
  ),
  'F-09: a body shorter than its length': answerAndClose(body =>
    rawAnswer(body, { headers: { 'content-length': String(body.length + 10) } }),
  ),
  'F-09: chunks without the last chunk': answerAndClose(body =>
    rawAnswer(`${body.length.toString(16)}\r\n${body}\r\n`, chunked),
  ),
  'F-13: something that is not HTTP': answerAndClose(() => 'hello\r\n\r\n'),
  'F-13: an answer in another protocol': answerAndClose(() => Buffer.from([0x15, 3, 1, 0, 2, 2, 0x50])),
  'F-13: a chunk whose length is not a number': answer(body => rawAnswer(`zz\r\n${body}\r\n0\r\n\r\n`, chunked)),
  'F-13: two Content-Length headers': answer(body => rawAnswer(body, { headers: { 'Content-Length': '3' } })),
  'F-13: a negative Content-Length': answer(body => rawAnswer(body, { headers: { 'content-length': '-1' } })),
  'UP-05, F-13: headers of 20 KB': answer(body => rawAnswer(body, { headers: { 'x-long': 'x'.repeat(20_000) } })),
}

const unusable: Record<string, Fault> = {
  'F-10: an incomplete body without a Content-Length, with status 200': answerAndClose(body =>
    rawAnswer(body.slice(0, -2), { headers: { 'content-length': undefined, connection: 'close' } }),
  ),
  'UP-06, F-11: an HTML page': answer(() =>
    rawAnswer('<html>Sign in to the Wi-Fi</html>', { headers: { 'content-type': 'text/html' } }),
  ),
  'UP-06: an HTML page with the content type of JSON': answer(() => rawAnswer('<html></html>')),
  'UP-06: JSON with the content type of text': answer(body =>
    rawAnswer(body, { headers: { 'content-type': 'text/plain' } }),
  ),
  'UP-06: JSON without a content type': answer(body => rawAnswer(body, { headers: { 'content-type': undefined } })),
  'UP-06: an empty body': answer(() => rawAnswer('')),
  'UP-06: status 204': answer(() => rawAnswer('', { status: '204 No Content' })),
  'UP-06: status 202': answer(body => rawAnswer(body, { status: '202 Accepted' })),
  'UP-06: null': answer(() => rawAnswer('null')),
  'UP-06: a list instead of an object, or an object instead of a list': answer(body =>
    rawAnswer(body.startsWith('[') ? '{}' : '[]'),
  ),
  'UP-06: a string': answer(() => rawAnswer('"text"')),
  'UP-06: JSON after a byte order mark': answer(body => rawAnswer(`\ufeff${body}`)),
  'UP-06: JSON with another character at its end': answer(body => rawAnswer(`${body}x`)),
  'F-12: a body that is compressed with gzip': answer(body => rawAnswer(gzipSync(body), encoded('gzip'))),
  'F-12: a body with the content encoding gzip that is not compressed': answer(body =>
    rawAnswer(body, encoded('gzip')),
  ),
  'F-12: a body that is compressed with deflate': answer(body => rawAnswer(deflateSync(body), encoded('deflate'))),
  'UP-04: a body that claims to be compressed a thousand times': answer(body =>
    rawAnswer(body, encoded('gzip,'.repeat(1_000))),
  ),
  'F-13: status 204 with a body': answer(body => rawAnswer(body, { status: '204 No Content' })),
}

const harmless: Record<string, Fault> = {
  'F-13: early hints before the answer': answer(body =>
    Buffer.concat([Buffer.from('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'), rawAnswer(body)]),
  ),
  'F-13: more bytes after the body': answer(body => Buffer.concat([rawAnswer(body), Buffer.from('HTTP/1.1 200 O')])),
  'F-13: an answer in HTTP/1.0': answerAndClose(body =>
    rawAnswer(body, { headers: { 'content-length': undefined } })
      .toString()
      .replace('HTTP/1.1', 'HTTP/1.0'),
  ),
  'F-13: an answer that arrives byte by byte': (socket, body) => {
    for (const byte of rawAnswer(body)) socket.write(Buffer.of(byte))
  },
}

const things = JSON.stringify(['one', 'two'])
const tokens = (request: string) =>
  JSON.stringify(tokenAnswer({ form: new URLSearchParams(request.split('\r\n\r\n')[1]) } as Received))

const portal = await startRawUpstream(t, () => {})
const { browser: stranger } = await buildTestClient(t, { environment: { LOGIN_URL: portal.url } })
const api = await startRawUpstream(t, () => {})
const { browser: visitor } = await buildTestClient(t, { environment: { API_URL: api.url } })
await signIn(visitor)

for (const [faults, words] of [
  [unreachable, 'unreachable'],
  [unusable, 'unexpected'],
] as const) {
  for (const [what, fault] of Object.entries(faults)) {
    t.test(
      `${what} (in answer to the exchange): the visitor gets a page with a link to sign in again, and the client does not send the request again`,
      async t => {
        portal.script = (socket, request) => fault(socket, tokens(request))
        const before = portal.requests.length
        const browser = stranger.copy()
        const page = await signIn(browser)
        t.equal(page.statusCode, 502)
        t.match(textOf(page), upstreamTexts.portal[words])
        t.match(page.body, 'href="/login"')
        t.match(textOf(page), around(webTexts.errorPage.requestId)[0].trim())
        t.equal(setCookieLine(page, '__Host-session'), undefined)
        t.equal(setCookieLine(page, '__Host-refresh'), undefined)
        t.match(setCookieLine(page, '__Host-login-'), '=; Max-Age=0')
        t.equal(portal.requests.length, before + 1, 'the client must send the exchange only once')

        portal.script = (socket, request) => socket.write(rawAnswer(tokens(request)))
        t.equal((await signIn(browser)).statusCode, 200, 'the next answer is good again')
      },
    )

    t.test(`${what} (in answer to an API call): the visitor gets an error page and stays signed in`, async t => {
      api.script = socket => fault(socket, things)
      const before = api.requests.length
      const browser = visitor.copy()
      const page = await browser.get('/page')
      t.equal(page.statusCode, 502)
      t.match(textOf(page), upstreamTexts.api[words])
      t.match(textOf(page), around(webTexts.errorPage.requestId)[0].trim())
      t.match(page.body, 'action="/logout"')
      t.ok(api.requests.length <= before + 2, 'the client must make at most two calls')
      t.ok(browser.cookie('__Host-session'))

      api.script = socket => socket.write(rawAnswer(things))
      t.equal((await browser.get('/page')).statusCode, 200, 'the next answer is good again')
    })
  }
}

for (const [what, fault] of Object.entries(harmless)) {
  t.test(`${what}: the client accepts the answer`, async t => {
    const script: RawScript = (socket, request) =>
      fault(socket, request.startsWith('GET /things') ? things : tokens(request))
    const { url } = await startRawUpstream(t, script)
    const { browser } = await buildTestClient(t, { environment: { LOGIN_URL: url, API_URL: url } })
    t.equal((await signIn(browser)).statusCode, 200)
    t.equal((await browser.get('/page')).statusCode, 200)
    t.equal((await browser.get('/page')).statusCode, 200)
  })
}

t.test(
  'F-01: if the portal is down during the exchange, the visitor gets a page within a second and can sign in again',
  async t => {
    const { browser } = await buildTestClient(t, { environment: { LOGIN_URL: nowhere } })
    const [page, took] = await timed(signIn(browser))
    t.ok(took.own < 1, `${took.own} s`)
    t.equal(page.statusCode, 502)
    t.match(textOf(page), upstreamTexts.portal.unreachable)
    t.match(page.body, 'href="/login"')
    t.match(setCookieLine(page, '__Host-login-'), '=; Max-Age=0')
    t.equal(setCookieLine(page, '__Host-session'), undefined)
  },
)

t.test(
  'F-19: while the API is down, pages that call the API say so; visitors can still sign in, sign out and open all other pages',
  async t => {
    const { browser } = await buildTestClient(t, { environment: { API_URL: nowhere } })
    t.equal((await signIn(browser)).statusCode, 200)
    const page = await browser.get('/page')
    t.equal(page.statusCode, 502)
    t.match(textOf(page), upstreamTexts.api.unreachable)
    t.match(page.body, 'href="/page"')
    t.equal((await browser.get('/')).statusCode, 200)
    t.equal((await browser.get('/note')).statusCode, 200)
    t.equal((await browser.get('/health/ready')).statusCode, 200)
    t.equal((await browser.post('/logout')).statusCode, 303)
  },
)
