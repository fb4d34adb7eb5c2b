// A port where connections are never established, as behind a firewall that drops packets.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import type { Test } from 'tap'

/**
 * This code listens with the shortest possible queue, and never accepts a connection. When the queue is full, further
 * connections wait in the kernel.
 */
const listen = `
  const { parentPort } = require('node:worker_threads')
  const server = require('node:net').createServer()
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })
`

/** Opens such a port, and fills its queue until a new connection hangs. Resolves to the address of the port. */
export async function startUnacceptingPort(t: Test): Promise<string> {
  const worker = new Worker(listen, { eval: true })
  const [port] = (await once(worker, 'message')) as [number]
  const sockets: Socket[] = []
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy()
    await worker.terminate()
  })
  for (let isFull = false; !isFull; ) {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    sockets.push(socket)
    const patience = new Promise<boolean>(resolve => setTimeout(resolve, 300, true))
    isFull = await Promise.race([once(socket, 'connect').then(() => false), patience])
  }
  return `http://127.0.0.1:${port}`
}
