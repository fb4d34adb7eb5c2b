// Starts the sandbox as a process, sends requests to the process over real connections, and can stop or kill it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance, InjectOptions } from 'fastify'
import type { Test } from 'tap'
import { readSetCookie } from '../../support/read-set-cookie.ts'
import { portalUrl, seeded } from './build-test-sandbox.ts'

export interface SandboxProcess {
  /** `inject` of `portal` and `api` is like Fastify's, but it sends the request over a real connection. */
  portal: FastifyInstance
  api: FastifyInstance
  portalPort: number
  apiPort: number
  pid: number
  /** All lines of the standard output. */
  logLines: string[]
  /** Sends kill -9. Resolves when the process has ended. */
  kill(): Promise<void>
  /** Stops the sandbox in the normal way. Resolves to the exit code. */
  stop(): Promise<number | null>
  /** Resolves when the process has ended, for whatever reason. */
  ended: Promise<Exit>
  /** After this call, the test no longer reads the output of the process. */
  neglectLog(): void
}

export interface StartOptions {
  databaseUrl: string
  settings?: Record<string, string>
  /** A command that runs the sandbox, such as `['prlimit', '--fsize=1000000']`. */
  prefix?: string[]
  /** The value of NODE_OPTIONS for the process, such as `--max-old-space-size=128`. */
  nodeOptions?: string
  /** The ports to use. Set them if the test cannot read the ports from the log. */
  ports?: { portalPort: number; apiPort: number }
  /** Runs the sandbox as a user other than root, because root can write to every file. */
  isUnprivileged?: boolean
}

const nobody = 65_534

interface Exit {
  code: number | null
  stderr: string
}

/**
 * Starts a sandbox process. Resolves when the sandbox is ready, and rejects if the process ends earlier. The process
 * ends with the test.
 */
export async function startSandbox(t: Test, options: StartOptions): Promise<SandboxProcess> {
  const { child, exited, logLines } = spawnSandbox(t, options)
  const ready = new Promise<{ portalPort: number; apiPort: number }>(resolve => {
    const { ports } = options
    if (ports)
      void acceptsConnections(ports.apiPort, child).then(isReady => {
        if (isReady) resolve(ports)
      })
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', line => {
      logLines.push(line)
      if (line.includes('the sandbox is ready')) resolve(JSON.parse(line))
    })
  })
  const failed = exited.then(({ code, stderr }) => {
    throw new Error(`the sandbox ended with ${code}: ${stderr}`)
  })
  const { portalPort, apiPort } = await Promise.race([ready, failed])
  // This agent reuses connections, so requests take only a third of the time. It opens one connection for each
  // simultaneous request.
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  return {
    portal: overHttp(portalPort, agent),
    api: overHttp(apiPort, agent),
    portalPort,
    apiPort,
    pid: child.pid as number,
    logLines,
    ended: exited,
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
      child.stdout?.resume()
      return (await exited).code
    },
    neglectLog: () => void child.stdout?.removeAllListeners('data').pause(),
  }
}

/**
 * Resolves to true when the port accepts connections, or to false if the process ends before that. A test needs to wait
 * only for the API, because the API listens last.
 */
async function acceptsConnections(port: number, child: ChildProcess): Promise<boolean> {
  while (child.exitCode === null && child.signalCode === null) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isOpen) return true
    await setTimeout(20)
  }
  return false
}

/**
 * Node options that make password hashes cheap, for tests with many sign-ins. A sandbox that runs without these options
 * refuses passwords that were hashed with these options.
 */
export const quickArgon2 = `--import ${new URL('./quick-argon2.ts', import.meta.url).href}`

/** Starts a sandbox that must fail to start. Resolves to the exit code and the text on stderr. */
export async function startInVain(t: Test, options: StartOptions): Promise<Exit> {
  const { child, exited } = spawnSandbox(t, options)
  child.stdout?.resume()
  return exited
}

function spawnSandbox(
  t: Test,
  { databaseUrl, settings, prefix = [], nodeOptions, ports, isUnprivileged }: StartOptions,
) {
  // Leave out the NODE_OPTIONS that tap adds to every process that a test starts. With these options, the process
  // writes files for tap when it ends. These writes would fail if the process has a quota or runs as another user.
  const ownOptions = nodeOptions ? [`NODE_OPTIONS=${nodeOptions}`] : ['-u', 'NODE_OPTIONS']
  const isLimited = isUnprivileged || prefix.length > 0
  const child: ChildProcess = spawn('env', [...ownOptions, ...prefix, process.execPath, 'src/sandbox/main.ts'], {
    env: {
      PATH: process.env.PATH,
      HOST: '127.0.0.1',
      PORTAL_PORT: String(ports?.portalPort ?? 0),
      API_PORT: String(ports?.apiPort ?? 0),
      PORTAL_URL: portalUrl,
      DATABASE_URL: databaseUrl,
      SEED_CLIENT_ID: seeded.clientId,
      SEED_CLIENT_SECRET: seeded.clientSecret,
      SEED_REDIRECT_URIS: seeded.redirectUri,
      SEED_USER_EMAIL: seeded.email,
      SEED_USER_PASSWORD: seeded.password,
      // The compile cache makes starts faster. Leave it out if the test limits file descriptors, because then no file
      // descriptor is left for the cache.
      ...(!isLimited && { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(isUnprivileged && process.getuid?.() === 0 && { uid: nobody, gid: nobody }),
  })
  let stderr = ''
  child.stderr?.on('data', chunk => {
    stderr += chunk
  })
  const exited = once(child, 'close').then(([code]): Exit => ({ code, stderr }))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  return { child, exited, logLines: [] as string[] }
}

function overHttp(port: number, agent: Agent): FastifyInstance {
  const inject = (call: InjectOptions | string) => send(port, agent, typeof call === 'string' ? { url: call } : call)
  // `inject` is enough, because tests do not use other functions of the server.
  return { inject } as unknown as FastifyInstance
}

async function send(port: number, agent: Agent, { method = 'GET', url, headers = {}, payload }: InjectOptions) {
  const body = payload === undefined || typeof payload === 'string' ? payload : JSON.stringify(payload)
  const response = await new Promise<{ statusCode: number; headers: NodeJS.Dict<string | string[]>; body: string }>(
    (resolve, reject) => {
      const contentType = typeof payload === 'object' ? { 'content-type': 'application/json' } : {}
      const outgoing = request(
        { host: '127.0.0.1', port, method, path: String(url), headers: { ...contentType, ...headers }, agent },
        incoming => {
          let text = ''
          incoming.setEncoding('utf8').on('data', chunk => {
            text += chunk
          })
          incoming.on('error', reject)
          incoming.on('end', () =>
            resolve({ statusCode: incoming.statusCode ?? 0, headers: incoming.headers, body: text }),
          )
        },
      )
      outgoing.on('error', reject)
      outgoing.end(body)
    },
  )
  const cookies = [response.headers['set-cookie'] ?? []].flat().map(readSetCookie)
  return { ...response, cookies, json: () => JSON.parse(response.body) }
}
