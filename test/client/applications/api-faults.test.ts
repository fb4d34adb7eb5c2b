// Tests the pages for applications when the API is slow or down, sends endless answers, or refuses calls.

import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { applicationsTexts } from '../../../src/client/applications/texts.ts'
import { signInTexts } from '../../../src/client/sign-in/texts.ts'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import { timed } from '../../support/stopwatch.ts'
import { signIn } from '../support/build-test-client.ts'
import { nowhere } from '../support/nowhere.ts'
import { rawAnswer, startRawUpstream } from '../support/raw-upstream.ts'
import { readForm, textOf } from '../support/read-form.ts'
import { setCookieLine } from '../support/read-response.ts'
import { accessTokenOf, giveTokens, type Received, type Script, send } from '../support/scripted-platform.ts'
import { applicationRecord, collection } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

const typed = { groupId: 'group-1', name: 'Tides', redirectUris: 'https://a.test/' }

t.test('UP-03: all calls of one request share one deadline, and no call starts after this deadline', async t => {
  const api = rememberingApi({ read: () => new Date() })
  const { browser, clock, platform } = await buildApplicationsClient(t, {
    scripts: api.scripts,
    requestDeadlineMs: 1_000,
  })
  await signIn(browser)
  const form = readForm(await browser.get('/applications/new'), '/applications')
  /** Delays an answer, but not beyond the deadline of a single call. */
  const slowly = (script: Script) => async (request: Received, response: ServerResponse) => {
    await wait(400)
    return typeof script === 'function' ? script(request, response) : send(response, script)
  }
  platform.answer('POST /api/exchangeToken', slowly(giveTokens()))
  platform.answer('GET /apps/v1', slowly({ status: 401, body: {} }))
  clock.advance(3601)
  const [page, took] = await timed(browser.post('/applications', { ...form, ...typed }))
  t.equal(page.statusCode, 504)
  t.ok(took.own < 2, `${took.own} s`)
  t.equal(readForm(page, '/applications').name, 'Tides')
  t.ok(setCookieLine(page, '__Host-refresh-'), 'the renewed session reaches the browser')
  t.equal(platform.received('POST /apps/v1').length, 0)
  t.equal(api.records.size, 0)
})

t.test(
  'if the API does not answer the request for groups, the client waits at most two seconds for the groups, and then shows the form',
  async t => {
    const { browser, platform } = await buildApplicationsClient(t)
    platform.answer('GET /identities/v1/visitor-1/links', () => {})
    await signIn(browser)
    const [page, took] = await timed(browser.get('/applications/new'))
    t.equal(page.statusCode, 200)
    t.ok(took.own < 3, `${took.own} s`)
  },
)

t.test('F-19: if the API is down, the list page says so, and the form for a new application still works', async t => {
  const { browser } = await buildApplicationsClient(t, { environment: { API_URL: nowhere } })
  await signIn(browser)
  const list = await browser.get('/applications')
  t.equal(list.statusCode, 502)
  t.match(textOf(list), upstreamTexts.api.unreachable)
  t.match(list.body, 'href="/applications"')
  t.equal((await browser.get('/applications/new')).statusCode, 200, 'the form must be shown without the list of groups')
})

t.test(
  'UP-07, UP-16: if the connection breaks during a POST to the API, the page shows an error, and the client does not repeat the POST',
  async t => {
    const list = rawAnswer(JSON.stringify(collection([])))
    const api = await startRawUpstream(t, socket => socket.write(list))
    const { browser } = await buildApplicationsClient(t, { environment: { API_URL: api.url } })
    await signIn(browser)
    const form = { ...readForm(await browser.get('/applications/new'), '/applications'), groupName: 'Mine' }
    api.script = (socket, request) => (request.startsWith('GET') ? socket.write(list) : socket.resetAndDestroy())
    const page = await browser.post('/applications', { ...form, ...typed })
    t.equal(page.statusCode, 502)
    t.match(textOf(page, 'problem'), upstreamTexts.api.unreachable)
    t.equal(api.requests.filter(request => request.startsWith('POST')).length, 1)
  },
)

t.test('UP-04: the client shows a list of 2,000 applications, and refuses a list of more than 8 MiB', async t => {
  const { browser, platform } = await buildApplicationsClient(t)
  await signIn(browser)
  const records = Array.from({ length: 2_000 }, (_, index) =>
    applicationRecord(`app-${index}`, { description: 'd'.repeat(300) }),
  )
  const body = JSON.stringify(collection(records))
  t.ok(body.length > 2 ** 20)
  platform.answer('GET /apps/v1', { body })
  const page = await browser.get('/applications')
  t.equal(page.statusCode, 200)
  t.match(textOf(page), applicationsTexts.list.pageOf(1, 40))

  platform.answer('GET /apps/v1', { body: body.padEnd(8 * 2 ** 20 + 1) })
  t.equal((await browser.get('/applications')).statusCode, 502)
})

