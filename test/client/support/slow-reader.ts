// Reads an answer very slowly, like a browser with a bad network, or like an attacker who wants to occupy connections.
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import { memoryOf, workOf } from '../../support/process-status.ts'
import { rawGet } from '../../support/raw-socket.ts'
import type { SpawnedClient } from './spawn-client.ts'

/** Requests a page, and reads one byte of the answer every second. */
export function readSlowly(socket: Socket, path: string, cookie: string): Socket {
  socket.on('error', () => {}).write(rawGet(path, { cookie, connection: 'keep-alive' }))
  socket.once('readable', () => {
    socket.read(1)
    const timer = setInterval(() => socket.read(1), 1_000)
    socket.once('close', () => clearInterval(timer))
  })
  return socket
}

/**
 * Opens a signed-in page with two hundred slow readers. Checks that other requests get answers, and that the client
 * uses less than 256 MiB.
 */
export async function holdWithSlowReaders(t: Test, client: SpawnedClient, path: string): Promise<void> {
  const cookie = client.browser.cookieHeader()
  const sockets: Socket[] = []
  const open = async () => {
    const socket = readSlowly(connect(Number(new URL(client.url).port), '127.0.0.1'), path, cookie)
    sockets.push(socket)
    await new Promise(resolve => socket.once('readable', resolve))
  }
  for (let count = 0; count < 200; count += 10) await Promise.all(Array.from({ length: 10 }, open))

  const before = workOf(client.child.pid)
  t.equal((await client.browser.get(path)).statusCode, 200)
  t.equal((await client.get('/health/ready')).statusCode, 200)
  t.ok(workOf(client.child.pid) - before <= 1, 'other requests must get answers meanwhile')
  const memory = memoryOf(client.child.pid)
  t.ok(memory < 256, `${memory} MiB`)
  for (const socket of sockets) socket.destroy()
}
