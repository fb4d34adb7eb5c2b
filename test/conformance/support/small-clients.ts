// Very small clients for tests of the suite.
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** Starts a server in this process that answers every request with the function `answer`. Returns its address. */
export async function serve(t: Test, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, 'localhost')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://localhost:${(server.address() as AddressInfo).port}`
}

/** The source of a client that only redirects to the portal, and runs the code `atCallback` for each callback. */
export const startsLogins = (atCallback: string) => `
  import { createServer } from 'node:http'
  import { randomBytes } from 'node:crypto'
  const { LOGIN_URL, CLIENT_ID: client_id, REDIRECT_URI: redirect_uri, PORT } = process.env
  createServer((request, response) => {
    if (request.url.startsWith('/exchangeToken')) ${atCallback}
    const state = randomBytes(24).toString('base64url')
    const query = { grant_type: 'authorization', response_type: 'code', client_id, redirect_uri, cancel_url: redirect_uri, state }
    response.writeHead(302, { location: LOGIN_URL + '/?' + new URLSearchParams(query) }).end()
  }).listen(PORT, 'localhost')`
