// Tests the order of tasks from several sources, so that one source cannot keep others from signing in.
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { Busy, createTurns } from '../../../src/sandbox/people/turns.ts'
import { openBrowser, startUrl } from '../support/browser.ts'
import { buildTestSandbox, seeded } from '../support/build-test-sandbox.ts'

/**
 * Makes tasks that run until the test ends them. `order` lists the sources of the tasks, in the order in which the
 * tasks started.
 */
function openWork() {
  const inTurn = createTurns()
  const order: string[] = []
  const ends: (() => void)[] = []
  const refused: string[] = []
  return {
    order,
    refused,
    ask(source: string): void {
      const work = () =>
        new Promise<void>(resolve => {
          ends.push(resolve)
          order.push(source)
        })
      inTurn(source, work).catch((error: unknown) => {
        if (!(error instanceof Busy)) throw error
        refused.push(source)
      })
    },
    async endAll(): Promise<void> {
      for (let end = ends.shift(); end; end = ends.shift()) {
        end()
        await setImmediate()
      }
    },
  }
}

t.test('DO-09: if a source has only one task, this task waits for at most one task from each other source', async t => {
  const { ask, order, endAll } = openWork()
  for (let count = 0; count < 40; count += 1) ask('flood')
  ask('visitor')
  ask('another')
  await endAll()
  t.equal(order.length, 42)
  t.strictSame(order.slice(0, 6), ['flood', 'flood', 'flood', 'visitor', 'another', 'flood'])
})

t.test(
  'DO-09: if the queue is full, a new task from a source with few tasks takes the place of a waiting task from the source with the most tasks',
  async t => {
    const { ask, order, refused, endAll } = openWork()
    for (let count = 0; count < 90; count += 1) ask('flood')
    await setImmediate()
    t.equal(refused.length, 38, 'two tasks must run, and fifty must wait')
    for (let count = 0; count < 60; count += 1) ask(`visitor ${count % 30}`)
    await setImmediate()
    t.equal(refused.filter(source => source === 'flood').length, 38 + 48)
    await endAll()
    const visitors = order.filter(source => source.startsWith('visitor'))
    t.equal(order.length, 52)
    t.equal(visitors.length, 48)
    t.equal(new Set(visitors).size, 30, 'each visitor must get at least one turn')
  },
)

t.test('DO-09: if a task fails, the next waiting task starts', async t => {
  const inTurn = createTurns()
  const fail = () => inTurn('a', async () => Promise.reject(new Error('no')))
  t.equal((await Promise.allSettled(Array.from({ length: 20 }, fail))).length, 20)
  t.equal(await inTurn('b', async () => 'done'), 'done')
})

t.test(
  'DO-09: while one address sends 90 sign-ins at the same time, other addresses can sign in, and no error is logged',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const start = Object.fromEntries(new URLSearchParams(startUrl().slice(2)))
    const signIn = (remoteAddress: string, email: string, password: string) =>
      sandbox.portal.inject({
        method: 'POST',
        url: '/api/authorize',
        payload: { ...start, email, password },
        remoteAddress,
      })
    const flood = Array.from({ length: 90 }, (_, index) => signIn('2001:db8::1', `${index}@example.test`, 'wrong'))
    const right = Array.from({ length: 30 }, (_, index) => signIn(`192.0.2.${index}`, seeded.email, seeded.password))
    for (const answer of await Promise.all(right)) t.equal(answer.json().message, 'App authorization required')
    const refused = (await Promise.all(flood)).filter(({ statusCode }) => statusCode === 503)
    t.ok(refused.length >= 30, `${refused.length}`)
    t.ok(refused.every(({ headers }) => headers['retry-after'] === '2'))
    const levels = sandbox.logLines.map(line => JSON.parse(line)).filter(({ code }) => code === 'busy')
    t.equal(levels.length, refused.length)
    t.ok(levels.every(({ level }) => level === 30))
    t.notOk(sandbox.logLines.some(line => JSON.parse(line).level >= 50))
    t.equal((await openBrowser(sandbox).get('/account')).statusCode, 200)
  },
)
