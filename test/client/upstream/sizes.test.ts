// Tests that the client stops reading answers that are too large, and needs little memory for them.

import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { heldBytes, liveBytes } from '../support/live-bytes.ts'
import { rawAnswer, startRawUpstream } from '../support/raw-upstream.ts'
import { textOf } from '../support/read-form.ts'
import { giveTokens, tokenAnswer } from '../support/scripted-platform.ts'

const mebibyte = 2 ** 20
const block = Buffer.alloc(mebibyte / 16, ' ')
const chunk = Buffer.concat([Buffer.from(`${block.length.toString(16)}\r\n`), block, Buffer.from('\r\n')])

type Total = { bytes: number; mostHeld: number; hungUp?: Promise<unknown> }

/**
 * Sends `bytes` again and again until the other side closes the connection. `total` gets the number of sent bytes, and
 * the largest number of buffered bytes.
 */
function pour(socket: Socket, head: string, bytes: Buffer, total: Total) {
  // `once` of node:events would reject if the connection ends with ECONNRESET.
  total.hungUp = new Promise(resolve => socket.once('close', resolve))
  socket.write(head)
  const more = () => {
    while (!socket.destroyed) {
      total.bytes += bytes.length
      total.mostHeld = Math.max(total.mostHeld, heldBytes())
      if (!socket.write(bytes)) return
    }
  }
  socket.on('drain', more)
  more()
}

const endless = {
  'an endless body': ['HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n', block],
  'an endless body in chunks': [
    'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
    chunk,
  ],
  'a body of 200 MB': [
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${200 * mebibyte}\r\n\r\n`,
    block,
  ],
  'an error page of 200 MB': [
    `HTTP/1.1 500 No\r\ncontent-type: text/html\r\ncontent-length: ${200 * mebibyte}\r\n\r\n`,
    block,
  ],
  'an endless compressed body': [
    'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\n\r\n',
    gzipSync(Buffer.alloc(64 * mebibyte)),
  ],
} as const

for (const [what, [head, bytes]] of Object.entries(endless)) {
  for (const [where, most] of [
    ['exchange', 64 * 1024],
    ['API', 8 * mebibyte],
  ] as const) {
    t.test(
      `UP-04, F-12: if the client receives ${what} (${where}), it stops reading, and uses little memory`,
      async t => {
        const total: Total = { bytes: 0, mostHeld: 0 }
        const upstream = await startRawUpstream(t, socket => pour(socket, head, bytes, total))
        const setting = where === 'API' ? 'API_URL' : 'LOGIN_URL'
        const { browser } = await buildTestClient(t, { environment: { [setting]: upstream.url } })
        if (where === 'API') await signIn(browser)
        const before = liveBytes()
        const page = where === 'API' ? await browser.get('/page') : await signIn(browser)
        const grown = Math.max(total.mostHeld, heldBytes()) - before
        t.equal(page.statusCode, 502)
        t.match(textOf(page), upstreamTexts[where === 'API' ? 'api' : 'portal'].unexpected)
        t.ok(grown < 50 * mebibyte, `the client uses ${Math.round(grown / mebibyte)} MiB more`)
        t.ok(total.bytes < most + 8 * mebibyte, `the client has accepted ${total.bytes} bytes`)
        t.equal(browser.cookie('__Host-session') === undefined, where === 'exchange')
        t.equal((await browser.get('/health/live')).statusCode, 200)
        await total.hungUp
      },
    )
  }
}

t.test(
  'UP-04: the client reads a token response of just under 64 KiB, and refuses a response of just over 64 KiB',
  async t => {
    const { browser, platform } = await buildTestClient(t)
    const send = (length: number) =>
      platform.answer('POST /api/exchangeToken', (request, response) => {
        const body = JSON.stringify(tokenAnswer(request))
        response.setHeader('content-type', 'application/json').end(body.padEnd(length))
      })
    send(64 * 1024)
    t.equal((await signIn(browser)).statusCode, 200)
    send(64 * 1024 + 1)
    t.equal((await signIn(browser)).statusCode, 502)
  },
)

t.test('UP-04: the client reads an answer of just under 8 MiB, and refuses an answer of just over 8 MiB', async t => {
  const { browser, platform } = await buildTestClient(t)
  await signIn(browser)
  const body = JSON.stringify(Array(2_000).fill('d'.repeat(600)))
  t.ok(body.length > mebibyte)
  for (const [length, status] of [
    [body.length, 200],
    [8 * mebibyte, 200],
    [8 * mebibyte + 1, 502],
  ] as const) {
    platform.answer('GET /things', { body: body.padEnd(length) })
    t.equal((await browser.get('/page')).statusCode, status, `${length} bytes`)
  }
})

t.test('UP-04: a login begins even if the metadata document never ends', async t => {
  const { browser, platform } = await buildTestClient(t, {
    scripts: {
      'GET /.well-known/oauth-authorization-server': (_request, response) => {
        response.setHeader('content-type', 'application/json')
        const timer = setInterval(() => response.write(block))
        response.on('close', () => clearInterval(timer))
      },
    },
  })
  t.equal((await browser.get('/login')).statusCode, 302)
  platform.answer('POST /api/exchangeToken', giveTokens())
  t.equal((await signIn(browser)).statusCode, 200)
})

t.test('UP-04: if endless bytes follow a complete answer, the client shows a page and keeps working', async t => {
  const things = rawAnswer(JSON.stringify(['one']))
  const api = await startRawUpstream(t, socket => pour(socket, things.toString(), block, { bytes: 0, mostHeld: 0 }))
  const { browser } = await buildTestClient(t, { environment: { API_URL: api.url } })
  await signIn(browser)
  t.ok([200, 502].includes((await browser.get('/page')).statusCode))
  t.equal((await browser.get('/health/live')).statusCode, 200)
})

t.test('UP-04: the client does not wait for the endless body of a redirect, and closes its connection', async t => {
  const head = 'HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-type: text/html\r\n\r\n'
  const total: Total = { bytes: 0, mostHeld: 0 }
  const api = await startRawUpstream(t, socket => pour(socket, head, block, total))
  const { browser } = await buildTestClient(t, { environment: { API_URL: api.url } })
  await signIn(browser)
  t.equal((await browser.get('/page')).statusCode, 502)
  await total.hungUp
})
