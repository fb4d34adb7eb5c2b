// A load balancer in front of the clients. The load balancer records requests, sends each request to the next client,
// and breaks connections if a test says so.
import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
  request,
  type ServerResponse,
} from 'node:http'
import type { Teardown } from '../../support/teardown.ts'

export type Seen = {
  method: string
  /** The path with its query. */
  url: string
  headers: IncomingHttpHeaders
  /** The status of the client's answer, even if the browser has not received the answer. */
  status?: number
  answered?: IncomingHttpHeaders
  /** The number of the client that answered. */
  replica?: number
}

type Answer = { status: number; headers: IncomingHttpHeaders; body: Buffer }

export type Exchange = {
  seen: Seen
  /**
   * Removes the headers that match `without` from the request, and forwards the request to a client. Resolves to the
   * whole answer before the browser gets this answer.
   */
  forward(without?: RegExp): Promise<Answer>
  /** Sends the answer back. */
  pass(answer: Answer): void
  /** Closes the browser's connection without an answer. */
  cut(): void
  /** Resolves when the browser has closed the connection or has got the answer. */
  left: Promise<unknown>
}

export type Front = Awaited<ReturnType<typeof startFront>>

const passOn = async ({ forward, pass }: Exchange) => pass(await forward())

/**
 * Listens on `port` of localhost. `targets` are the ports of the clients. The clients take turns serving requests.
 */
export async function startFront(t: Teardown, port: number, targets: number[]) {
  const front = {
    /** Every request, in the order of arrival. */
    seen: [] as Seen[],
    /** Handles each request. Tests replace it. */
    handle: passOn as (exchange: Exchange) => Promise<void>,
    /** Returns the methods and addresses of the requests since the last call of `takeSeen`. */
    takeSeen: (): string[] => front.seen.splice(0).map(({ method, url }) => `${method} ${url}`),
    /** From now on, forwards every request to a client, as at the beginning. */
    passAll: () => {
      front.handle = passOn
    },
  }
  let turn = 0

  const server = createServer(async (incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming
    const seen: Seen = { method, url, headers }
    front.seen.push(seen)
    const cut = () => void incoming.socket.destroy()
    try {
      const body = await readAll(incoming)
      const forward = async (without?: RegExp) => {
        seen.replica = turn++ % targets.length
        const sent = Object.fromEntries(Object.entries(headers).filter(([name]) => !without?.test(name)))
        const answer = await send(targets[seen.replica]!, { method, path: url, headers: sent }, body)
        seen.status = answer.status
        seen.answered = answer.headers
        return answer
      }
      await front.handle({
        seen,
        forward,
        pass: answer => pass(outgoing, answer),
        cut,
        left: new Promise(resolve => outgoing.once('close', resolve)),
      })
    } catch {
      // The client does not listen, or the browser has closed the connection.
      cut()
    }
  })
  // This timeout is as long as the client's timeout. With a shorter timeout, the load balancer would close idle
  // connections, and browsers would repeat requests.
  server.keepAliveTimeout = 72_000
  server.listen(port, 'localhost')
  await once(server, 'listening')
  t.teardown(async () => {
    server.closeAllConnections()
    server.close()
  })
  return front
}

async function send(port: number, options: RequestOptions, body: Buffer): Promise<Answer> {
  const outgoing = request({ host: 'localhost', port, agent: false, ...options })
  outgoing.end(body)
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  // These two headers are about the connection to the client, not about the connection to the browser.
  const { connection: _, 'keep-alive': __, ...headers } = answer.headers
  return { status: answer.statusCode ?? 0, headers, body: await readAll(answer) }
}

function pass(outgoing: ServerResponse, { status, headers, body }: Answer): void {
  outgoing.writeHead(status, headers).end(body)
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
