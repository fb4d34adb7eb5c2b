// Tests short answers that take a lot of memory when they are parsed. The client counts the values of an answer before
// it parses the answer.

import t, { type Test } from 'tap'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import { memoryOf, workOf } from '../../support/process-status.ts'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { textOf } from '../support/read-form.ts'
import { giveTokens, startScriptedPlatform } from '../support/scripted-platform.ts'
import { smallApi } from '../support/small-product.ts'
import { smallHeap, spawnClient } from '../support/spawn-client.ts'

const mebibyte = 2 ** 20

async function answering(t: Test) {
  const { browser, platform } = await buildTestClient(t)
  await signIn(browser)
  return async (body: string) => {
    platform.answer('GET /things', { body })
    return (await browser.get('/page')).statusCode
  }
}

/** Returns a list that contains `count` values. The list itself counts as one more value. */
const listOf = (count: number, value: string) => `[${Array.from({ length: count }, () => value).join()}]`

t.test('UP-04: the client reads an answer with 250,000 values, and refuses an answer with one more value', async t => {
  const status = await answering(t)
  for (const value of ['0', '{}', '[ ]', '""', '"],[{\\"\\\\"']) {
    t.equal(await status(listOf(249_999, value)), 200, value)
    t.equal(await status(listOf(250_000, value)), 502, value)
  }
  t.equal(await status(listOf(124_999, '{"a" : 1}')), 200, 'the name of a field must not count as a value')
  t.equal(await status(listOf(125_000, '{"a" : 1}')), 502)
})

t.test('UP-04: the client reads an answer with 32 levels of nesting, and refuses an answer with 33 levels', async t => {
  const status = await answering(t)
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
  t.equal(await status(nested(32)), 200)
  t.equal(await status(nested(33)), 502)
  t.equal(await status(`[${'[[]],'.repeat(1_000)}0]`), 200, 'lists next to each other must not count as levels')
  t.equal(await status(`["${'['.repeat(1_000)}"]`), 200, 'brackets in a string must not count as levels')
})

t.test('UP-04: an answer that is not JSON is unusable, whatever it begins with', async t => {
  const status = await answering(t)
  for (const body of ['', ']]]]', '["x":[', '"', '"\\', '[[]]]', '[,]', '\u0000'])
    t.equal(await status(body), 502, body)
})

const fill = (part: string) => {
  const count = Math.floor((8 * mebibyte - 100) / part.length)
  return `[${part.repeat(count)}0]`
}

const platform = await startScriptedPlatform(t, { 'POST /api/exchangeToken': giveTokens() })
/** All these tests share one process: if one test does not free its memory, it disturbs the next test. */
const small = await spawnClient(t, { LOGIN_URL: platform.url, API_URL: platform.url }, { prefix: smallHeap })

for (const [what, body] of Object.entries({
  '8 MiB of {}': fill('{},'),
  '8 MiB of numbers': fill('1,'),
  '8 MiB of nested lists': '['.repeat(8 * mebibyte),
  '8 MiB of nested objects': '{"a":'.repeat(1.6 * mebibyte),
  // The page shows only the first fifty values. The long string comes later, because this test is not about long pages.
  '8 MiB of escapes': `[${'0,'.repeat(50)}"${'\\"'.repeat(4 * mebibyte - 200)}"]`,
  'the largest allowed number of values': listOf(124_999, `{"@id":"${'x'.repeat(40)}"}`),
})) {
  t.test(
    `UP-04: while 40 visitors load ${what} at the same time, a client with 256 MiB of memory answers other visitors`,
    async t => {
      platform.answer('GET /things', { body: Buffer.from(body) })
      await signIn(small.browser)
      const asking = Array.from({ length: 40 }, () => small.browser.get('/page', { site: 'same-origin' }))
      t.equal((await small.get('/health/live')).statusCode, 200)
      // The status is 408 if the client had no time to read a request before its deadline.
      for (const { statusCode } of await Promise.all(asking))
        t.ok([200, 408, 502, 503, 504].includes(statusCode), `${statusCode}`)
      const before = workOf(small.child.pid)
      const page = await small.browser.get('/page', { site: 'same-origin' })
      const worked = workOf(small.child.pid) - before
      t.ok(worked < 3, `${worked} s for one page`)
      if (page.statusCode === 502) t.match(textOf(page), upstreamTexts.api.unexpected)
      t.comment(`${what}: ${memoryOf(small.child.pid)} MiB`)
      platform.answer('GET /things', smallApi['GET /things']!)
      t.equal((await small.browser.get('/page', { site: 'same-origin' })).statusCode, 200)
    },
  )
}

t.test('UP-04: answers that are read at the same time take at most 64 MiB of memory', { timeout: 60_000 }, async t => {
  const { browser, platform } = await buildTestClient(t)
  await signIn(browser)
  const body = '[]'.padEnd(7 * mebibyte)
  const goOn = Promise.withResolvers<void>()
  platform.answer('GET /things', async (_request, response) => {
    response.setHeader('content-type', 'application/json').write(body.slice(0, -1))
    await goOn.promise
    response.end(' ')
  })
  const asking = Array.from({ length: 12 }, () => browser.copy().get('/page'))
  const first = await Promise.race(asking)
  t.equal(first.statusCode, 503, 'the refusal must be sent while the other requests wait')
  t.match(textOf(first), upstreamTexts.api.overloaded)
  goOn.resolve()
  const statuses = (await Promise.all(asking)).map(({ statusCode }) => statusCode)
  t.ok(
    statuses.filter(status => status === 503).length <= 4,
    `the memory must be enough for eight answers: ${statuses.join(' ')}`,
  )
  // The status is 504 if a slow machine had no time to read the answer before the deadline.
  for (const status of statuses) t.ok([200, 503, 504].includes(status), `${status}`)
  t.equal((await browser.get('/page')).statusCode, 200, 'the memory must be free again')
})
