// The whole process pauses for five seconds, as during a long garbage collection or when the machine sleeps.
import type { ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { preload } from '../../support/start-conditions.ts'
import { signIn } from '../support/build-test-client.ts'
import { giveTokens, type Received, send, startScriptedPlatform } from '../support/scripted-platform.ts'
import { spawnClient } from '../support/spawn-client.ts'

const stall = `
  process.on('SIGUSR2', () => {
    process.stdout.write('stalled\\n')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5_000)
  })
`

t.test(
  'F-38: after the process was paused for five seconds, the client uses the answers that have arrived, and the health check is correct',
  async t => {
    const asked: ServerResponse[] = []
    const answer = (response: ServerResponse) => send(response, { body: ['one'] })
    const platform = await startScriptedPlatform(t, {
      'POST /api/exchangeToken': giveTokens(),
      'GET /things': (_request: Received, response: ServerResponse) => void asked.push(response),
    })
    const environment = { LOGIN_URL: platform.url, API_URL: platform.url, NODE_OPTIONS: preload(stall) }
    const client = await spawnClient(t, environment)
    await signIn(client.browser)
    const visit = () => client.browser.copy().get('/page', { site: 'same-origin' })

    const startedAt = performance.now()
    const seconds = () => (performance.now() - startedAt) / 1_000
    // The client has ten seconds for a page. The first pages take longer only because the paused process reads no
    // answers.
    const early = Array.from({ length: 5 }, visit)
    while (asked.length < 5) await setTimeout(10)
    await setTimeout(6_000)
    const late = Array.from({ length: 5 }, visit)
    while (asked.length < 10) await setTimeout(10)
    client.child.kill('SIGUSR2')
    await client.waitForOutput('stalled')
    const health = client.get('/health/ready')
    asked.forEach(answer)
    await setTimeout(500)
    platform.answer('GET /things', (_request, response) => answer(response))

    t.equal((await health).statusCode, 200)
    t.ok(seconds() > 10.5, `late: ${seconds()} s`)
    for (const page of await Promise.all([...early, ...late])) t.equal(page.statusCode, 200)
    t.equal((await client.get('/health/live')).statusCode, 200)
    t.equal((await visit()).statusCode, 200)
  },
)
