// Tests npm run dev: its log lines are readable, it serves changed templates and assets immediately, and it restarts
// when code changes.

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { request } from 'undici'

/** Copies the client with the small product into a new folder, and starts the copy in the same way as `npm run dev`. */
function startDev(t: Test) {
  const folder = t.testdir()
  for (const path of ['src/client', 'views/client', 'test/client/support', 'package.json'])
    cpSync(path, join(folder, path), { recursive: true })
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  const settings = {
    HOST: '127.0.0.1',
    PORT: '0',
    LOGIN_URL: 'http://127.0.0.1:1',
    API_URL: 'http://127.0.0.1:1',
    CLIENT_ID: 'client-1',
    CLIENT_SECRET: 'a-good-client-credential',
    COOKIE_KEYS: randomBytes(32).toString('base64url'),
  }
  const lines = Object.entries(settings).map(setting => setting.join('='))
  writeFileSync(join(folder, '.env'), lines.join('\n'))
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
  const [, command = ''] = /exec node (.*)$/.exec(scripts.dev!) ?? []
  const parameters = command.replace('src/client/main.ts', 'test/client/support/small-main.ts')
  const child = spawn(process.execPath, parameters.split(' '), {
    cwd: folder,
    env: { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(async () => {
    child.kill('SIGTERM')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  const output = createInterface(child.stdout)[Symbol.asyncIterator]()
  /** Waits for the next line of the log that matches, and resolves to this line. */
  async function nextLine(pattern: RegExp): Promise<string> {
    for (;;) {
      const { value, done } = await output.next()
      if (done) throw new Error(`The client ended without a line like ${pattern}`)
      if (pattern.test(value)) return value
    }
  }
  return { folder, nextLine }
}

async function get(url: string): Promise<{ headers: Record<string, unknown>; body: string }> {
  const { headers, body } = await request(url, { reset: true })
  return { headers, body: await body.text() }
}

t.test(
  'npm run dev prints readable lines, shows changed pages immediately, and restarts when code changes',
  async t => {
    const { folder, nextLine } = startDev(t)
    const findAddress = async () => /http:\/\/\S+/.exec(await nextLine(/Server listening at/))![0]
    t.match(await nextLine(/settings/), /^\[\d\d:\d\d:\d\d\] INFO: settings /)
    const address = await findAddress()

    const home = join(folder, 'views/client/home.eta')
    t.notMatch((await get(address)).body, 'Come in')
    appendFileSync(home, '<p>Come in</p>')
    const page = (await get(address)).body
    t.match(page, 'Come in')

    appendFileSync(join(folder, 'views/client/assets/style.css'), '/* changed */')
    const style = await get(new URL(/href="([^"]+\.css)"/.exec(page)![1]!, address).href)
    t.match(style.body, '/* changed */')
    t.equal(style.headers['cache-control'], 'no-store')

    const texts = join(folder, 'src/client/start-texts.ts')
    writeFileSync(texts, readFileSync(texts, 'utf8').replace("title: 'Start'", "title: 'Restarted'"))
    t.match((await get(await findAddress())).body, '<title>Restarted')
  },
)
