// A proxy between the sandbox and PostgreSQL. The proxy can slow down or stop the traffic, and records the statements.
import { connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

export interface PostgresProxy {
  /** The address at which the database can be reached through the proxy. */
  url: string
  /** Every statement that was sent through the proxy so far, as text. */
  statements: string[]
  /** Stops forwarding on all open connections, without closing the connections. Refuses new connections. */
  fallSilent(): void
  /** Resets every open TCP connection, on both sides. New connections work. */
  reset(): void
  /**
   * Accepts new connections again. If fallSilent has stopped the traffic of a connection, this connection stays silent.
   */
  speakAgain(): void
}

/** Starts a proxy. `delayMs` is the time by which the proxy delays each statement. */
export async function startPostgresProxy(
  t: Test,
  databaseUrl: string,
  { delayMs = 0 }: { delayMs?: number } = {},
): Promise<PostgresProxy> {
  const target = new URL(databaseUrl)
  const statements: string[] = []
  const sockets = new Set<Socket>()
  const silenced = new WeakSet<Socket>()
  let isSilent = false
  const server = createServer(inbound => {
    if (isSilent) return inbound.resetAndDestroy()
    const outbound = connect(Number(target.port), target.hostname)
    for (const socket of [inbound, outbound]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
    }
    const read = readStatements(text => statements.push(text))
    // A statement and its values arrive in one piece, so the proxy treats each piece as a statement. Timers with the
    // same delay keep the order of the pieces.
    inbound.on('data', piece => {
      read(piece)
      if (silenced.has(inbound)) return
      if (delayMs === 0) outbound.write(piece)
      else setTimeout(() => outbound.write(piece), delayMs)
    })
    outbound.on('data', piece => {
      if (!silenced.has(inbound)) inbound.write(piece)
    })
    inbound.on('close', () => outbound.destroy())
    outbound.on('close', () => {
      if (!silenced.has(inbound)) inbound.destroy()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise(resolve => server.close(resolve))
  })
  const url = new URL(databaseUrl)
  url.port = String((server.address() as { port: number }).port)
  return {
    url: url.href,
    statements,
    fallSilent() {
      isSilent = true
      for (const socket of sockets) silenced.add(socket)
    },
    reset() {
      for (const socket of sockets) socket.resetAndDestroy()
    },
    speakAgain() {
      isSilent = false
    },
  }
}

// Reads messages of the PostgreSQL protocol (manual, part VIII, 54.7). A message is a letter, four bytes with the
// length, and the content. The first message of a connection has no letter.
function readStatements(onStatement: (text: string) => void): (piece: Buffer) => void {
  let rest = Buffer.alloc(0)
  let isStarted = false
  return piece => {
    rest = Buffer.concat([rest, piece])
    for (;;) {
      const head = isStarted ? 1 : 0
      if (rest.length < head + 4) return
      const end = head + rest.readInt32BE(head)
      if (rest.length < end) return
      const type = isStarted ? String.fromCharCode(rest[0] as number) : ''
      const content = rest.toString('utf8', head + 4, end - 1)
      if (type === 'Q') onStatement(content)
      // P is the message Parse. It contains the name of the statement, and then the text.
      if (type === 'P') onStatement(content.split('\0')[1] ?? '')
      rest = rest.subarray(end)
      isStarted = true
    }
  }
}
