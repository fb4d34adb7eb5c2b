// Tests that the client passes only a well-formed W3C trace context on to the portal and the API.
import t, { type Test } from 'tap'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { smallApi } from '../support/small-product.ts'

async function start(t: Test) {
  const { browser, platform } = await buildTestClient(t, { scripts: smallApi })
  await signIn(browser)
  const traceOf = async (headers: Record<string, string>) => {
    t.equal((await browser.get('/page', { headers })).statusCode, 200)
    return platform.received('GET /things').at(-1)!.headers
  }
  return { browser, platform, traceOf }
}

const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

t.test('the client passes on the trace context of each request unchanged', async t => {
  const { traceOf, browser, platform } = await start(t)
  t.equal((await traceOf({ traceparent: trace })).traceparent, trace)
  t.equal((await traceOf({})).traceparent, undefined)

  const others = Array.from({ length: 10 }, (_, index) => trace.replace('0af76519', `0af7651${index}`))
  await Promise.all(others.map(traceparent => browser.get('/page', { headers: { traceparent } })))
  const passedOn = platform
    .received('GET /things')
    .slice(2)
    .map(({ headers }) => headers.traceparent)
  t.same(passedOn.sort(), others)
})

t.test('UP-12: a malformed trace context is not passed on', async t => {
  const { traceOf } = await start(t)
  for (const traceparent of [
    'x',
    `${trace}-more`,
    trace.toUpperCase(),
    trace.replace('00-', '01-'),
    trace.replace('0af7651916cd43dd8448eb211c80319c', '0'.repeat(32)),
    trace.replace('b7ad6b7169203331', '0'.repeat(16)),
    'x'.repeat(5_000),
  ])
    t.equal((await traceOf({ traceparent })).traceparent, undefined, traceparent.slice(0, 60))
  const headers = await traceOf({ traceparent: trace, tracestate: 'canary=1', baggage: 'canary=1', b3: 'canary' })
  t.notMatch(JSON.stringify(headers), 'canary')
})
