// Starts three servers on two sites. They send the answers that a test sets, and record the requests.
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Teardown } from '../../support/teardown.ts'

/** What a server has received with a request: method, address, some headers and the body. */
export type Seen = Record<string, string>

export interface Answer {
  status?: number
  headers?: Record<string, string | string[]>
  /** HTML, unless the headers say otherwise. */
  body?: string
}

/**
 * The answers of the servers. In an object, each key consists of the name of a server and a path, such as
 * `client/login`. A list has one answer for each request, in order. All other requests get an empty page.
 */
export type Answers = Record<string, Answer> | Answer[]

/** `client` and `sibling` are two origins of one site. `other` belongs to another site. */
const hosts = { client: 'localhost', sibling: 'localhost', other: '127.0.0.1' }
type Name = keyof typeof hosts

const noted = ['cookie', 'origin', 'referer', 'content-type', 'cache-control', 'upgrade-insecure-requests']
const notedOfFetch = ['site', 'mode', 'user', 'dest'].map(one => `sec-fetch-${one}`)

export type Sites = Awaited<ReturnType<typeof startSites>>

/**
 * Starts the servers, and stops them at the end of the test. In answers and addresses, `{client}`, `{sibling}` and
 * `{other}` stand for the origins.
 */
export async function startSites(t: Teardown) {
  const heard = new EventEmitter()
  const origins = {} as Record<Name, string>
  let seen: Seen[] = []
  let answers: Answers = []

  const fill = (text: string) => text.replace(/\{(client|sibling|other)\}/g, (_, name: Name) => origins[name])
  /** Replaces each host with the name of its server, because the ports differ from run to run. */
  const unfill = (text: string) =>
    Object.entries(origins).reduce((rest, [name, origin]) => rest.replaceAll(new URL(origin).host, `{${name}}`), text)

  async function note(name: Name, request: IncomingMessage): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString('latin1')
    const boundary = /boundary=(.*)$/.exec(request.headers['content-type'] ?? '')?.[1]
    const withoutBoundary = (text: string) => (boundary ? text.replaceAll(boundary, 'BOUNDARY') : text)
    const one: Seen = { asked: unfill(`${request.method} {${name}}${request.url}`) }
    for (const header of [...noted, ...notedOfFetch]) {
      const value = request.headers[header]
      if (value !== undefined) one[header] = withoutBoundary(unfill(String(value)))
    }
    if (body) one.body = withoutBoundary(body)
    seen.push(one)
    heard.emit('request')
  }

  async function start(name: Name): Promise<Server> {
    const server = createServer(async (request, response) => {
      if (request.url === '/favicon.ico') return response.writeHead(404).end()
      await note(name, request)
      const path = request.url!.replace(/\?.*/, '')
      const answer = Array.isArray(answers) ? answers[seen.length - 1] : answers[name + path]
      const { status = 200, headers = {}, body = '<!doctype html><title>A page</title>' } = answer ?? {}
      response.writeHead(status, {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        ...Object.fromEntries(
          Object.entries(headers).map(([key, value]) => [key, Array.isArray(value) ? value.map(fill) : fill(value)]),
        ),
      })
      response.end(fill(body))
    })
    server.listen(0, hosts[name])
    await once(server, 'listening')
    origins[name] = `http://${hosts[name]}:${(server.address() as AddressInfo).port}`
    t.teardown(async () => {
      server.closeAllConnections()
      server.close()
    })
    return server
  }
  for (const name of Object.keys(hosts) as Name[]) await start(name)

  return {
    fill,
    /** Sets the answers, and deletes the list of requests. */
    answer(next: Answers) {
      answers = next
      seen = []
    },
    seen: () => seen,
    /** Resolves when at least `count` requests have arrived. */
    async waitFor(count: number) {
      while (seen.length < count) await once(heard, 'request')
    },
  }
}
