// docs/how-to/behind-a-proxy.md: conformance judges two replicas of the client behind each proxy of the document.
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import t from 'tap'
import { findFreePort } from '../support/free-port.ts'

t.setTimeout(600_000)

const checks =
  '^(login-works|cookie-|logout-|create-works$|create-once$|tabs-|start-|return-to-|page-from-another-site|token-answer-9-kb)'

for (const proxy of ['nginx', 'caddy', 'haproxy']) {
  const isThere = [`/usr/sbin/${proxy}`, `/usr/bin/${proxy}`].some(existsSync)
  t.test(
    `people sign in, create and sign out through ${proxy}`,
    { skip: !isThere && `this machine has no ${proxy}` },
    async t => {
      const folder = mkdtempSync(join(tmpdir(), 'proxy-'))
      t.teardown(() => rmSync(folder, { recursive: true, force: true }))
      const { cert, private: key } = await generate([{ name: 'commonName', value: 'localhost' }], {
        algorithm: 'sha256',
        extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
      })
      writeFileSync(join(folder, 'certificate.pem'), cert)
      writeFileSync(join(folder, 'key.pem'), key)

      const url = `https://localhost:${await findFreePort()}`
      const start = `${process.execPath} test/how-to/start-behind-proxy.ts ${proxy} ${folder}`
      const { code, output } = await new Promise<{ code: number; output: string }>(resolve => {
        const options = ['--client', url, '--start', start, '--only', checks, '--allow-undecided']
        execFile(
          process.execPath,
          ['src/conformance/main.ts', ...options],
          { maxBuffer: 2 ** 26, env: { ...process.env, NODE_EXTRA_CA_CERTS: join(folder, 'certificate.pem') } },
          (error, output) => resolve({ code: error ? Number(error.code) : 0, output }),
        )
      })
      t.equal(code, 0, 'nothing fails', { output: output.slice(-20_000) })
      t.match(output, /\d{2,} passed, 0 failed/)
      if (proxy !== 'nginx') return
      const log = readFileSync(join(folder, 'access.log'), 'utf8')
      t.match(log, '"GET /exchangeToken" 200')
      t.notMatch(log, 'code=')
    },
  )
}
