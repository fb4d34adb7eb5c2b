// Tests the check `time-left-logins` with a real process, because the check reads the memory and the connections of the
// client's process.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findFreePort } from '../support/free-port.ts'

/** The source of a client that redirects to the portal, and runs `keep` for each login. */
const client = (keep: string) => `
  import { createServer } from 'node:http'
  import { connect } from 'node:net'
  const { LOGIN_URL, PORT } = process.env
  const kept = []
  let count = 0
  createServer((request, response) => {
    ${keep}
    response.writeHead(302, { location: LOGIN_URL }).end()
  }).listen(PORT, 'localhost')`

async function judge(t: Test, keep: string): Promise<string> {
  const file = join(t.testdir({ 'client.mjs': client(keep) }), 'client.mjs')
  const { PATH, TMPDIR, NODE_COMPILE_CACHE } = process.env
  const start = `"${process.execPath}" "${file}"`
  const at = `http://localhost:${await findFreePort()}`
  return new Promise(resolve => {
    execFile(
      process.execPath,
      ['src/conformance/main.ts', '--client', at, '--start', start, '--only', '^time-left-logins$'],
      { env: { PATH, TMPDIR, NODE_COMPILE_CACHE } },
      (_error, stdout, stderr) => resolve(stdout + stderr),
    )
  })
}

t.test(
  'if a client keeps memory or a connection for every login, the check `time-left-logins` fails',
  { skip: !existsSync('/proc') },
  async t => {
    t.match(await judge(t, ''), '1 passed, 0 failed, 0 warned')
    t.match(await judge(t, 'kept.push(Buffer.alloc(300_000, 1))'), /the client uses \d+ MB more/)
    const others = createServer().listen(0, 'localhost')
    await once(others, 'listening')
    t.teardown(() => others.close())
    const { port } = others.address() as AddressInfo
    t.match(
      await judge(t, `if (++count % 3 === 0) kept.push(connect(${port}, 'localhost').unref())`),
      /\d+ more open connections/,
    )
  },
)