t.test('UP-04: the form is shown even if the list of groups never ends', async t => {
  const block = ' '.repeat(2 ** 16)
  const api = await startRawUpstream(t, socket => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n')
    const pour = () => {
      while (!socket.destroyed && socket.write(block));
    }
    socket.on('drain', pour)
    pour()
  })
  const { browser } = await buildApplicationsClient(t, { environment: { API_URL: api.url } })
  await signIn(browser)
  t.equal((await browser.get('/applications/new')).statusCode, 200)
})

t.test(
  'F-18: if the API answers 409 when the client requests the list, the error page also has status 409, and does not contain the API’s text',
  async t => {
    const { browser, platform, log } = await buildApplicationsClient(t)
    await signIn(browser)
    platform.answer('GET /apps/v1', { status: 409, body: { error: { message: 'canary' } } })
    const page = await browser.get('/applications')
    t.equal(page.statusCode, 409)
    t.notMatch(`${JSON.stringify(page.headers)}${page.body}${log.join('')}`, 'canary')
  },
)

t.test(
  'if the API refuses the request for the list, the page shows a general error text, and not the text about a single application',
  async t => {
    const { browser, platform } = await buildApplicationsClient(t)
    await signIn(browser)
    platform.answer('GET /apps/v1', { status: 403, body: {} })
    const page = await browser.get('/applications')
    t.equal(page.statusCode, 403)
    t.match(page.body, `<p class="lead">${signInTexts.api.forbidden}</p>`)
  },
)

t.test(
  'UP-04: the client shows a list with the largest allowed number of JSON values, and refuses a longer list',
  async t => {
    const { browser, platform } = await buildApplicationsClient(t)
    await signIn(browser)
    const listOf = (count: number) => JSON.stringify({ ItemList: Array(count).fill(0) })
    platform.answer('GET /apps/v1', { body: listOf(249_998) })
    t.equal((await browser.get('/applications')).statusCode, 200)
    platform.answer('GET /apps/v1', { body: listOf(249_999) })
    t.equal((await browser.get('/applications')).statusCode, 502)
  },
)

t.test('UP-14: if the API always answers 403, the session continues and is not renewed', async t => {
  const { browser, platform } = await buildApplicationsClient(t)
  await signIn(browser)
  const forbidden = { status: 403, body: { error: { status: 403, message: 'Permission denied' } } }
  for (const call of ['GET /apps/v1', 'GET /apps/v1/app-1']) platform.answer(call, forbidden)
  for (const path of [
    '/applications',
    '/applications/app-1',
    '/applications/app-1/edit',
    '/applications/app-1/delete',
  ]) {
    const page = await browser.get(path)
    t.equal(page.statusCode, 403, path)
    t.match(textOf(page), signInTexts.api.forbidden, path)
  }
  t.equal(platform.received('POST /api/exchangeToken').length, 1)
  t.ok(browser.cookie('__Host-session'))
})

t.test(
  'UP-14: if the API answers 422 to a call that has no body, the client treats the answer as unusable',
  async t => {
    const { browser, platform } = await buildApplicationsClient(t)
    await signIn(browser)
    platform.answer('GET /apps/v1', { status: 422, body: { error: { message: { name: ['canary'] } } } })
    const list = await browser.get('/applications')
    t.equal(list.statusCode, 502)
    t.notMatch(list.body, /canary|fields that are marked/)

    // Before the client creates an application, it reads the list. If the client cannot read the list, it creates the
    // application anyway.
    platform.answer('POST /apps/v1', { status: 403, body: {} })
    const form = readForm(await browser.get('/applications/new'), '/applications')
    const page = await browser.post('/applications', { ...form, ...typed })
    t.equal(page.statusCode, 422)
    t.match(textOf(page, 'problem'), applicationsTexts.form.problems.notAMember)
  },
)

t.test(
  'UP-14: if the API refuses the same token in two calls, and its second refusal arrives only after the renewal, the client does not renew the session again',
  async t => {
    const { browser, platform } = await buildApplicationsClient(t)
    await signIn(browser)
    const renewed = accessTokenOf('visitor-1', { jti: 'renewed' })
    platform.answer('POST /api/exchangeToken', giveTokens({ access_token: renewed, refresh_token: 'second' }))
    const accept = (request: Received, response: ServerResponse, body: object) => {
      const isNew = request.headers.authorization === `Bearer ${renewed}`
      send(response, isNew ? { body } : { status: 401, body: {} })
    }
    platform.answer('GET /apps/v1/app-1', (request, response) => accept(request, response, applicationRecord('app-1')))
    // The API answers the request for groups only after the client has renewed the session, and has requested the
    // application again.
    const link = { to: 'group-1', data: { name: 'Weather people' } }
    platform.answer('GET /identities/v1/visitor-1/links', async (request, response) => {
      await platform.waitForRequests('GET /apps/v1/app-1', 2)
      accept(request, response, collection([link]))
    })
    const page = await browser.get('/applications/app-1', { site: 'same-origin' })
    t.equal(page.statusCode, 200)
    t.match(textOf(page), 'Weather people')
    t.equal(platform.received('POST /api/exchangeToken').length, 2, 'the client must send one exchange and one renewal')
  },
)
