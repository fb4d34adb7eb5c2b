// Tests the programs that end with a message if Node is too old. In a job that runs the suite, exit code 1 would mean
// that the client broke a rule.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import t from 'tap'

const pretendOldNode = "Object.defineProperty(process, 'versions', { value: { node: '20.19.0' } })"

// A starter does not have the folder bin.
for (const program of ['check-node.mjs', 'bin/application.mjs'].filter(path => existsSync(path)))
  t.test(`with an old Node, ${program} ends with exit code 2, as if the suite could not run`, async t => {
    // The program gets no environment, because tap's own modules need a new Node.
    const { status, stderr } = spawnSync(
      'env',
      ['-i', process.execPath, '--import', `data:text/javascript,${pretendOldNode}`, program, 'conformance'],
      { encoding: 'utf8' },
    )
    t.equal(status, 2)
    t.match(stderr, 'needs Node.js 24 or later')
  })
