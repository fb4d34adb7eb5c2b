// Tests that the process of a test can end if its sandbox cannot start.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { findFreePorts } from '../../support/free-port.ts'

t.test(
  'if a sandbox with fixed ports cannot start, startSandbox fails, and the process of the test can end',
  async t => {
    const [portalPort, apiPort] = await findFreePorts(2)
    const options = { databaseUrl: 'mysql://nowhere', ports: { portalPort, apiPort } }
    const script = `
    import { startSandbox } from '${new URL('./start-sandbox.ts', import.meta.url)}'
    const started = startSandbox({ teardown() {} }, ${JSON.stringify(options)})
    await started.catch(error => console.log(error.message))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      timeout: 30_000,
    })
    t.match(stdout, /^the sandbox ended with 1: /)
  },
)
