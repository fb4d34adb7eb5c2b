// Tests docs/how-to/behind-a-proxy.md: the conformance suite judges two replicas of the client behind each proxy in the
// document.
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { generate } from 'selfsigned'
import t from 'tap'
import { findFreePort } from '../support/free-port.ts'
import { proxyCommand } from './proxy-command.ts'

t.setTimeout(600_000)

const checks =
  '^(login-works|cookie-|logout-|create-works$|create-once$|tabs-|start-|return-to-|page-from-another-site|token-answer-9-kb)'

/**
 * Starts the proxy without replicas of the client, requests two pages, and returns what the proxy logs about the failed
 * requests.
 */
async function logWithoutReplicas(proxy: 'nginx' | 'caddy', folder: string, url: string, ca: string): Promise<string> {
  const child = spawn(...proxyCommand(proxy, folder), {
    env: { ...process.env, HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const printed = text(child.stderr)
  for (const path of ['/applications', '/exchangeToken?code=c1&state=s1'])
    while ((await statusOf(url + path, ca)) < 500) await setTimeout(100)
  child.kill()
  const output = await printed
  return proxy === 'nginx' ? readFileSync(join(folder, 'error.log'), 'utf8') : output
}

/** Resolves to the status of the response, or to 0 if the proxy does not accept the connection. */
function statusOf(url: string, ca: string): Promise<number> {
  return new Promise(resolve => {
    const request = get(url, { ca, agent: false }, response => resolve(response.resume().statusCode ?? 0))
    request.on('error', () => resolve(0))
  })
}

for (const proxy of ['nginx', 'caddy', 'haproxy'] as const) {
  const isThere = [`/usr/sbin/${proxy}`, `/usr/bin/${proxy}`].some(existsSync)
  t.test(
    `people can sign in, create an application and sign out through ${proxy}`,
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
      if (proxy === 'haproxy') return
      const log = await logWithoutReplicas(proxy, folder, url, cert)
      t.match(log, '/applications', 'the error log must name the address that failed')
      t.notMatch(log, 'code=')
      if (proxy === 'caddy') return
      const accessLog = readFileSync(join(folder, 'access.log'), 'utf8')
      t.match(accessLog, '"GET /exchangeToken" 200')
      t.match(accessLog, '"GET /exchangeToken" 502')
      t.notMatch(accessLog, 'code=')
    },
  )
}
