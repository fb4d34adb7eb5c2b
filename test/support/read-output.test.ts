// Tests that a test does not wait forever for the output of a process that has ended.
import { spawn } from 'node:child_process'
import t from 'tap'
import { readOutput } from './read-output.ts'

for (const [end, how] of [
  ['process.exit(3)', '3'],
  ["process.kill(process.pid, 'SIGKILL')", 'SIGKILL'],
] as const)
  t.test(`if a process ends with ${how}, waiting for its output fails and shows the output`, async t => {
    const script = `process.stdout.write('so far', () => ${end})`
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'pipe'] })
    const { waitForOutput } = readOutput(child)
    await waitForOutput('so far')
    await t.rejects(waitForOutput('more'), { message: `The process has ended (${how}). It printed:\nso far` })
    await t.rejects(waitForOutput('more'), 'waiting must also fail if the process ended earlier')
  })
