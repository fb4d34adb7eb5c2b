// Simulates the login portal and the application API for the client's tests. A test can make the platform send wrong
// answers.
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** A request that the platform has received. */
export type Received = {
  method: string
  /** Path and query. */
  url: string
  headers: IncomingMessage['headers']
  body: string
  /** The body, read as a form. */
  form: URLSearchParams
}

/**
 * An answer, or a function that sends the answer. The default status is 200, and the default content type is JSON. If
 * the body is an object, it is sent as JSON.
 */
export type Script =
  | { status?: number; headers?: Record<string, string | string[]>; body?: unknown }
  | ((request: Received, response: ServerResponse) => unknown)

export type ScriptedPlatform = Awaited<ReturnType<typeof startScriptedPlatform>>

/**
 * Starts one server for the portal and the API on a free port. The server answers only the routes in `scripts`. A key
 * is a method and a path without a query, such as `POST /api/exchangeToken`. A request to another route fails the test.
 * By default, the portal does not publish metadata, and does not return the visitor's name.
 */
export async function startScriptedPlatform(t: Test, scripts: Record<string, Script> = {}, host = '127.0.0.1') {
  const script = new Map<string, Script>(
    Object.entries({
      'GET /.well-known/oauth-authorization-server': { status: 404, body: {} },
      'GET /api/me': { status: 403, body: {} },
      ...scripts,
    }),
  )
  const received: Received[] = []
  const unexpected: string[] = []
  const arrivals = new EventEmitter()

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const { method = '', url = '', headers } = request
    const one = { method, url, headers, body, form: new URLSearchParams(body) }
    received.push(one)
    arrivals.emit('one')
    const key = `${method} ${url.split('?', 1)[0]}`
    const answer = script.get(key)
    if (!answer) {
      unexpected.push(key)
      response.writeHead(599).end()
    } else if (typeof answer === 'function') {
      await answer(one, response)
    } else {
      send(response, answer)
    }
  })
  server.listen(0, host)
  await once(server, 'listening')
  t.teardown(async () => {
    server.closeAllConnections()
    server.close()
    if (unexpected.length > 0) throw new Error(`Requests that the test did not expect: ${unexpected.join(', ')}`)
  })
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}`

  return {
    url,
    /** Replaces the script of a route. */
    answer(key: string, answer: Script) {
      script.set(key, answer)
    },
    /** Returns the current script of a route. */
    script: (key: string): Script => script.get(key)!,
    /** Returns all requests, or only the requests to one route, in order. */
    received(key?: string): Received[] {
      return received.filter(({ method, url }) => !key || key === `${method} ${url.split('?', 1)[0]}`)
    },
    /** Resolves when a route has received this many requests. */
    async waitForRequests(key: string, times = 1): Promise<void> {
      while (this.received(key).length < times) await once(arrivals, 'one')
    },
    server,
  }
}

export function send(
  response: ServerResponse,
  { status = 200, headers = {}, body }: Exclude<Script, (...parameters: never[]) => unknown>,
): void {
  const bytes = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
  response.end(bytes)
}

/** Returns an unsigned token with a subject, which the client can read. */
export function accessTokenOf(subject: string, more: Record<string, unknown> = {}): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'ES256', typ: 'at+jwt' })}.${part({ sub: subject, ...more })}.c2lnbmF0dXJl`
}

/** Returns a good answer of the token endpoint to this request. */
export function tokenAnswer(request: Received, more: Record<string, unknown> = {}): Record<string, unknown> {
  const state = request.form.get('state')
  return {
    access_token: accessTokenOf('visitor-1'),
    expires_in: 3600,
    token_type: 'Bearer',
    refresh_token: 'refresh0refresh0refresh0refresh0',
    ...(state === null ? {} : { state }),
    ...more,
  }
}

/** Returns a script that issues or renews tokens. `more` replaces fields of the answer. */
export function giveTokens(more: Record<string, unknown> = {}): Script {
  return (request, response) => send(response, { body: tokenAnswer(request, more) })
}
