// Tests large bodies: only visitors with a session may send them, and a route can raise its limit and its deadline.

import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import fastifyMultipart from '@fastify/multipart'
import t, { type Test } from 'tap'
import { webTexts } from '../../../src/client/web/texts.ts'
import { openSocket } from '../../support/raw-socket.ts'
import { buildTestClient, publicUrl, signIn } from '../support/build-test-client.ts'
import { textOf } from '../support/read-form.ts'
import { smallApi, smallProduct } from '../support/small-product.ts'
import type { TestProduct } from '../support/test-product.ts'

const megabyte = 1024 * 1024

const product: TestProduct = {
  ...smallProduct,
  async pages(signedIn, options) {
    await signedIn.register(smallProduct.pages, options)
    await signedIn.register(async scope => {
      await scope.register(fastifyMultipart)
      const route = { bodyLimit: 5 * megabyte, config: { deadlineMs: 60_000 } }
      scope.post('/upload', route, async request => {
        const upload = await request.file({ limits: { fileSize: 4 * megabyte } })
        const bytes = (await upload?.toBuffer())?.length
        return { bytes, name: upload?.filename }
      })
      scope.post('/small-upload', async request => ({ bytes: (await (await request.file())?.toBuffer())?.length }))
      scope.post('/patient', { config: { deadlineMs: 2_500 } }, async () => ({ ok: true }))
      scope.post('/usual', async () => ({ ok: true }))
      scope.get('/time', { config: { deadlineMs: 60_000 } }, async ({ endsAt }) => endsAt - performance.now())
      scope.get('/usual-time', async ({ endsAt }) => endsAt - performance.now())
    })
  },
}

async function start(t: Test) {
  const test = await buildTestClient(t, { product, scripts: smallApi })
  await signIn(test.browser)
  return test
}

function file(bytes: number): FormData {
  const form = new FormData()
  form.set('photo', new Blob([new Uint8Array(bytes)], { type: 'image/png' }), 'photo.png')
  return form
}

t.test('a visitor uploads a file of 3 MiB to a route that raises its limit', async t => {
  const { browser } = await start(t)
  const answer = await browser.fetch('/upload', { method: 'POST', form: file(3 * megabyte) })
  t.same(answer.json(), { bytes: 3 * megabyte, name: 'photo.png' })
  t.equal(
    (await browser.post('/upload', file(10))).json().bytes,
    10,
    'the upload must also work with the form of a page',
  )
})

t.test('if a script uploads a longer file than the route allows, it gets a 413 answer in JSON', async t => {
  const { browser } = await start(t)
  for (const [path, bytes] of [
    ['/upload', 4.5 * megabyte],
    ['/upload', 6 * megabyte],
    ['/small-upload', 40_000],
  ] as const) {
    const answer = await browser.fetch(path, { method: 'POST', form: file(bytes) })
    t.equal(answer.statusCode, 413, `${path} ${bytes}`)
    t.match(answer.json().error, { code: 'bad_request', message: webTexts.errors.byStatus[413]! })
  }
})

t.test('PG-01: an upload from another site is refused', async t => {
  const { browser } = await start(t)
  t.equal((await browser.post('/upload', file(10), { site: 'same-site' })).statusCode, 403)
})

const head = (path: string, more: string) =>
  `POST ${path} HTTP/1.1\r\nhost: localhost:3000\r\norigin: ${publicUrl}\r\naccept: application/json\r\n${more}\r\n`
const multipart = 'content-type: multipart/form-data; boundary=x\r\n'

