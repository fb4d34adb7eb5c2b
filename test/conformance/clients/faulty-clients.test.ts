// Each small client with one mistake is found out by the check that is there for it.
import { once } from 'node:events'
import { createServer } from 'node:http'
import t, { type Test } from 'tap'
import { checks } from '../../../src/conformance/checks.ts'
import { openStage, type Stage } from '../support/stage.ts'
import { faults } from './faults/faults.ts'
import { buildFaultyClient } from './faulty-client.ts'

/** Closes with the test. */
async function open(t: Test): Promise<Stage> {
  const stage = await openStage()
  t.teardown(stage.close)
  return stage
}

t.test('each fault is found by the check that is there for it', async t => {
  const waiting = [...faults]
  const stages: Stage[] = []
  while (stages.length < 8) stages.push(await open(t))
  // Side by side, because some of them wait for an answer that never comes.
  await Promise.all(stages.map(judge))

  async function judge(stage: Stage): Promise<void> {
    for (let fault = waiting.shift(); fault; fault = waiting.shift()) await judgeFault(stage, fault)
  }

  async function judgeFault(stage: Stage, { name, check: id }: (typeof waiting)[number]): Promise<void> {
    const named = checks.filter(check => check.id === id)
    t.equal(named.length, 1, `${name}: there is a check ${id}`)
    // A client that cannot be started is one more failure, and no reason for the others to be left in the middle.
    const result = await stage
      .judgeOnce(settings => buildFaultyClient(settings, name), named[0]!)
      .catch((error: Error) => ({ verdict: 'not judged', reason: error.message }))
    t.match(result.verdict, /^(failed|warned)$/, `${name}: ${id} ${result.verdict}: ${result.reason}`)
  }
})

t.test('a client whose address is taken is not judged, and leaves nothing behind', async t => {
  const stage = await open(t)
  const other = createServer().listen(Number(new URL(stage.client).port), 'localhost')
  await once(other, 'listening')
  const [{ name, check: id }] = faults as [(typeof faults)[number]]
  const judge = () =>
    stage.judgeOnce(settings => buildFaultyClient(settings, name), checks.find(check => check.id === id)!)
  await t.rejects(judge(), /EADDRINUSE/)
  await once(other.close(), 'close')
  t.match((await judge()).verdict, /^(failed|warned)$/)
})

t.test('there are faults enough, each with a name of its own', async t => {
  t.ok(faults.length >= 150, `${faults.length} faults`)
  t.equal(new Set(faults.map(({ name }) => name)).size, faults.length)
})
