// The longest lists that the API may give: read as slowly as can be, and asked for by many at once.
import t from 'tap'
import { signIn } from '../support/build-test-client.ts'
import { workOf } from '../support/process-status.ts'
import { giveTokens, startScriptedPlatform } from '../support/scripted-platform.ts'
import { holdWithSlowReaders } from '../support/slow-reader.ts'
import { productMain, smallHeap, spawnClient } from '../support/spawn-client.ts'
import { applicationRecord, collection } from './support/application-record.ts'

t.test('DO-07: 200 visitors who read the longest list a byte a second leave memory to the others', async t => {
  // The longest descriptions that the platform takes, on ten pages; each of their characters takes five there.
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
})

t.test('UP-04: the most values of a list, asked for by 40 visitors at once, leave 256 MiB to the others', async t => {
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
  // 408: it had no time to read a request before its deadline.
  for (const { statusCode } of await Promise.all(asking))
    t.ok([200, 408, 503, 504].includes(statusCode), `${statusCode}`)
  const before = workOf(client.child.pid)
  await list()
  const worked = workOf(client.child.pid) - before
  t.ok(worked < 3, `${worked} s for one`)
  platform.answer('GET /apps/v1', { body: collection([applicationRecord('app-1')]) })
  t.equal((await list()).statusCode, 200)
})
