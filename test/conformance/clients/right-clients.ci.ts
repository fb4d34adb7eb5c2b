// A correct client that is built in a different way must pass every check, because no check may require one implementation.
import t from 'tap'
import { checks } from '../../../src/conformance/checks.ts'
import { openStage } from '../support/stage.ts'
import { buildOtherClient, otherClientOptions } from './other-client.ts'

t.test('a correct client that is built in a different way fails no check', async t => {
  const stage = await openStage(otherClientOptions)
  t.teardown(stage.close)
  // The client keeps sessions in memory, so it has no second instance.
  const results = await stage.judge(
    buildOtherClient,
    checks.filter(({ needs }) => !needs?.includes('replica')),
  )
  t.same(
    results
      .filter(({ verdict }) => verdict === 'failed' || verdict === 'undecided')
      .map(({ id, verdict, reason }) => `${id} ${verdict}: ${reason}`),
    [],
  )
})
