// With many logins the laboratory still answers at once: it shares its process with the portal that is tested.
import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { buildLab } from '../../../src/sandbox/lab/build-lab.ts'
import type { Step } from '../../../src/sandbox/observe/steps.ts'

const random = () => randomBytes(16).toString('base64url')
const local = { host: '127.0.0.1:4002' }

async function buildLabWith(t: Test, logins: number) {
  const lab = await buildLab({
    addresses: { portalUrl: 'http://127.0.0.1:4000', apiUrl: 'http://127.0.0.1:4001' },
    labUrls: ['http://127.0.0.1:4002'],
    token: undefined,
    clock: () => new Date(),
    logger: pino({ level: 'silent' }),
  })
  t.teardown(() => lab.server.close())
  const observe = (kind: Step['kind'], query: Record<string, string>, body?: object, answer?: object) =>
    lab.record({
      id: random(),
      requestId: random(),
      at: new Date(),
      listener: 'portal',
      kind,
      route: '/',
      durationMs: 1,
      request: { method: 'GET', url: `/?${new URLSearchParams(query)}`, headers: {}, body },
      response: { status: 200, headers: {}, body: answer && JSON.stringify(answer) },
      about: { claimedClientId: 'app-1', knownClientId: 'app-1', userId: 'user-1' },
      checks: [],
      reason: undefined,
    })
  // The same person signs in again and again, with a new state and a new verifier each time.
  for (let count = 0; count < logins; count += 1) {
    const state = random()
    observe('authorize', { client_id: 'app-1', state, code_challenge: random() })
    observe('exchange', {}, { client_id: 'app-1', state, code: random() }, { refresh_token: random() })
  }
  const { logins: told } = (await lab.server.inject({ url: '/lab/v1/logins', headers: local })).json()
  const ask = async (url: string): Promise<string> => {
    const { statusCode, body } = await lab.server.inject({ url, headers: local })
    if (statusCode !== 200) throw new Error(`${url}: ${statusCode}`)
    return body
  }
  return { ask, id: told[50].id as string }
}

/** The fastest of several times. It depends least on what else the machine does. */
async function shortestTime(run: () => Promise<unknown>): Promise<number> {
  let shortest = Number.POSITIVE_INFINITY
  for (let count = 0; count < 10; count += 1) {
    const start = performance.now()
    await run()
    shortest = Math.min(shortest, performance.now() - start)
  }
  return shortest
}

t.test('a page of the laboratory takes hardly longer with 1,000 logins than with 100', async t => {
  const [few, many] = [await buildLabWith(t, 100), await buildLabWith(t, 1_000)]
  t.match(await many.ask('/'), 'Only the newest 100 are shown.')
  t.match(await many.ask('/'), 'noticed: 1 warning', 'tokens that were not given back')
  const pages = [
    ['the list', '/', '/'],
    ['a login', `/logins/${few.id}`, `/logins/${many.id}`],
    ['a login as JSON', `/lab/v1/logins/${few.id}`, `/lab/v1/logins/${many.id}`],
  ] as const
  for (const [name, ofFew, ofMany] of pages) {
    // Both show 100 logins, or one. Reading all logins for each one took 30 times as long.
    const [short, long] = [await shortestTime(() => few.ask(ofFew)), await shortestTime(() => many.ask(ofMany))]
    t.ok(long < 4 * short + 5, `${name}: ${short.toFixed(1)} ms with 100 logins, ${long.toFixed(1)} ms with 1,000`)
  }
})
