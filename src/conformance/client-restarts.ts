// Waits for a restart of the client. During a restart, an open connection closes, and the client refuses new
// connections for a moment.
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { addressOf } from './http-address.ts'

const everyMs = 100

/** Resolves when the client at this origin has stopped and answers again, or when the signal aborts. */
export async function untilRestart(
  origin: string,
  isAnswering: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    // If the client accepts a new connection, it has not stopped. It has only closed the previous connection, which was
    // idle.
    const wasThere = await untilClosed(origin, signal)
    if (wasThere) continue
    while (!signal.aborted && !(await isAnswering())) await pause(signal)
    return
  }
}

/** Opens a connection and waits until it closes. Returns whether the connection could be opened. */
async function untilClosed(origin: string, signal: AbortSignal): Promise<boolean> {
  const socket = connect(addressOf(origin))
  let wasOpen = false
  socket.on('connect', () => {
    wasOpen = true
  })
  socket.on('error', () => undefined)
  socket.resume()
  const giveUp = () => socket.destroy()
  signal.addEventListener('abort', giveUp)
  await new Promise<void>(resolve => socket.on('close', () => resolve()))
  signal.removeEventListener('abort', giveUp)
  return wasOpen
}

async function pause(signal: AbortSignal): Promise<void> {
  await wait(everyMs, undefined, { signal }).catch(() => undefined)
}
