// Tests what visitors see for each status of the API, and which parts of a call and its answer are never passed on or
// logged.

import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { signInTexts } from '../../../src/client/sign-in/texts.ts'
import { buildTestClient, clientSecret, signIn } from '../support/build-test-client.ts'
import { faultOf, readForm, textOf } from '../support/read-form.ts'
import { setCookieLines } from '../support/read-response.ts'
import { giveTokens, send } from '../support/scripted-platform.ts'
import { smallApi } from '../support/small-product.ts'

/** Text that must not appear anywhere. */
const canary = `canary${randomBytes(12).toString('hex')}`

async function start(t: Test) {
  const test = await buildTestClient(t, { scripts: smallApi })
  await signIn(test.browser)
  return test
}

const unauthorized = {
  status: 401,
  headers: { 'www-authenticate': 'Bearer' },
  body: { error: { status: 401, message: 'Unauthorized' } },
}

t.test('UP-14: if the API answers 401, the client renews the session once, and then shows the page', async t => {
  const { browser, platform } = await start(t)
  platform.answer('GET /things', (_request, response) => {
    const isOld = platform.received('GET /things').length === 1
    send(response, isOld ? unauthorized : { body: ['one'] })
  })
  const page = await browser.get('/page')
  t.equal(page.statusCode, 200)
  t.match(textOf(page), 'one')
  t.equal(platform.received('POST /api/exchangeToken').length, 2)
  t.equal(platform.received('GET /things').length, 2)
  t.ok(setCookieLines(page).some(line => line.startsWith('__Host-session=')))
})

t.test(
  'F-23: if the access token expires during a slow call, the client renews the session once and shows the page',
  async t => {
    const { browser, platform, clock, log } = await start(t)
    platform.answer('GET /things', async (_request, response) => {
      const isFirst = platform.received('GET /things').length === 1
      if (isFirst) clock.advance(3_601)
      send(response, isFirst ? unauthorized : { body: ['one'] })
    })
    const page = await browser.get('/page')
    t.equal(page.statusCode, 200)
    t.match(textOf(page), 'one')
    t.equal(platform.received('POST /api/exchangeToken').length, 2)
    const events = log.map(line => JSON.parse(line).event)
    for (const event of ['access_token_refused', 'session_renewed'])
      t.equal(events.filter(one => one === event).length, 1, `LG-04: ${event}`)
  },
)

t.test('UP-14: the session continues if the API fails after a renewal', async t => {
  const { browser, platform } = await start(t)
  platform.answer('GET /things', (_request, response) => {
    const isFirst = platform.received('GET /things').length === 1
    send(response, isFirst ? unauthorized : { status: 500, body: '' })
  })
  const page = await browser.get('/page')
  t.equal(page.statusCode, 502)
  t.ok(browser.cookie('__Host-session'))
  t.ok(browser.names().some(name => name.startsWith('__Host-refresh-')))
})

t.test(
  'UP-14: if the API always answers 401, the client makes two calls and one renewal, and then redirects the visitor to `/login`',
  async t => {
    const { browser, platform } = await start(t)
    platform.answer('GET /things', unauthorized)
    await browser.get('/', { site: 'same-origin' })
    browser.cookies.delete('__Host-arrived')
    const answer = await browser.get('/page')
    t.equal(answer.statusCode, 302)
    t.equal(answer.headers.location, '/login?returnTo=%2Fpage')
    t.equal(platform.received('POST /api/exchangeToken').length, 2, 'the client must send one exchange and one renewal')
    t.equal(platform.received('GET /things').length, 2)
    t.same(
      browser.names().filter(name => /session|refresh/.test(name)),
      [],
    )
  },
)

t.test(
  'UP-14: if the API answers 401 right after the sign-in, the visitor gets a page and not a redirect loop',
  async t => {
    const { browser, platform } = await start(t)
    platform.answer('GET /things', unauthorized)
    const page = await browser.get('/page')
    t.equal(page.statusCode, 401)
    t.match(textOf(page), signInTexts.couldNotStaySignedIn.refused)
  },
)

