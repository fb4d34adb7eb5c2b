// Notices when the client restarts, without sending requests to it.
//
// While the suite waits for a restart, it has open connections to the client. When the client stops, the connections
// close. The suite notices this even if the client already answers again, and even if another process keeps the port
// open during the restart, as in `uvicorn --reload`.
//
// Many servers close a connection that stays idle for some seconds. Other servers end only after every connection has
// closed. For both reasons, the suite opens a new connection every second, and closes each connection after two
// seconds.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { findHost } from './browser/find-host.ts'
import { addressOf } from './http-address.ts'

const askAgainMs = 100

interface Connection {
  socket: Socket
  isClosedByClient: boolean
}

/** `everyMs`: the time after which the suite opens the next connection to the client at this origin. */
export function watchRestarts(origin: string, isAnswering: () => Promise<boolean>, everyMs = 1000) {
  /**
   * True if the client keeps an idle connection longer than the suite does. If the client closes idle connections
   * earlier, a closed connection is not a sign of a restart. In that case, only a refused connection counts as a
   * restart. Otherwise the suite would repeat its checks forever.
   */
  let keepsConnections = false

  async function measure(signal: AbortSignal): Promise<void> {
    const connection = await openConnection(origin, signal)
    await pause(3 * everyMs, signal)
    keepsConnections = connection?.isClosedByClient === false
    connection?.socket.destroy()
  }

  /** Resolves when the client has closed a connection or refuses one, or when the signal aborts. */
  async function untilStopped(first: Connection | undefined, signal: AbortSignal): Promise<void> {
    const open: Connection[] = []
    for (let next = first; next; next = await openConnection(origin, signal)) {
      open.push(next)
      // Two connections stay open. The newer one may still wait for the new process when the old process ends.
      if (open.length > 2) open.shift()?.socket.destroy()
      await pause(everyMs, signal)
      if (keepsConnections && open.some(({ isClosedByClient }) => isClosedByClient)) break
    }
    for (const { socket } of open) socket.destroy()
  }

  return {
    /**
     * Begins to watch. Afterwards, `restarted` resolves when the client has stopped and answers again, or when the
     * signal aborts.
     */
    async begin(signal: AbortSignal): Promise<{ restarted: Promise<void> }> {
      if (!keepsConnections) await measure(signal)
      const first = await openConnection(origin, signal)
      const untilRestarted = async () => {
        await untilStopped(first, signal)
        while (!signal.aborted && !(await isAnswering())) await pause(askAgainMs, signal)
      }
      return { restarted: untilRestarted() }
    },
  }
}

/** Returns undefined if the client does not accept the connection. The signal closes the connection. */
async function openConnection(origin: string, signal: AbortSignal): Promise<Connection | undefined> {
  const socket = connect({ ...addressOf(origin), lookup: findHost, signal })
  const connection = { socket, isClosedByClient: false }
  const noteClosed = () => {
    connection.isClosedByClient = true
  }
  socket.on('end', noteClosed).on('error', noteClosed).resume()
  return once(socket, 'connect').then(
    () => connection,
    () => undefined,
  )
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, undefined, { signal }).catch(() => undefined)
}
