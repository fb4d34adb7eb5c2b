// The longest list that the API may give, read as slowly as can be.
import t from 'tap'
import { signIn } from '../support/build-test-client.ts'
import { giveTokens, startScriptedPlatform } from '../support/scripted-platform.ts'
import { holdWithSlowReaders } from '../support/slow-reader.ts'
import { smallHeap, spawnClient } from '../support/spawn-client.ts'
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
  const client = await spawnClient(t, { LOGIN_URL: platform.url, API_URL: platform.url }, { prefix: smallHeap })
  await signIn(client.browser)
  await holdWithSlowReaders(t, client, '/applications')
})
