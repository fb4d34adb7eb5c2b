// A free port, for a server whose address must be known before it listens.
import { once } from 'node:events'
import { createServer } from 'node:http'

// Below those that a system gives away by itself, and some for each process: nobody takes one between looking and listening.
// 10080 is the last that browsers refuse.
const lowest = 10_100
const own = 25
const first = lowest + (process.pid % 390) * own
let looked = 0

/** No two calls of one process in a row answer the same. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = first + (looked++ % own)
    const server = createServer().listen(port, 'localhost')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (isFree) {
      await once(server.close(), 'close')
      return port
    }
  }
}
