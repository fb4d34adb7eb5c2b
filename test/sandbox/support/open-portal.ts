// Opens the sandbox on real ports, for tests in a browser. Also opens a client on another site, which records the
// requests that it receives.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { findFreePorts } from '../../support/free-port.ts'
import { buildTestSandbox, seeded, type TestSandbox } from './build-test-sandbox.ts'

export interface OpenPortal {
  sandbox: TestSandbox
  portalUrl: string
  apiUrl: string
  /** The origin of the client. The client's redirect URI is registered. */
  clientUrl: string
  /** All requests that the client has received, with the oldest request first. */
  arrivals: { method: string; url: string; headers: IncomingHttpHeaders; body: string }[]
  /** The address that starts a login of the client. */
  startUrl: string
}

export async function openPortal(t: Test): Promise<OpenPortal> {
  const { clientUrl, arrivals } = await openClient(t)
  const [portalPort, apiPort, labPort] = await findFreePorts(3)
  // The settings contain the addresses, so the ports must be known before the sandbox listens.
  const portalUrl = `http://127.0.0.1:${portalPort}`
  const apiUrl = `http://127.0.0.1:${apiPort}`
  const redirectUri = `${clientUrl}/exchangeToken`
  const lab = { host: '127.0.0.1', port: labPort, urls: [`http://127.0.0.1:${labPort}`], token: undefined }
  const sandbox = await buildTestSandbox(t, { portalUrl, apiUrl, lab, redirectUris: [redirectUri] })
  await sandbox.portal.listen({ host: '127.0.0.1', port: portalPort })
  await sandbox.api.listen({ host: '127.0.0.1', port: apiPort })
  await sandbox.lab!.listen({ host: '127.0.0.1', port: labPort })
  const parameters = new URLSearchParams({
    grant_type: 'authorization',
    response_type: 'code',
    client_id: seeded.clientId,
    redirect_uri: redirectUri,
    cancel_url: `${clientUrl}/cancelled`,
    state: 'a-state-that-is-nobody-else’s-business',
  })
  return { sandbox, portalUrl, apiUrl, clientUrl, arrivals, startUrl: `${portalUrl}/?${parameters}` }
}

async function openClient(t: Test) {
  const arrivals: OpenPortal['arrivals'] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    arrivals.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body })
    response
      .setHeader('content-type', 'text/html; charset=utf-8')
      .end('<!doctype html><title>Client</title><h1>Client</h1>')
  })
  server.listen(0, 'localhost')
  await once(server, 'listening')
  t.teardown(async () => {
    server.closeAllConnections()
    await once(server.close(), 'close')
  })
  return { clientUrl: `http://localhost:${(server.address() as AddressInfo).port}`, arrivals }
}
