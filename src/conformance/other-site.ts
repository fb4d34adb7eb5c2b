// Starts another website. It serves pages that link to the client, and records the requests that arrive.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface OtherSite {
  /**
   * Returns an address of this website. With `cross-site`, the address belongs to a different site than the client.
   * With `same-site`, the address has the client's scheme and host, and another port. If the client uses https, nobody
   * answers at this address, so a check can only show a page there.
   */
  url(path: string, site?: 'cross-site' | 'same-site'): string
  /** Serves HTML at a new path, and returns that path. */
  page(html: string): string
  /** Serves a redirect at a new path, and returns that path. */
  redirect(location: string, status?: number): string
  /** Returns the requests whose address contains the text. */
  arrived(part: string): { method: string; url: string; headers: Record<string, unknown>; body: string }[]
  close(): Promise<void>
}

/** `client`: the origin of the client. `ipv6Loopback`: a test passes an address that this machine does not have. */
export async function startOtherSite(client: string, ipv6Loopback = '::1'): Promise<OtherSite> {
  const { protocol, hostname } = new URL(client)
  const answers = new Map<string, (response: ServerResponse) => void>()
  const requests: ReturnType<OtherSite['arrived']> = []
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const { method = '', url = '', headers } = request
    requests.push({ method, url, headers, body })
    const answer = answers.get(url.split('?')[0]!)
    if (answer) answer(response)
    else response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<p>elsewhere</p>')
  }
  // A client that ends its connection in the middle of a body gets no answer.
  const { servers, port } = await listen(
    (request, response) => void serve(request, response).catch(() => undefined),
    ['127.0.0.1', ipv6Loopback],
  )
  let count = 0
  const add = (answer: (response: ServerResponse) => void) => {
    const path = `/${++count}`
    answers.set(path, answer)
    return path
  }
  return {
    url: (path, site = 'cross-site') =>
      site === 'same-site'
        ? `${protocol}//${hostname}:${port}${path}`
        : `http://${otherLoopback(hostname)}:${port}${path}`,
    page: html =>
      add(response =>
        response
          .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
          .end(`<!doctype html><title>Elsewhere</title>${html}`),
      ),
    redirect: (location, status = 302) => add(response => response.writeHead(status, { location }).end()),
    arrived: part => requests.filter(({ url }) => url.includes(part)),
    async close() {
      await Promise.all(servers.map(close))
    },
  }
}

/**
 * Listens on both loopback addresses, with the same port. For browsers, one name of this machine belongs to the
 * client's site, and the other name belongs to a different site. The name `localhost` can stand for either address.
 */
async function listen(
  answer: RequestListener,
  [ipv4, ipv6]: [string, string],
): Promise<{ servers: Server[]; port: number }> {
  for (;;) {
    const first = createServer(answer).listen(0, ipv4)
    await once(first, 'listening')
    const { port } = first.address() as AddressInfo
    const second = createServer(answer).listen(port, ipv6)
    try {
      await once(second, 'listening')
      return { servers: [first, second], port }
    } catch (error) {
      // If another program uses this port on the second address, the next port may be free on both addresses. Any other
      // error means that this machine has no IPv6.
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return { servers: [first], port }
      await close(first)
    }
  }
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
}

/**
 * Returns the other name of this machine. For browsers, the two names are two sites, but two ports of one name are one
 * site.
 */
export function otherLoopback(host: string): string {
  return host === '127.0.0.1' ? 'localhost' : '127.0.0.1'
}
