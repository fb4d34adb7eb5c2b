// Many requests at once on one connection: a few are answered, and more cut the connection before they cost anything.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import t from 'tap'
import { startUrl } from './support/browser.ts'
import { buildTestSandbox, makeSqliteUrl } from './support/build-test-sandbox.ts'
import { openSocket } from './support/raw-socket.ts'
import { startSandbox } from './support/start-sandbox.ts'

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`

/** 64 KiB of the same request. */
const flood = (path: string) => get(path).repeat(Math.ceil(65_536 / get(path).length))

/** The most memory that the process ever held, in MiB. */
function peakOf(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

t.test(
  'DO-06, DO-07: 30 connections of 64 KiB of requests that read nothing do not take a process of 256 MiB',
  { skip: process.platform !== 'linux' && 'the memory is read from /proc' },
  async t => {
    const databaseUrl = await makeSqliteUrl(t)
    const prefix = ['env', 'NODE_OPTIONS=--max-old-space-size=128']
    const sandbox = await startSandbox(t, { databaseUrl, prefix })
    const cases: [number, string][] = [
      [sandbox.portalPort, '/'],
      [sandbox.portalPort, startUrl()],
      [sandbox.portalPort, '/%E0%A4%A'],
      [sandbox.portalPort, '/nowhere'],
      [sandbox.apiPort, '/'],
      [sandbox.apiPort, '/apps/v1/openapi.json'],
    ]
    for (const [port, path] of cases) {
      const cut = Array.from({ length: 30 }, async () => {
        const socket = connect(port, '127.0.0.1').on('error', () => undefined)
        await once(socket, 'connect')
        socket.pause().write(flood(path))
        // It reads nothing, and so learns of the end by a reset.
        await new Promise(resolve => socket.once('close', resolve).resume())
      })
      await Promise.all(cut)
      for (const listener of [sandbox.portal, sandbox.api])
        t.equal((await listener.inject('/health/live')).statusCode, 200, path)
    }
    const peak = peakOf(sandbox.pid)
    t.comment(`${Math.round(peak)} MiB at most`)
    t.ok(peak < 256, `${peak} MiB`)
    t.equal(await sandbox.stop(), 0)
  },
)

t.test('eight requests at once on one connection are answered in their order, again and again', async t => {
  const { portal, api } = await buildTestSandbox(t)
  for (const listener of [portal, api]) {
    const socket = await openSocket(listener)
    let answer = ''
    socket.on('data', piece => {
      answer += piece
    })
    for (let round = 1; round <= 20; round += 1) {
      socket.write(get('/health/live').repeat(7) + get('/nowhere'))
      while ([...answer.matchAll(/HTTP\/1\.1 404 /g)].length < round) await once(socket, 'data')
    }
    const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status)
    t.equal(statuses.length, 160)
    t.ok(statuses.every((status, index) => status === (index % 8 === 7 ? '404' : '200')))
    socket.destroy()
  }
})
