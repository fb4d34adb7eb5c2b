// Starts the servers that the bench compares, and measures how long they take to start.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { request } from 'undici'
import { findFreePort } from '../../test/support/free-port.ts'
import { type Environment, read, readOutput, startHelper, startMeasuredChild, stopChild } from '../child.ts'

const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url))

/** Our client runs as in production. */
const scripts = {
  client: pathOf('../../src/client/main.ts'),
  bare: pathOf('servers/bare.ts'),
  '@fastify/oauth2, secure-session': pathOf('servers/fastify-oauth2.ts'),
  'express-openid-connect': pathOf('servers/express-openid-connect.ts'),
  'openid-client, iron-session': pathOf('servers/openid-client.ts'),
}

/**
 * Only our client needs a cache of compiled code, because our client consists of many TypeScript files. The other
 * servers are written in JavaScript, or consist of a single file.
 */
const asByNpmStart = ['--import', pathOf('../../scripts/keep-compiled.ts')]

export type ServerName = keyof typeof scripts
export const serverNames = Object.keys(scripts) as ServerName[]
export type Server = { child: ChildProcess; url: string }

export async function startServer(name: ServerName, environment: Environment): Promise<Server> {
  // The other servers do not write a log, so our client's log is also off. Our client prints its address only in its
  // log. So the bench chooses the port on which our client listens.
  if (name === 'client')
    return startSilentClient({ ...environment, LOG_LEVEL: 'silent', PORT: `${await findFreePort()}` })
  const child = startMeasuredChild(scripts[name], environment)
  return { child, url: await readAddress(child) }
}

async function startSilentClient(environment: Environment & { PORT: string }): Promise<Server> {
  const child = startMeasuredChild(scripts.client, environment)
  child.stdout!.resume()
  const url = `http://127.0.0.1:${environment.PORT}`
  while (!(await isThere(url))) await new Promise(resolve => setTimeout(resolve, 20))
  return { child, url }
}

async function isThere(url: string): Promise<boolean> {
  const answer = await request(`${url}/health/live`, { reset: true }).catch(() => undefined)
  await answer?.body.dump()
  return answer?.statusCode === 200
}

/**
 * Starts our client once, so that the timed starts find compiled code. In production, every `npm start` except the
 * first finds compiled code.
 */
export async function fillCompileCache(environment: Environment): Promise<void> {
  const child = startMeasuredChild(scripts.client, environment, asByNpmStart)
  await readAddress(child)
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}

/**
 * Returns the CPU time in milliseconds that a new process uses until it has redirected a visitor to the login portal.
 */
export async function timeStartUp(name: ServerName, environment: Environment): Promise<number> {
  const child = startMeasuredChild(scripts[name], environment, name === 'client' ? asByNpmStart : [])
  const { statusCode, body } = await request(`${await readAddress(child)}/login`, { reset: true })
  const ms = (await read(child)).cpuMicroseconds / 1000
  await body.dump()
  await stopChild(child)
  if (statusCode !== 302) throw new Error(`${name} answered ${statusCode} when it started`)
  return ms
}

/** The stand-in for the login portal and the API. In this bench, the portal and the API have the same address. */
export async function startPlatform(): Promise<Server> {
  const child = startHelper(pathOf('platform.ts'))
  const [{ url }] = (await once(child, 'message')) as [{ url: string }]
  return { child, url }
}

async function readAddress(child: ChildProcess): Promise<string> {
  const [address] = await readOutput(child, /listening at (http:\/\/127\.0\.0\.1:\d+)(?=\D)/)
  return address!
}
