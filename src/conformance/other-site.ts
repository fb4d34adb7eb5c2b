// Starts another website. It serves pages that link to the client, and records the requests that arrive.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface OtherSite {
  /**
   * Returns an address of this website. With `cross-site`, it belongs to a different site than the client. With
   * `same-site`, it has the client's host and another port.
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

export async function startOtherSite(clientHost: string): Promise<OtherSite> {
  const answers = new Map<string, (response: ServerResponse) => void>()
  const requests: ReturnType<OtherSite['arrived']> = []
  const server = createServer(async (request: IncomingMessage, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const { method = '', url = '', headers } = request
    requests.push({ method, url, headers, body })
    const answer = answers.get(url.split('?')[0]!)
    if (answer) answer(response)
    else response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<p>elsewhere</p>')
  })
  // The website is reachable under both names of this machine. For browsers, one name belongs to the client's site, and
  // the other name belongs to a different site.
  server.listen(0, 'localhost')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  let count = 0
  const add = (answer: (response: ServerResponse) => void) => {
    const path = `/${++count}`
    answers.set(path, answer)
    return path
  }
  return {
    url: (path, site = 'cross-site') =>
      `http://${site === 'same-site' ? clientHost : otherLoopback(clientHost)}:${port}${path}`,
    page: html =>
      add(response =>
        response
          .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
          .end(`<!doctype html><title>Elsewhere</title>${html}`),
      ),
    redirect: (location, status = 302) => add(response => response.writeHead(status, { location }).end()),
    arrived: part => requests.filter(({ url }) => url.includes(part)),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/**
 * Returns the other name of this machine. For browsers, the two names are two sites, but two ports of one name are one
 * site.
 */
export function otherLoopback(host: string): string {
  return host === '127.0.0.1' ? 'localhost' : '127.0.0.1'
}
