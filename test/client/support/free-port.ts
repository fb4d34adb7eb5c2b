// A free port, for a process whose address must be known before it listens.
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below those that a system gives to connections, and to whoever asks for any port: no other test takes it meanwhile. */
const range = [20_000, 32_000] as const

export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(...range)
    const server = createServer().listen(port, '127.0.0.1')
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
