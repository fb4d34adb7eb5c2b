import t from 'tap'
import { checks } from '../../src/conformance/checks.ts'
import type { Result } from '../../src/conformance/run-checks.ts'
import { buildClient } from './clients/client.ts'
import { faults } from './clients/faults/faults.ts'
import { buildFaultyClient } from './clients/faulty-client.ts'
import { buildOtherClient, otherClientOptions } from './clients/other-client.ts'
import { right } from './clients/parts.ts'
import { openStage, type Stage } from './support/stage.ts'

const isBlamed = ({ verdict }: Result) => verdict !== 'passed' && verdict !== 'not applicable'
const tell = ({ id, verdict, reason }: Result) => `${id} ${verdict}: ${reason}`

t.test('a right client is blamed for nothing', async t => {
  const stage = await openStage()
  t.teardown(stage.close)
  const results = await stage.judge(buildFaultyClient, checks)
  t.same(results.filter(isBlamed).map(tell), [])
})

t.test('a right client that does everything differently fails no check', async t => {
  const stage = await openStage(otherClientOptions)
  t.teardown(stage.close)
  // It keeps everything in its memory, and has no other instance.
  const results = await stage.judge(
    buildOtherClient,
    checks.filter(({ needs }) => !needs?.includes('replica')),
  )
  t.same(results.filter(({ verdict }) => verdict === 'failed' || verdict === 'undecided').map(tell), [])
})

t.test('a random state that stands in its cookie as it is, is not called a guess', async t => {
  const stage = await openStage()
  t.teardown(stage.close)
  const results = await stage.judge(
    settings => buildClient(settings, { ...right, sealLogin: (_visit, _name, { state }) => state }),
    checks.filter(({ id }) => id === 'state-not-of-time'),
  )
  t.same(
    results.map(({ verdict }) => verdict),
    ['passed'],
  )
})

t.test('each fault is found by the check that is there for it', async t => {
  const waiting = [...faults]
  // Side by side, because some of them wait for an answer that never comes.
  await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(() => judge()))

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
    const [result] = await stage.judge(settings => buildFaultyClient(settings, name), named)
    t.match(result?.verdict, /^(failed|warned)$/, `${name}: ${result && tell(result)}`)
  }
})

t.test('there are faults enough, each with a name of its own', async t => {
  t.ok(faults.length >= 150, `${faults.length} faults`)
  t.equal(new Set(faults.map(({ name }) => name)).size, faults.length)
})