t.test(
  'UP-14: if the API answers 401 and there is no refresh token, the client redirects the visitor to `/login`, and does not repeat the call',
  async t => {
    const { browser, platform } = await start(t)
    platform.answer('POST /api/exchangeToken', giveTokens({ refresh_token: undefined }))
    await signIn(browser)
    for (const name of browser.names()) if (/refresh|arrived/.test(name)) browser.cookies.delete(name)
    platform.answer('GET /things', unauthorized)
    t.equal((await browser.get('/page')).statusCode, 302)
    t.equal(platform.received('GET /things').length, 1)
  },
)

for (const [status, message] of [
  [403, signInTexts.api.forbidden],
  [404, signInTexts.api.notFound],
  [409, signInTexts.api.conflict],
  [412, signInTexts.api.changed],
] as const) {
  t.test(
    `UP-14: if the API answers ${status}, the visitor gets a page with ${status}, and the session continues without a renewal`,
    async t => {
      const { browser, platform } = await start(t)
      const answer = { status, body: { error: { status, message: canary } } }
      for (const call of ['GET /things', 'GET /things/1', 'POST /things']) platform.answer(call, answer)
      const form = readForm(await browser.get('/note'), '/note')
      for (const page of [
        await browser.get('/page'),
        await browser.get('/page/1'),
        await browser.post('/note', form),
      ]) {
        t.equal(page.statusCode, status)
        t.match(textOf(page), message)
        t.notMatch(page.body, canary)
      }
      t.equal(platform.received('GET /things').length, 1)
      t.equal(platform.received('POST /api/exchangeToken').length, 1)
      t.ok(browser.cookie('__Host-session'))
    },
  )
}

t.test(
  'UP-14: if the API answers 422, the page shows the reasons, and a form shows each reason next to its field',
  async t => {
    const { browser, platform, log } = await start(t)
    const form = { ...readForm(await browser.get('/note'), '/note'), note: 'typed' }
    platform.answer('POST /things', {
      status: 422,
      body: { error: { message: { note: ['Too <b>dull.'] }, stack: canary } },
    })
    const fieldRefused = await browser.post('/note', form)
    t.equal(fieldRefused.statusCode, 422)
    t.equal(faultOf(fieldRefused, 'note'), 'Too <b>dull.')
    platform.answer('POST /things', { status: 422, body: { error: { message: 'Only <b>five notes.', stack: canary } } })
    const formRefused = await browser.post('/note', form)
    t.equal(formRefused.statusCode, 422)
    t.match(textOf(formRefused, 'problem'), signInTexts.api.refused('Only <b>five notes.'))
    platform.answer('POST /things', { status: 422, body: { error: { message: 'x'.repeat(501) } } })
    t.match(
      (await browser.post('/note', form)).body,
      /\bx{499}…/,
      'the page must show at most 500 characters of the message',
    )
    for (const page of [fieldRefused, formRefused]) {
      t.notMatch(page.body, canary)
      t.equal(readForm(page, '/note').note, 'typed')
    }
    t.notMatch(log.join(''), new RegExp(`${canary}|dull|five notes`))
  },
)

t.test(
  'UP-04: if the API answers 422 with very many or very long reasons, the page shows only part of them',
  async t => {
    const { browser, platform } = await start(t)
    const form = { ...readForm(await browser.get('/note'), '/note'), note: 'typed' }
    const refusals: Record<string, string[]>[] = [
      { note: ['x'.repeat(4_000_000)] },
      { note: Array(100_000).fill('Too dull.') },
      Object.fromEntries(Array.from({ length: 100_000 }, (_, number) => [`field${number}`, ['Too dull.']])),
      { ['n'.repeat(4_000_000)]: ['Too dull.'] },
    ]
    for (const [index, message] of refusals.entries()) {
      platform.answer('POST /things', { status: 422, body: { error: { message } } })
      const page = await browser.post('/note', form)
      t.equal(page.statusCode, 422)
      t.ok(page.body.length < 40_000, `${index}: ${page.body.length} characters`)
      t.match(textOf(page, 'problem'), index === 0 ? `${'x'.repeat(499)}…` : 'Too dull.')
      t.equal(readForm(page, '/note').note, 'typed')
    }
  },
)

