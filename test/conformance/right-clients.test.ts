// Clients that do nothing wrong are blamed for nothing.
import t from 'tap'
import { checks } from '../../src/conformance/checks.ts'
import type { Result } from '../../src/conformance/run-checks.ts'
import { buildClient } from './clients/client.ts'
import { buildFaultyClient } from './clients/faulty-client.ts'
import { buildOtherClient, otherClientOptions } from './clients/other-client.ts'
import { right } from './clients/parts.ts'
import { openStage } from './support/stage.ts'

// Each has a stage of its own, and waits for much.
t.jobs = 3

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
