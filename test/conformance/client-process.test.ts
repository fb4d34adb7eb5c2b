import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { startClient } from '../../src/conformance/client-process.ts'
import { findFreePort } from '../support/free-port.ts'

t.test('two restarts at the same time share one start', async t => {
  let starts = 0
  const isAnswering = async () => ++starts > 0
  const client = await startClient('exec sleep 60', process.env, isAnswering)
  t.teardown(() => client.stop())
  await Promise.all([client.restart(), client.restart(), client.restart()])
  t.ok(client.isRunning())
  t.equal(starts, 2)
  await client.restart()
  t.equal(starts, 3, 'a later restart is one of its own')
})

t.test('after stop(), the client is not started again, even if a restart had begun before', async t => {
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
  t.pass('its address is free')
  server.close()
})

t.test('on Windows taskkill ends the client and all its children', async t => {
  const folder = t.testdir()
  // This test sees only the arguments of taskkill. On Windows, the real program ends the named processes.
  const taskkill = `#!/bin/sh\necho "$@" >> ${folder}/calls\nkill -9 "-$2"\n`
  writeFileSync(join(folder, 'taskkill'), taskkill, { mode: 0o755 })
  // Longer than the time limit of the test file, so the client ends only if the program ends it.
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

t.test('if the process ends and the suite has not stopped it, the end is unexpected', async t => {
  const port = await findFreePort()
  // The program ends when data arrives on a connection.
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
