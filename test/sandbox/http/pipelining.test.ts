// Sends many requests on one connection, without waiting for answers. The sandbox answers a few requests. If there are
// more requests, the sandbox closes the connection.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import t from 'tap'
import { addClientSecret } from '../../../src/sandbox/store/client-secrets.ts'
import { openSocket } from '../../support/raw-socket.ts'
import { getAccessToken, startUrl } from '../support/browser.ts'
import { buildTestSandbox, makeSqliteUrl, seeded } from '../support/build-test-sandbox.ts'
import { callFromPortal, callWith } from '../support/call-api.ts'
import { addApplications, addGroups } from '../support/fill-groups.ts'
import { openAsDeveloper } from '../support/forms.ts'
import { startSandbox } from '../support/start-sandbox.ts'

const get = (path: string, header = '') => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${header}\r\n`

/** Repeats one request until the text is 64 KiB long. */
const flood = (path: string) => get(path).repeat(Math.ceil(65_536 / get(path).length))

/** Returns the largest amount of memory that the process has ever used, in MiB. */
function peakOf(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

t.test(
  'DO-06, DO-07: if 30 connections send 64 KiB of requests each and read no answers, the sandbox uses less than 256 MiB',
  { skip: process.platform !== 'linux' && 'the memory is read from /proc' },
  async t => {
    const databaseUrl = await makeSqliteUrl(t)
    const sandbox = await startSandbox(t, { databaseUrl, nodeOptions: '--max-old-space-size=128' })
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
        // The test has read nothing so far. A socket must read to notice that its connection was closed, so the sockets
        // now start to read.
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

t.test(
  'AP-13, DO-07: if 300 connections request a long list eight times each and read no answers, the sandbox uses less than 384 MiB',
  { skip: process.platform !== 'linux' && 'the memory is read from /proc' },
  async t => {
    const databaseUrl = await makeSqliteUrl(t)
    const filled = await buildTestSandbox(t, { databaseUrl, at: new Date() })
    const accessToken = await getAccessToken(filled)
    const { userId } = await callWith(filled, accessToken)
    const own = await callFromPortal(filled, await openAsDeveloper(filled))
    // Each group is full. Half of the groups have many applications, and the others have a few applications of the
    // largest size.
    const redirectUris = Array.from({ length: 30 }, (_, index) => `https://a.example.test/${index}`.padEnd(2000, 'x'))
    for (const [index, groupId] of (await addGroups(filled, userId, 19)).entries())
      await addApplications(
        filled,
        index % 2
          ? { groupId, userId, count: 4, fields: { redirectUris } }
          : { groupId, userId, count: 100, fields: { description: 'd'.repeat(2000) } },
      )
    await filled.store.transaction(async db => {
      for (const { id } of await db
        .selectFrom('applications')
        .select('id')
        .where('id', '!=', seeded.clientId)
        .execute())
        await addClientSecret(db, id, `hash ${id}`, { maker: { userId, clientId: null }, now: filled.now() })
    })
    const sandbox = await startSandbox(t, { databaseUrl, nodeOptions: '--max-old-space-size=128' })
    const flooders = Array.from({ length: 300 }, () =>
      connect(sandbox.apiPort, '127.0.0.1').on('error', () => undefined),
    )
    const ask = get('/apps/v1', `Authorization: Bearer ${accessToken}\r\n`)
    for (const socket of flooders) socket.pause().write(ask.repeat(8))

    // When the sandbox has answered these two requests, it has also processed the requests of the other connections,
    // and the number of unread answers no longer grows.
    const headers = { authorization: `Bearer ${own.accessToken}` }
    for (let round = 1; round <= 2; round += 1) {
      const list = await sandbox.api.inject({ url: '/apps/v1', headers })
      t.equal(list.json().ItemList.length, 1 + 10 * 100 + 9 * 4)
    }
    const peak = peakOf(sandbox.pid)
    t.comment(`${Math.round(peak)} MiB at most`)
    // All answers together would take 1.3 GB. The limit is larger than the heap, because a busy process uses its whole
    // heap.
    t.ok(peak < 384, `${peak} MiB`)
    for (const socket of flooders) socket.destroy()
    t.equal((await sandbox.api.inject('/health/live')).statusCode, 200)
    t.equal(await sandbox.stop(), 0, 'the sandbox must stop although answers are not read')
  },
)

t.test(
  'if a client sends eight requests on one connection without waiting for answers, the answers come in order, and the client can send eight more',
  async t => {
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
  },
)
