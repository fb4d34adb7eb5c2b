// Starts a site other than the client's site. This other site records its requests, and links or redirects to the
// address that a test sets.
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Teardown } from '../../support/teardown.ts'

/**
 * The address `/bounce?to=…` redirects to the address in `to`. Every other address shows a page with a link to
 * `linksTo`.
 */
export async function startElsewhere(t: Teardown) {
  const seen: string[] = []
  const elsewhere = { seen, linksTo: '', url: '' }
  const server = createServer((request: IncomingMessage, response) => {
    if (request.url !== '/favicon.ico') seen.push(request.url ?? '')
    const to = new URL(request.url ?? '/', 'http://elsewhere.invalid').searchParams.get('to')
    if (to) response.writeHead(302, { location: to }).end()
    else response.setHeader('content-type', 'text/html').end(`<a href="${elsewhere.linksTo}">A link in an e-mail</a>`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    server.closeAllConnections()
    server.close()
  })
  elsewhere.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return elsewhere
}