for (const [what, headers] of [
  ['of 5 MB', `${multipart}content-length: 5000000\r\n`],
  ['of unknown length', `${multipart}transfer-encoding: chunked\r\n`],
  [
    'with the content type of a form and a length of 5 MB',
    'content-type: application/x-www-form-urlencoded\r\ncontent-length: 5000000\r\n',
  ],
  [
    'with a content type that begins like the content type of a form',
    'content-type: application/x-www-form-urlencoded-x\r\ncontent-length: 20\r\n',
  ],
  ['of JSON', 'content-type: application/json\r\ncontent-length: 20\r\n'],
  [
    'with forged cookies',
    `${multipart}content-length: 5000000\r\ncookie: __Host-session=x; __Host-refresh-12345678=x\r\n`,
  ],
] as const)
  t.test(
    `if a visitor without a session sends a body ${what}, the client refuses the request before the body arrives, and closes the connection`,
    async t => {
      const { client, platform } = await start(t)
      const calls = platform.received().length
      const socket = await openSocket(client)
      t.teardown(() => socket.destroy())
      socket.write(head('/upload', headers))
      const [answer] = await once(socket, 'data')
      t.match(String(answer), /^HTTP\/1\.1 401 /)
      t.match(String(answer), '"code":"sign_in_required"')
      socket.write('x')
      const closed = once(socket, 'close').then(() => 'closed')
      t.equal(await Promise.race([closed, setTimeout(5_000, 'still open', { ref: false })]), 'closed')
      t.equal(platform.received().length, calls, 'the client must not call the platform')
    },
  )

t.test('if a visitor without a session sends a form within the limit, the page says what to do', async t => {
  const { client } = await start(t)
  const answer = await client.inject({
    method: 'POST',
    url: '/note',
    payload: 'note=milk',
    headers: { origin: publicUrl, 'content-type': 'application/x-www-form-urlencoded' },
  })
  t.equal(answer.statusCode, 401)
  t.match(answer.body, 'milk', 'the page must show the typed text')
  const upload = await client.inject({
    method: 'POST',
    url: '/upload',
    payload: '--x--',
    headers: { origin: publicUrl, 'content-type': 'multipart/form-data; boundary=x' },
  })
  t.equal(upload.statusCode, 401)
  t.match(textOf(upload), webTexts.form.nothingDone)
})

t.test(
  'RF-09: if an upload needs a renewed session, the client renews the session only after it has accepted the body',
  async t => {
    const { browser, platform, clock } = await start(t)
    clock.advance(3601)
    const renewals = () => platform.received('POST /api/exchangeToken').length
    const before = renewals()
    t.equal((await browser.fetch('/upload', { method: 'POST', form: file(6 * megabyte) })).statusCode, 413)
    t.equal(renewals(), before)
    t.same((await browser.fetch('/upload', { method: 'POST', form: file(10) })).json().bytes, 10)
    t.equal(renewals(), before + 1)
    t.match(browser.names(), ['__Host-session'])
  },
)

t.test('a route can raise two deadlines: the time for its calls, and the time for the body to arrive', async t => {
  const { browser, client } = await start(t)
  t.ok((await browser.fetch('/time')).json() > 59_000)
  t.ok((await browser.fetch('/usual-time')).json() <= 25_000)

  // The test shortens the usual 15 seconds.
  Object.assign(client.server, { headersTimeout: 500, requestTimeout: 500 })
  const cookie = `cookie: ${browser.cookieHeader()}\r\n`
  const form = 'content-type: application/x-www-form-urlencoded\r\ncontent-length: 3\r\n'
  const send = async (path: string) => {
    const socket = await openSocket(client)
    t.teardown(() => socket.destroy())
    socket.write(`${head(path, cookie + form)}a=`)
    const answer = once(socket, 'data').then(([bytes]) => String(bytes))
    return { socket, answer }
  }
  const usual = await send('/usual')
  const patient = await send('/patient')
  const late = await send('/patient')
  t.match(await usual.answer, /^HTTP\/1\.1 408 /)
  patient.socket.write('b')
  t.match(await patient.answer, /^HTTP\/1\.1 200 /, 'this route must wait for the body longer than other routes')
  t.match(
    await late.answer,
    /^HTTP\/1\.1 408 /,
    'a body that arrives after the deadline of the route must get a 408 answer',
  )
})