const bodies: Record<string, { headers: Record<string, string>; body: unknown }> = {
  JSON: { headers: {}, body: { error: { message: canary, stack: `at ${canary} (/srv/api.js:1:1)` }, secret: canary } },
  HTML: { headers: { 'content-type': 'text/html' }, body: `<html><h1>${canary}</h1></html>` },
  text: { headers: { 'content-type': 'text/plain' }, body: `Traceback ${canary}` },
  'a large body': { headers: {}, body: JSON.stringify({ error: canary.repeat(8_000) }) },
}
/**
 * Several tests share this client. After each of these tests, the visitor is still signed in, and logins still work.
 */
const one = await start(t)

for (const status of [400, 402, 405, 409, 418, 422, 500, 501, 502, 504, 599]) {
  t.test(`F-18: if the API answers ${status}, the client neither shows nor logs any part of the body`, async t => {
    const { browser, platform, log } = one
    for (const [what, answer] of Object.entries(bodies)) {
      platform.answer('GET /things', { status, ...answer })
      const page = await browser.get('/page')
      t.equal(page.statusCode, status === 409 ? 409 : 502, what)
      t.notMatch(`${JSON.stringify(page.headers)}${page.body}`, canary, what)
      platform.answer('POST /api/exchangeToken', { status: status === 599 ? 500 : status, ...answer })
      const login = await signIn(browser.copy())
      t.equal(login.statusCode, 502, what)
      t.notMatch(`${JSON.stringify(login.headers)}${login.body}`, canary, what)
      platform.answer('POST /api/exchangeToken', giveTokens())
    }
    t.notMatch(log.join(''), canary)
  })
}

t.test('PG-20: an error page has a fixed message and a request id, and no internal details', async t => {
  const { browser, platform, log } = await start(t)
  platform.answer('GET /things', (_request, response) => response.destroy())
  const page = await browser.get('/page')
  t.equal(page.statusCode, 502)
  t.notMatch(page.body, /\bat \/|node_modules|ECONN|UND_ERR|SocketError|127\.0\.0\.1:|\.ts\b/)
  const id = /<code>([\w-]+)<\/code>/.exec(page.body)![1]
  const line = log.map(entry => JSON.parse(entry)).find(({ event }) => event === 'api_unreachable')
  t.equal(line?.reqId, id, 'the log must contain the cause with this request id')
  t.match(line?.cause, { name: 'SocketError', code: 'UND_ERR_SOCKET', message: 'other side closed' })
})

t.test(
  'PG-20: if the client itself fails, the page has a fixed message and a request id, and the log has the cause once',
  async t => {
    const thrown = `${canary} at /srv/node_modules/x ECONNREFUSED 10.0.0.1`
    const { browser, log } = await buildTestClient(t, {
      observeRequests: client =>
        client.get('/throws', () => {
          throw new Error(thrown)
        }),
    })
    const page = await browser.get('/throws')
    t.equal(page.statusCode, 500)
    t.match(page.headers['content-type'], 'text/html')
    t.notMatch(`${JSON.stringify(page.headers)}${page.body}`, canary)
    t.notMatch(page.body, /\bat \/|node_modules|ECONN|10\.0\.0\.1|\.ts\b/)
    const id = /<code>([\w-]+)<\/code>/.exec(page.body)![1]
    const faults = log.map(entry => JSON.parse(entry)).filter(({ event }) => event === 'internal')
    t.equal(faults.length, 1)
    t.match(faults[0], { reqId: id, cause: { stack: thrown } })
  },
)

