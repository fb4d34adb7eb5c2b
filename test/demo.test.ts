// The demo says when what was made in it keeps its own words from being true, and how to undo that.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { findFreePort } from './support/free-port.ts'

t.setTimeout(120_000)

/** Starts the demo, with its data in this folder, and stops it as soon as it runs: what it has printed. */
async function visitDemo(t: Test, folder: string, ports: number[], option?: string, visit?: string): Promise<string> {
  const [port, portalPort, apiPort, labPort] = ports
  const demo = spawn(process.execPath, [resolve('src/demo.ts'), ...(option ? [option] : [])], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      PORT: `${port}`,
      PORTAL_PORT: `${portalPort}`,
      API_PORT: `${apiPort}`,
      LAB_PORT: `${labPort}`,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => demo.kill('SIGKILL'))
  let output = ''
  for (const stream of [demo.stdout, demo.stderr]) stream.on('data', chunk => (output += chunk))
  const closed = once(demo, 'close')
  while (!output.includes('Lab: ')) {
    await Promise.race([once(demo.stdout, 'data'), closed])
    if (demo.exitCode !== null) throw new Error(`the demo ended early: ${output}`)
  }
  if (visit) {
    await fetch(`http://127.0.0.1:${portalPort}${visit}`)
    while (!output.includes('Refused: ')) await once(demo.stdout, 'data')
  }
  demo.kill('SIGTERM')
  t.strictSame(await closed, [0, null])
  return output
}

t.test('the demo says that its client or password was changed, and --seed undoes that', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'demo-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const ports = await Promise.all([findFreePort(), findFreePort(), findFreePort(), findFreePort()])
  const change = (statement: string) => {
    const file = new DatabaseSync(join(folder, 'data/demo.db'))
    file.exec(statement)
    file.close()
  }
  t.match(
    await visitDemo(t, folder, ports),
    /^Open: .*\nE-mail: .*\nPassword: .*\nLab: http:\/\/127.0.0.1:\d+\n$/,
    'a new demo says nothing of it',
  )
  const otherHash = '$argon2id$v=19$m=19456,t=2,p=1$EWYXOQaWLxiXd448pjoyUw$FSE29utEYAfR9ubxfFmQngNVt96IF1WWsv6-aO3jylo'
  const changes = [
    [
      `update client_secrets set hash = 'another'; update users set password_hash = '${otherHash}'`,
      'the client secret no longer works, the password was changed',
    ],
    ['delete from applications', 'the application was removed'],
  ] as const
  for (const [statement, news] of changes) {
    change(statement)
    t.match(
      await visitDemo(t, folder, ports),
      `Since the demo was made, ${news}. To undo that: npm run demo -- --seed\n`,
    )
    t.notMatch(await visitDemo(t, folder, ports, '--seed'), 'Since the demo was made')
  }
})

t.test('the demo prints a line for each refusal, which leads to the laboratory and repeats nothing', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'demo-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const ports = await Promise.all([findFreePort(), findFreePort(), findFreePort(), findFreePort()])
  const output = await visitDemo(t, folder, ports, undefined, '/?client_id=a-stranger-s-text&state=secret-state')
  const line =
    /^Refused: authorize, client-unknown, an unknown client \(http:\/\/127\.0\.0\.1:(\d+)\/requests\/[\w-]+\)$/m
  t.equal(line.exec(output)?.[1], `${ports[3]}`)
  t.notMatch(output, /a-stranger-s-text|secret-state/)
})
