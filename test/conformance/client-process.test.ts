// Tests how the suite starts, restarts and stops a client that is given as a command.
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { Undecided } from '../../src/conformance/check.ts'
import { startClient } from '../../src/conformance/client-process.ts'
import { watchClient } from '../../src/conformance/client-watch.ts'
import { findFreePort, isFree } from '../support/free-port.ts'

t.test('if restart() is called several times at the same time, the client is started only once', async t => {
  let starts = 0
  const isAnswering = async () => ++starts > 0
  const client = await startClient('exec sleep 60', process.env, isAnswering)
  t.teardown(() => client.stop())
  await Promise.all([client.restart(), client.restart(), client.restart()])
  t.ok(client.isRunning())
  t.equal(starts, 2)
  await client.restart()
  t.equal(starts, 3, 'a later restart starts the client again')
})

/** Waits after each start until the client has added a line to its file. */
function untilPrinted(lines: () => string[]): () => Promise<boolean> {
  let starts = 0
  return async () => {
    starts++
    while (lines().length < starts) await setImmediate()
    return true
  }
}

t.test('a restart with changed settings does not share an earlier restart with other settings', async t => {
  const file = join(t.testdir({ ids: '' }), 'ids')
  const ids = () => readFileSync(file, 'utf8').split('\n').slice(0, -1)
  const environment = { ...process.env, CLIENT_ID: 'own' }
  const client = await startClient(`echo "$CLIENT_ID" >> "${file}"; exec sleep 60`, environment, untilPrinted(ids))
  t.teardown(() => client.stop())
  await Promise.all([client.restart(), client.restart({ CLIENT_ID: 'changed' }), client.restart()])
  t.same(ids(), ['own', 'own', 'changed', 'own'])
})

t.test(
  'a restart replaces several settings, even if the address of one is the beginning of another address',
  async t => {
    const file = join(t.testdir({ lines: '' }), 'lines')
    const lines = () => readFileSync(file, 'utf8').split('\n').slice(0, -1)
    const environment = {
      ...process.env,
      LOGIN_URL: 'http://localhost:4100',
      API_URL: 'http://localhost:41001',
      LIST: 'http://localhost:41001/apps/v1',
    }
    const command = `echo "$LOGIN_URL $API_URL $LIST" >> "${file}"; exec sleep 60`
    const client = await startClient(command, environment, untilPrinted(lines))
    t.teardown(() => client.stop())
    await client.restart({ LOGIN_URL: 'http://localhost:410010', API_URL: 'http://localhost:5' })
    t.equal(lines()[1], 'http://localhost:410010 http://localhost:5 http://localhost:5/apps/v1')
  },
)

t.test('after stop(), the client does not run, even if a restart began before stop()', async t => {
  let starts = 0
  const isAnswering = async () => ++starts > 0
  const client = await startClient('exec sleep 60', process.env, isAnswering)
  t.teardown(() => client.stop())
  const restart = client.restart()
  await client.stop()
  await restart
  t.equal(starts, 2)
  t.notOk(client.isRunning())
  await t.rejects(client.restart(), /cannot be restarted/)
  t.equal(starts, 2)
})

t.test('stop() ends the children of the client’s shell, even if they ignore signals', async t => {
  const port = await findFreePort()
  const lines = `process.on('SIGTERM', () => 0); require('node:net').createServer().listen(${port}, '127.0.0.1', () => console.log('listens'))`
  const client = await startClient(`"${process.execPath}" -e "${lines}"; true`, process.env, async () => true)
  t.teardown(() => client.stop())
  while (client.output() !== 'listens\n') await setImmediate()
  await client.stop()
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  t.pass('the address of the client is free')
  server.close()
})

