// Tests that the suite can measure the memory of a client while the processes of the client change.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { usageOf } from '../../src/conformance/checks/time/usage.ts'

t.test('the memory of a client can be measured while it starts and ends worker processes', async t => {
  const child = spawn('sh', ['-c', 'while :; do (:; sleep 0.001 & sleep 0.002); done'], { stdio: 'ignore' })
  await once(child, 'spawn')
  for (let count = 0; count < 500; count++) {
    t.ok((usageOf(child.pid!)?.megabytes ?? 0) > 0)
    await setImmediate()
  }
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.equal(usageOf(child.pid!), undefined, 'a process that has ended has no memory')
})
