// Finds a free port for a server whose address must be known before the server listens.
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

// The ports are below those that the operating system assigns, and above those that browsers refuse (up to 10080).
const lowest = 10_100
const own = 25
const blocks = 876

let block: Promise<number> | undefined
let asked = 0

/**
 * Two processes never get the same port, because each process has its own block of ports while it runs. Two calls in a
 * row in one process also return different ports.
 */
export async function findFreePort(): Promise<number> {
  block ??= takeBlock()
  const first = await block
  for (;;) {
    const port = first + 1 + (asked++ % (own - 1))
    if (await isFree(port)) return port
  }
}

/** Resolves to false if another program listens on this port. */
export async function isFree(port: number): Promise<boolean> {
  const server = await listen(port)
  if (server) await once(server.close(), 'close')
  return server !== undefined
}

/** Returns `count` free ports. The type of the result lets a test destructure up to four ports. */
export async function findFreePorts(count: number): Promise<[number, number, number, number, ...number[]]> {
  const ports: number[] = []
  while (ports.length < count) ports.push(await findFreePort())
  return ports as [number, number, number, number, ...number[]]
}

/**
 * A process owns a block while it listens on the first port of the block. The system frees the port when the process
 * ends.
 */
async function takeBlock(): Promise<number> {
  for (let place = process.pid; ; place += 1) {
    const first = lowest + (place % blocks) * own
    const server = await listen(first)
    if (server) {
      server.unref()
      return first
    }
  }
}

/** Resolves to a server on this port, or to undefined if another program listens on the port. */
async function listen(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, '127.0.0.1')
  return once(server, 'listening').then(
    () => server,
    () => undefined,
  )
}
