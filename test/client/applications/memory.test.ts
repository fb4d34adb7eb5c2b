// Tests how much memory the client needs for the longest lists that the API may return, with slow readers and with many
// visitors at the same time.
import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { workOf } from '../../support/process-status.ts'
import { signIn } from '../support/build-test-client.ts'
import { giveTokens, startScriptedPlatform } from '../support/scripted-platform.ts'
import { holdWithSlowReaders } from '../support/slow-reader.ts'
import { productMain, smallHeap, spawnClient } from '../support/spawn-client.ts'
import { applicationRecord, collection } from './support/application-record.ts'

t.test(
  'DO-07: while 200 visitors read the longest list at one byte per second, the client has enough memory for other visitors',
  async t => {
    // Ten pages with the longest descriptions that the platform allows. In HTML each `&` takes five characters.
    const records = Array.from({ length: 500 }, (_, index) =>
      applicationRecord(`app-${index}`, { description: '&'.repeat(2_000) }),
    )
    const platform = await startScriptedPlatform(t, {
      'POST /api/exchangeToken': giveTokens(),
      'GET /apps/v1': { body: Buffer.from(JSON.stringify(collection(records))) },
    })
    const addresses = { LOGIN_URL: platform.url, API_URL: platform.url }
    const client = await spawnClient(t, addresses, { prefix: smallHeap, program: productMain })
    await signIn(client.browser)
    await holdWithSlowReaders(t, client, '/applications')
  },
)

t.test(
  'UP-04: if 40 visitors open the longest list at the same time, 256 MiB of memory are enough for the client',
  async t => {
    const record = `{"@id":"${'x'.repeat(40)}"}`
    const platform = await startScriptedPlatform(t, {
      'POST /api/exchangeToken': giveTokens(),
      'GET /apps/v1': { body: `{"ItemList":[${Array(124_999).fill(record).join()}]}` },
    })
    const addresses = { LOGIN_URL: platform.url, API_URL: platform.url }
    const client = await spawnClient(t, addresses, { prefix: smallHeap, program: productMain })
    await signIn(client.browser)
    const list = () => client.browser.get('/applications', { site: 'same-origin' })
    const asking = Array.from({ length: 40 }, list)
    t.equal((await client.get('/health/live')).statusCode, 200)
    // The status is 408 if the deadline of a request passed before the client could read the request.
    for (const { statusCode } of await Promise.all(asking))
      t.ok([200, 408, 503, 504].includes(statusCode), `${statusCode}`)
    const before = workOf(client.child.pid)
    await list()
    const worked = workOf(client.child.pid) - before
    t.ok(worked < 3, `${worked} s for one page`)
    platform.answer('GET /apps/v1', { body: collection([applicationRecord('app-1')]) })
    t.equal((await list()).statusCode, 200)
  },
)

t.test(
  'UP-04: if a client was paused and then reads 60 late answers at the same time, it does not run out of memory',
  async t => {
    const platform = await startScriptedPlatform(t, {
      'POST /api/exchangeToken': giveTokens(),
      'GET /api/me': { body: { id: 'visitor-1' } },
    })
    const addresses = { LOGIN_URL: platform.url, API_URL: platform.url }
    const prefix = ['NODE_OPTIONS=--max-old-space-size=64 --max-semi-space-size=1']
    const client = await spawnClient(t, addresses, { prefix, program: productMain })
    await signIn(client.browser)
    const groupsRoute = 'GET /identities/v1/visitor-1/links'
    const held: ServerResponse[] = []
    platform.answer(groupsRoute, (_, response) => held.push(response))
    const openForm = () => client.browser.get('/applications/new', { site: 'same-origin' })
    const asking = Array.from({ length: 60 }, openForm)
    await platform.waitForRequests(groupsRoute, 60)

    client.child.kill('SIGSTOP')
    // Node reads this text in one step, because it is shorter than 64 KiB. The parsed text takes more than 1 MB.
    const text = `{"ItemList":[${Array(20_000).fill('{}').join()}]}`
    for (const response of held) response.setHeader('content-type', 'application/json').end(text)
    // When the client continues, the deadlines of all calls (2 seconds) have passed, and all answers have arrived.
    await wait(2_500)
    client.child.kill('SIGCONT')

    for (const { statusCode } of await Promise.all(asking)) t.equal(statusCode, 200)
  },
)
