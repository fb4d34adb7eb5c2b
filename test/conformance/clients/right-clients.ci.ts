// A client that does nothing wrong and everything differently fails no check: none asks for one way of doing it alone.
import t from 'tap'
import { checks } from '../../../src/conformance/checks.ts'
import { openStage } from '../support/stage.ts'
import { buildOtherClient, otherClientOptions } from './other-client.ts'

t.test('a right client that does everything differently fails no check', async t => {
  const stage = await openStage(otherClientOptions)
  t.teardown(stage.close)
  // It keeps everything in its memory, and has no other instance.
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
