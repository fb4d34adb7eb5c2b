// If a browser requests thousands of pages on one connection and does not read the answers, other connections still
// work well.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { workOf } from '../../support/process-status.ts'
import { askOften, openSocket } from '../../support/raw-socket.ts'
import { buildTestClient } from '../support/build-test-client.ts'
import { type SpawnedClient, smallHeap, spawnClient } from '../support/spawn-client.ts'

/** Repeats one short request until the copies fill 64 KiB. */
function pipelined(request: string): Buffer {
  const bytes = Buffer.from(`${request} HTTP/1.1\r\nhost:x\r\n\r\n`)
  return Buffer.alloc(64 * 1024 - ((64 * 1024) % bytes.length), bytes)
}

/** Sends the bytes on this many connections at the same time. Resolves when every connection is closed. */
async function flood(t: Test, { url }: SpawnedClient, request: string, connections: number) {
  const { hostname, port } = new URL(url)
  const bytes = pipelined(request)
  const sockets: Socket[] = []
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  while (sockets.length < connections) {
    // This socket never reads, so the answers stay in the client's memory.
    const socket = connect(Number(port), hostname).on('error', () => {})
    sockets.push(socket)
    await once(socket, 'connect')
  }
  const cut = sockets.map(async socket => {
    socket.write(bytes)
    // This socket does not read, so only a failed write shows that the client has closed the connection.
    while (!socket.destroyed) {
      await new Promise(resolve => setTimeout(resolve, 20))
      socket.write('x')
    }
  })
  await Promise.all(cut)
}

/** Returns the largest amount of memory that the process has ever used, in MiB. */
function peakOf(pid: number | undefined): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
}

/** All these tests share one process: if one test does not free its memory, the peak of the next test is higher. */
const small = await spawnClient(t, {}, { prefix: smallHeap })

for (const [request, connections] of [
  ['GET /', 30],
  ['GET /', 300],
  ['GET /login', 30],
  ['GET /nowhere', 30],
  ['GET /health/ready', 30],
] as const) {
  t.test(
    `DO-07: the client answers other requests while ${connections} connections pipeline ${request} and do not read the answers`,
    async t => {
      t.equal((await small.get('/')).statusCode, 200)
      const flooded = flood(t, small, request, connections)
      const before = workOf(small.child.pid)
      t.equal((await small.get('/')).statusCode, 200)
      t.equal((await small.get('/health/ready')).statusCode, 200)
      const worked = workOf(small.child.pid) - before
      t.ok(worked < 5, `other requests must not wait long because of this connection: ${worked} s of work`)
      await flooded
      const peak = peakOf(small.child.pid)
      t.ok(peak < 256, `${peak} MiB`)
      t.comment(`${peak} MiB`)
      t.equal(small.child.exitCode, null)
    },
  )
}

t.test('DO-07: if a connection has too many open requests, the client closes only this connection', async t => {
  const client = await spawnClient(t, {})
  const { hostname, port } = new URL(client.url)
  const post = 'POST /logout HTTP/1.1\r\nhost:x\r\n'
  for (const request of [
    'GET / HTTP/1.1\r\n\r\n',
    'GET / HTTP/1.1\r\nhost:x\r\nexpect: more\r\n\r\n',
    `${post}expect: 100-continue\r\ncontent-length:1\r\n\r\na`,
    `${post}transfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n`,
    'GET / HTTP/1.1\r\nhost:x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
    'CONNECT x:1 HTTP/1.1\r\nhost:x\r\n\r\n',
    'x\r\n\r\n',
  ]) {
    const socket = connect(Number(port), hostname).on('error', () => {})
    await once(socket, 'connect')
    socket.write('GET /nowhere HTTP/1.1\r\nhost:x\r\n\r\n'.repeat(9) + request.repeat(10))
    await once(socket.resume(), 'close')
    t.equal((await client.get('/')).statusCode, 200, JSON.stringify(request))
  }
})

for (const [what, request] of [
  ['do not name a host', 'GET / HTTP/1.1\r\n\r\n'],
  ['expect something odd', 'GET / HTTP/1.1\r\nhost:x\r\nexpect: more\r\n\r\n'],
] as const) {
  t.test(
    `DO-07: the limit on open requests also applies to requests that ${what}, although Node itself answers these requests`,
    async t => {
      const { client, log } = await buildTestClient(t)
      const socket = await openSocket(client)
      socket.write(request.repeat(9))
      await once(socket.resume(), 'close')
      t.equal(log.filter(line => JSON.parse(line).event === 'pipelined_too_much').length, 1)
    },
  )
}

t.test(
  'DO-07: a visitor can send a few requests on one connection without waiting for the answers, or any number of requests one after the other',
  async t => {
    const { client } = await buildTestClient(t)
    const url = await client.listen({ host: '127.0.0.1', port: 0 })
    t.equal((await askOften(url, '/health/live', 800)).match(/HTTP\/1\.1 200 /g)?.length, 800)
  },
)

t.test(
  'DO-07: if the client closes a connection because of too many open requests, it writes one log line',
  async t => {
    const { client, log } = await buildTestClient(t)
    const socket = await openSocket(client)
    socket.write(pipelined('GET /'))
    await once(socket.resume(), 'close')
    const events = log.map(line => JSON.parse(line).event)
    t.equal(events.filter(event => event === 'pipelined_too_much').length, 1)
    t.ok(events.filter(event => event === 'request').length <= 8, 'the client must not handle the other requests')
  },
)
