// Tests --watch: after the run, the command keeps running, and repeats the failed checks each time the client is
// restarted.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findFreePort } from '../support/free-port.ts'
import { startsLogins } from './support/small-clients.ts'

const { PATH, TMPDIR, NODE_COMPILE_CACHE } = process.env
const environment = { PATH, TMPDIR, NODE_COMPILE_CACHE }

t.test('with --watch, the command repeats the failed checks when the client is restarted', async t => {
  // The first version of the client prints the whole address of a callback, with the state.
  const folder = t.testdir({
    'client.mjs': startsLogins(`{ console.log(request.url); response.writeHead(500); return response.end() }`),
  })
  const file = join(folder, 'client.mjs')
  const client = `http://localhost:${await findFreePort()}`
  const only = '^(callback-nothing|start-leads-to-portal|log-refused-callback)$'
  const start = `exec "${process.execPath}" --watch "${file}"`
  const child = spawn(
    process.execPath,
    ['src/conformance/main.ts', '--client', client, '--start', start, '--only', only, '--watch'],
    { stdio: ['ignore', 'pipe', 'inherit'], env: environment },
  )
  t.teardown(() => child.kill('SIGTERM'))
  // If a round does not end, the command ends after two minutes. Then `until` returns the output so far.
  const tooLong = setTimeout(() => child.kill('SIGTERM'), 120_000)
  t.teardown(() => clearTimeout(tooLong))
  let output = ''
  const until = async (wanted: RegExp) => {
    for await (const chunk of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
      output += chunk
      if (wanted.test(output)) break
    }
    const seen = output
    output = ''
    return seen
  }
  const first = await until(/Ctrl\+C ends the command\./)
  t.match(first, '1 passed, 2 failed')
  t.match(first, '2 checks run again when the client restarts')
  // The second version prints a code of the check when it starts.
  const right = startsLogins(`{ response.writeHead(400); return response.end('no') }`)
  writeFileSync(file, `console.log('refused-code-4f8a1c7e2b')\n${right}`)
  const second = await until(/Ctrl\+C ends the command\./)
  t.match(second, '2 passed, 1 failed', 'a round includes what the client prints when it starts')
  t.match(second, '1 check runs again when the client restarts')
  writeFileSync(file, right)
  const third = await until(/Ctrl\+C ends the command\./)
  t.match(third, '3 passed, 0 failed', 'a round leaves out what an earlier version has printed')
  t.match(third, 'All checks run again')
  child.kill('SIGINT')
  const [code] = await once(child, 'exit')
  t.equal(code, 0, 'the last round passed')
})
