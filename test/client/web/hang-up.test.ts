// The visitor closes the tab, or presses Stop, while something is under way.
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import t from 'tap'
import {
  beginLogin,
  buildApplicationsClient,
  callbackUrl,
  publicUrl,
  signIn,
  TestClock,
} from '../support/build-test-client.ts'
import { openSocket, rawGet } from '../support/raw-socket.ts'
import { linksOf, readForm } from '../support/read-form.ts'
import { rememberingApi } from '../support/remembering-api.ts'
import { type Received, send, tokenAnswer } from '../support/scripted-platform.ts'

/** A script that answers only when `goOn` is called; `asked` comes back when it has been asked. */
function holding(answer: (request: Received, response: ServerResponse) => unknown) {
  const asked = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const script = async (request: Received, response: ServerResponse) => {
    asked.resolve()
    await gate.promise
    answer(request, response)
  }
  return { script, asked: asked.promise, goOn: gate.resolve }
}

t.test('F-40: a tab closed during the exchange leaves no session, and the link is used', async t => {
  const { browser, client, platform, log } = await buildApplicationsClient(t)
  const held = holding((request, response) => send(response, { body: tokenAnswer(request) }))
  platform.answer('POST /api/exchangeToken', held.script)
  const url = callbackUrl(await beginLogin(browser))
  const socket = await openSocket(client)
  socket.write(rawGet(url, { cookie: browser.cookieHeader() }))
  await held.asked
  socket.destroy()
  await once(socket, 'close')
  held.goOn()
  while (!log.join('').includes('login_succeeded')) await new Promise(setImmediate)

  const again = await browser.get(url, { site: 'cross-site' })
  t.equal(again.statusCode, 400)
  t.match(again.body, 'used already')
  t.equal(browser.cookie('__Host-session'), undefined)
  t.equal((await browser.get('/applications')).statusCode, 302, 'signed in by nothing')
  t.equal(platform.received('POST /api/exchangeToken').length, 1)
  t.notMatch(log.join(''), '"event":"internal"')
})

t.test(
  'F-40: Stop during a new application undoes nothing: the list shows it, and the form creates no other',
  async t => {
    const clock = new TestClock()
    const api = rememberingApi(clock)
    const { browser, client, platform, log } = await buildApplicationsClient(t, { clock, scripts: api.scripts })
    await signIn(browser)
    const held = holding(api.scripts['POST /apps/v1'] as (request: Received, response: ServerResponse) => unknown)
    platform.answer('POST /apps/v1', held.script)
    const form = readForm(await browser.get('/applications/new'), '/applications')
    const body = new URLSearchParams({ ...form, name: 'Weather', redirectUris: 'https://weather.test/' }).toString()
    const socket = await openSocket(client)
    const headers = {
      cookie: browser.cookieHeader(),
      origin: publicUrl,
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(body.length),
    }
    socket.write(rawGet('/applications', headers).replace('GET', 'POST') + body)
    await held.asked
    socket.destroy()
    await once(socket, 'close')
    held.goOn()
    while (api.records.size === 0) await new Promise(setImmediate)

    t.ok(linksOf(await browser.get('/applications')).includes('/applications/app-1'))
    const again = await browser.post('/applications', Object.fromEntries(new URLSearchParams(body)))
    t.equal(again.headers.location, '/applications/app-1')
    t.match((await browser.get('/applications/app-1')).body, api.secrets[0]!, 'with the secret that nobody has seen')
    t.equal(platform.received('POST /apps/v1').length, 1)
    t.notMatch(log.join(''), '"event":"internal"')
  },
)
