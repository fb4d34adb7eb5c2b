// Tests that no check fails for a correct client, even if it is built differently: checks must not require a certain
// implementation.
import t from 'tap'
import { checks } from '../../../src/conformance/checks.ts'
import { openStage } from '../support/stage.ts'
import { buildOtherClient, otherClientOptions } from './other-client.ts'

t.setTimeout(1_800_000)

t.test('no check fails for a correct client, even if it is built differently from the small client', async t => {
  // The client keeps sessions in memory, so it has no second instance.
  const stage = await openStage(otherClientOptions, { hasReplica: false })
  t.teardown(stage.close)
  const results = await stage.judge(buildOtherClient, checks)
  t.same(
    results
      .filter(({ verdict }) => ['failed', 'undecided', 'not run'].includes(verdict))
      .map(({ id, verdict, reason }) => `${id} ${verdict}: ${reason}`),
    [],
  )
})
