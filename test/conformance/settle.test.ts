// Tests the function `settle`, which waits until all requests are recorded. The function must not wait for a request
// that hangs.
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { startPlatform } from '../../src/conformance/platform.ts'
import { readSettings } from '../../src/conformance/settings.ts'

t.test('if a request has been hanging for more than a second, the function settle does not wait for it', async t => {
  const ports = ['--portal-port', '0', '--api-port', '0', '--lab-port', '0']
  const platform = await startPlatform(readSettings(['--client', 'http://localhost:3000', ...ports]))
  t.teardown(platform.close)
  const token = await platform.tokenOf(await platform.newPerson())
  await platform.orderFault('list-never', { times: 1 })
  const leave = new AbortController()
  const hanging = fetch(`${platform.apiUrl}/apps/v1`, {
    headers: { authorization: `Bearer ${token}` },
    signal: leave.signal,
  }).catch(() => 'left')
  await wait(1500)
  // Measures several times and uses the shortest time, because a busy machine can delay a single measurement.
  let shortest = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < 10; tries++) {
    const begun = performance.now()
    await platform.settle()
    shortest = Math.min(shortest, performance.now() - begun)
  }
  t.ok(shortest < 150, `${shortest} ms: if settle waited for the hanging request, it would take 200 ms`)

  const begun = performance.now()
  await platform.settle(300)
  t.ok(performance.now() - begun >= 300, 'with a longer limit, settle must wait for the hanging request')
  leave.abort()
  t.equal(await hanging, 'left')
})