t.test(
  'UP-12: the client passes no header of the browser’s request on to the platform, except a harmless request id',
  async t => {
    const { browser, platform } = await start(t)
    const headers = {
      authorization: `Basic ${canary}`,
      'x-forwarded-for': canary,
      'x-forwarded-host': canary,
      forwarded: canary,
      via: canary,
      te: 'trailers',
      'proxy-authorization': canary,
      'user-agent': canary,
      referer: `http://localhost:3000/${canary}`,
      'accept-language': canary,
      'x-anything': canary,
      'x-request-id': 'of-the-proxy-1',
      cookie: `${browser.cookieHeader()}; other=${canary}`,
    }
    const form = readForm(await browser.get('/note'), '/note')
    const before = platform.received().length
    await browser.get('/page', { headers })
    await browser.post('/note', form, { headers })
    await signIn(browser)
    const calls = platform.received().slice(before)
    t.equal(calls.length, 4, 'the client must make four calls: two pages, the exchange and the name')
    for (const { headers, url } of calls) {
      t.notMatch(JSON.stringify(headers), canary, url)
      t.notOk('cookie' in headers, url)
      t.equal(headers.host, new URL(platform.url).host, url)
      t.equal(headers['accept-encoding'], 'identity', url)
      const allowed =
        /^(host|connection|accept|accept-encoding|authorization|content-type|content-length|x-request-id)$/
      t.same(
        Object.keys(headers).filter(name => !allowed.test(name)),
        [],
        url,
      )
    }
    t.equal(calls[0]!.headers['x-request-id'], 'of-the-proxy-1')
  },
)

for (const id of ['<script>alert(1)</script>', 'a b', 'x'.repeat(65), '../../etc', 'a;b', 'é', '']) {
  t.test(`LG-05: the client replaces the request id ${JSON.stringify(id.slice(0, 30))} with a new id`, async t => {
    const { browser, platform, log } = one
    const lines = log.length
    platform.answer('GET /things', { status: 500, body: '' })
    const page = await browser.get('/page', { headers: { 'x-request-id': id } })
    const sent = platform.received('GET /things').at(-1)!.headers['x-request-id']
    t.match(sent, /^[0-9a-f-]{36}$/)
    t.match(page.body, `<code>${sent}</code>`, 'the page must show the request id')
    for (const line of log.slice(lines)) t.equal(JSON.parse(line).reqId, sent, 'the log must have the request id')
  })
}

t.test('UP-13: no header of the API’s answer reaches the browser', async t => {
  const { browser, platform } = await start(t)
  const headers = {
    'set-cookie': `planted=${canary}`,
    location: `https://evil.test/${canary}`,
    'content-security-policy': canary,
    'access-control-allow-origin': '*',
    refresh: `0;url=https://evil.test/${canary}`,
    'clear-site-data': '"*"',
    server: canary,
    'x-powered-by': canary,
    link: canary,
    'www-authenticate': canary,
  }
  for (const status of [200, 401, 403, 404, 422, 500, 503]) {
    platform.answer('GET /things', { status, headers, body: [] })
    const page = await browser.copy().get('/page')
    t.notMatch(JSON.stringify(page.headers), canary, String(status))
    for (const name of ['refresh', 'clear-site-data', 'server', 'x-powered-by', 'link', 'access-control-allow-origin'])
      t.equal(page.headers[name], undefined, `${status} ${name}`)
  }
})

for (const [what, token] of Object.entries({
  'a line break': 'abc\r\nx-planted: yes',
  'a NUL': 'abc\0def',
  'a space': 'abc def',
  'a letter that is not ASCII': 'abcé',
  'no characters': '',
})) {
  t.test(`UP-11: an access token with ${what} is refused at the login`, async t => {
    const { browser, platform } = await start(t)
    const other = browser.copy()
    other.cookies.clear()
    platform.answer('POST /api/exchangeToken', giveTokens({ access_token: token }))
    t.equal((await signIn(other)).statusCode, 502)
    t.equal(other.cookie('__Host-session'), undefined)
    t.notMatch(JSON.stringify(platform.received()), 'x-planted')
  })
}

t.test('UP-15: no call to the API contains the client secret', async t => {
  const { browser, platform } = await start(t)
  for (const path of ['/page', '/page/1']) t.equal((await browser.get(path)).statusCode, 200, path)
  const form = readForm(await browser.get('/note'), '/note')
  t.equal((await browser.post('/note', form)).statusCode, 303)
  const calls = platform.received().filter(({ url }) => url.startsWith('/things'))
  t.equal(calls.length, 3)
  t.notMatch(JSON.stringify(calls), clientSecret)
})
