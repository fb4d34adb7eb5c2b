// Starts a server as a process of its own, reads its CPU time and memory from within, and stops it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { request } from 'undici'
import type { Reading } from './probe.ts'

const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url))

/** Ours runs as in production, logs on; nobody else logs. */
const scripts = {
  client: pathOf('../../src/client/main.ts'),
  bare: pathOf('servers/bare.ts'),
  '@fastify/oauth2, secure-session': pathOf('servers/fastify-oauth2.ts'),
  'express-openid-connect': pathOf('servers/express-openid-connect.ts'),
  'openid-client, iron-session': pathOf('servers/openid-client.ts'),
}

export type ServerName = keyof typeof scripts
export const serverNames = Object.keys(scripts) as ServerName[]
type Environment = Record<string, string>
export type Server = { name: ServerName; url: string; read(): Promise<Reading>; stop(): Promise<void> }

export async function startServer(name: ServerName, environment: Environment): Promise<Server> {
  const child = run(['--import', pathOf('probe.ts'), scripts[name]], environment, ['pipe', 'ipc'])
  return {
    name,
    url: await readAddress(child),
    async read() {
      const answered = once(child, 'message')
      child.send('read')
      const [reading] = (await answered) as [Reading]
      return reading
    },
    stop: () => stop(child),
  }
}

/** Milliseconds from starting the process until it has sent a visitor to the login portal. */
export async function timeStartUp(name: ServerName, environment: Environment): Promise<number> {
  const startedAt = performance.now()
  const child = run([scripts[name]], environment, ['pipe'])
  const { statusCode, body } = await request(`${await readAddress(child)}/login`, { reset: true })
  const ms = performance.now() - startedAt
  await body.dump()
  await stop(child)
  if (statusCode !== 302) throw new Error(`${name} answered ${statusCode} at its start`)
  return ms
}

/** The stand-in for the login portal and the API, which both have one address here. */
export async function startPlatform(): Promise<{ url: string; stop(): Promise<void> }> {
  const child = run([pathOf('platform.ts')], {}, ['inherit', 'ipc'])
  const [{ url }] = (await once(child, 'message')) as [{ url: string }]
  return { url, stop: () => stop(child) }
}

function run(parameters: string[], environment: Environment, [stdout, ...more]: ['pipe' | 'inherit', 'ipc'?]) {
  // Nothing of this machine's environment: a setting that happens to stand there must not change what is measured.
  return spawn(process.execPath, parameters, { env: environment, stdio: ['ignore', stdout, 'inherit', ...more] })
}

/** Every server prints its address as soon as it listens; what it prints from then on is read and dropped. */
async function readAddress({ stdout }: ChildProcess): Promise<string> {
  if (!stdout) throw new Error('The output of a server must be read.')
  let printed = ''
  for await (const chunk of stdout.iterator({ destroyOnReturn: false })) {
    printed += chunk
    const address = /listening at (http:\/\/127\.0\.0\.1:\d+)(?=\D)/.exec(printed)?.[1]
    if (!address) continue
    stdout.resume()
    return address
  }
  throw new Error(`A server has stopped before it listened:\n${printed}`)
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
