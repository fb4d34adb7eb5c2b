import t from 'tap'
import { startClient } from '../../src/conformance/client-process.ts'

t.test('who restarts a client while it is being restarted waits for the same start', async t => {
  let starts = 0
  const isAnswering = async () => ++starts > 0
  const client = await startClient('exec sleep 60', process.env, isAnswering)
  t.teardown(() => client.stop())
  await Promise.all([client.restart(), client.restart(), client.restart()])
  t.ok(client.isRunning())
  t.equal(starts, 2)
  await client.restart()
  t.equal(starts, 3, 'a later restart is one of its own')
})
