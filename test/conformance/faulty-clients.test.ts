// Each small client with one mistake is found out by the check that is there for it.
import t from 'tap'
import { checks } from '../../src/conformance/checks.ts'
import { faults } from './clients/faults/faults.ts'
import { buildFaultyClient } from './clients/faulty-client.ts'
import { openStage, type Stage } from './support/stage.ts'

t.test('each fault is found by the check that is there for it', async t => {
  const waiting = [...faults]
  // Side by side, because some of them wait for an answer that never comes.
  await Promise.all([1, 2, 3, 4].map(() => judge()))

  async function judge(): Promise<void> {
    const stage = await openStage()
    t.teardown(stage.close)
    for (let fault = waiting.shift(); fault; fault = waiting.shift()) await judgeFault(stage, fault)
  }

  async function judgeFault(stage: Stage, { name, check: id, group }: (typeof waiting)[number]): Promise<void> {
    const named = checks.filter(check => check.id === id)
    t.same(
      named.map(check => check.group),
      [group],
      `${name}: there is a check ${id} in its group`,
    )
    const result = await stage.judgeOnce(settings => buildFaultyClient(settings, name), named[0]!)
    t.match(result.verdict, /^(failed|warned)$/, `${name}: ${id} ${result.verdict}: ${result.reason}`)
  }
})

t.test('there are faults enough, each with a name of its own', async t => {
  t.ok(faults.length >= 150, `${faults.length} faults`)
  t.equal(new Set(faults.map(({ name }) => name)).size, faults.length)
})