t.test('if a process of the client has left its group and still answers, the client is not started again', async t => {
  const port = await findFreePort()
  const server = `require('node:net').createServer().listen(${port}, '127.0.0.1')`
  const options = `{ detached: true, stdio: 'ignore' }`
  const lines = `console.log(require('node:child_process').spawn(process.execPath, ['-e', process.argv[1]], ${options}).pid); setInterval(() => 0, 1e6)`
  // Connects to the port. Testing whether the port is free would use the port for a moment, so the server might not
  // start.
  const isAnswering = () =>
    new Promise<boolean>(resolve => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => resolve(false))
      socket.on('connect', () => {
        socket.destroy()
        resolve(true)
      })
    })
  const waitForClient = async () => {
    while (!(await isAnswering())) await setImmediate()
    return true
  }
  const command = `exec "${process.execPath}" -e "${lines}" "${server}"`
  const client = await startClient(command, process.env, waitForClient, { isAnswering })
  /** Waits until the client has printed so many ids of processes, and returns the last id. */
  const printedPid = async (count: number) => {
    while (client.output().split('\n').length <= count) await setImmediate()
    return Number(client.output().split('\n')[count - 1])
  }
  const left = await printedPid(1)
  t.teardown(() => client.stop())
  await t.rejects(client.restart(), { constructor: Undecided, message: /a program still answers at its address/ })
  const watch = watchClient({ clientProcess: client, isAnswering })
  t.match(await watch.makeReady(), 'a program still answers at its address', 'no check runs')
  process.kill(left)
  await client.restart()
  t.equal(await watch.makeReady(), undefined, 'when the address is free, the client runs again')
  process.kill(await printedPid(2))
})

t.test('if the client’s shell ends by itself, its children end as well', async t => {
  const port = await findFreePort()
  const folder = t.testdir()
  const lines = `require('node:net').createServer().listen(${port}, '127.0.0.1', () => console.log('listens'))`
  // The shell waits until the file exists, and ends without waiting for its child.
  const command = `"${process.execPath}" -e "${lines}" & while [ ! -e "${folder}/end" ]; do sleep 0.01; done`
  const client = await startClient(command, process.env, async () => true)
  t.teardown(() => client.stop())
  while (client.output() !== 'listens\n') await setImmediate()
  writeFileSync(join(folder, 'end'), '')
  while (client.isRunning()) await setImmediate()
  while (!(await isFree(port))) await setImmediate()
  t.pass('the address of the child is free')
})

t.test('on Windows, stop() ends the client and all its children with taskkill', async t => {
  const folder = t.testdir()
  // A replacement for taskkill that records its arguments, because this test also runs on systems other than Windows.
  const taskkill = `#!/bin/sh\necho "$@" >> ${folder}/calls\nkill -9 "-$2"\n`
  writeFileSync(join(folder, 'taskkill'), taskkill, { mode: 0o755 })
  // The client would sleep longer than the time limit of this test file, so it ends only if stop() ends it.
  const client = await startClient('sleep 600; true', process.env, async () => true)
  t.teardown(() => client.stop())
  const { PATH } = process.env
  const platform = Object.getOwnPropertyDescriptor(process, 'platform')!
  t.teardown(() => {
    process.env.PATH = PATH
    Object.defineProperty(process, 'platform', platform)
  })
  process.env.PATH = `${folder}:${PATH}`
  Object.defineProperty(process, 'platform', { ...platform, value: 'win32' })
  await client.stop()
  t.notOk(client.isRunning())
  t.match(readFileSync(join(folder, 'calls'), 'utf8'), /^\/pid \d+ \/t \/f\n/)
})

t.test('if the client ends by itself, unexpectedEnds() contains its exit code', async t => {
  const port = await findFreePort()
  // The client of this test ends when data arrives on a connection.
  const onData = "socket => socket.on('data', () => process.exit(3)).on('error', () => 0)"
  const lines = `require('node:net').createServer(${onData}).listen(${port}, '127.0.0.1')`
  const say = (text: string) =>
    new Promise<boolean>(resolve => {
      const socket = connect(port, '127.0.0.1', () => socket.end(text, () => resolve(true)))
      socket.on('error', () => resolve(false))
    })
  const untilListening = async (isAlive: () => boolean) => {
    while (isAlive()) if (await say('')) return true
    return false
  }
  const client = await startClient(`exec "${process.execPath}" -e "${lines}"`, process.env, untilListening)
  t.teardown(() => client.stop())
  await client.restart()
  t.same(client.unexpectedEnds(), [])
  t.ok(await say('end'))
  while (client.isRunning()) await setImmediate()
  t.same(client.unexpectedEnds(), ['with exit code 3'])
  await client.restart()
  await client.stop()
  t.same(client.unexpectedEnds(), ['with exit code 3'])
})
