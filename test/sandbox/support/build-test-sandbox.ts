// Builds a sandbox for one test, with its own database and clock, one seeded user and one seeded client. The sandbox is
// closed after the test.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyBaseLogger } from 'fastify'
import { pino } from 'pino'
import type { Test } from 'tap'
import { buildSandbox, type Sandbox } from '../../../src/sandbox/app.ts'
import type { SandboxConfig } from '../../../src/sandbox/config.ts'
import type { LabStep } from '../../../src/sandbox/lab/record/recorded.ts'
import type { Passwords } from '../../../src/sandbox/people/hash-passwords.ts'
import { openStore } from '../../../src/sandbox/store/open-store.ts'
import { Secret } from '../../../src/sandbox/values/secret.ts'
import { quickPasswords } from './quick-passwords.ts'

export const seeded = {
  clientId: '5a0e3f4c-52f5-4d2e-9a49-0a4f7d8f7c11',
  clientSecret: 'a-secret-of-the-tests-that-is-long-enough-12',
  redirectUri: 'http://localhost:3000/exchangeToken',
  cancelUrl: 'http://localhost:3000/cancelled',
  email: 'developer@example.test',
  password: 'correct horse battery staple',
}

export const portalUrl = 'http://127.0.0.1:4000'

export interface TestSandbox extends Sandbox {
  /** All lines of the log. Each line is a JSON object. */
  logLines: string[]
  config: SandboxConfig
  now(): Date
  /** Moves the clock of the sandbox. passTime has no effect if the sandbox was built with the option `clock`. */
  passTime(ms: number): void
}

/**
 * `databaseUrl` is the address of an existing database, for example on a PostgreSQL server, or of a database that two
 * sandboxes share. The default is a new SQLite database. Set `portalUrl` and `apiUrl` if the sandbox listens on real
 * ports. The options from `redirectUris` to `clientSecret` change the seeds.
 */
export async function buildTestSandbox(
  t: Test,
  options: {
    databaseUrl?: string
    portalUrl?: string
    apiUrl?: string
    redirectUris?: string[]
    password?: string
    email?: string
    clientId?: string
    clientSecret?: string
    seed?: false
    at?: Date
    clock?: () => Date
    trustedProxies?: string[]
    accessTokenSeconds?: number
    codeSeconds?: number
    lab?: SandboxConfig['lab']
    onStep?: (step: LabStep) => void
    passwords?: Passwords
  } = {},
): Promise<TestSandbox> {
  const logLines: string[] = []
  let nowMs = (options.at ?? new Date('2026-03-01T12:00:00Z')).getTime()
  const now = options.clock ?? (() => new Date(nowMs))
  const config: SandboxConfig = {
    host: 'localhost',
    portalPort: 0,
    apiPort: 0,
    portalUrl: options.portalUrl ?? portalUrl,
    apiUrl: options.apiUrl ?? 'http://127.0.0.1:4001',
    databaseUrl: new Secret(options.databaseUrl ?? (await makeSqliteDatabase(t))),
    seed:
      options.seed === false
        ? undefined
        : {
            clientId: options.clientId ?? seeded.clientId,
            clientSecret: new Secret(options.clientSecret ?? seeded.clientSecret),
            redirectUris: options.redirectUris ?? [seeded.redirectUri],
            userEmail: options.email ?? seeded.email,
            userPassword: new Secret(options.password ?? seeded.password),
          },
    trustedProxies: options.trustedProxies ?? [],
    maxConnections: 1000,
    accessTokenSeconds: options.accessTokenSeconds ?? 86_400,
    codeSeconds: options.codeSeconds ?? 60,
    lab: options.lab,
    prestopDelayMs: 0,
    logLevel: 'info',
  }
  const logger: FastifyBaseLogger = pino({ level: 'info' }, { write: (line: string) => void logLines.push(line) })
  const sandbox = await buildSandbox(config, {
    clock: now,
    logger,
    passwords: options.passwords ?? quickPasswords(),
    ...(options.onStep && { onStep: options.onStep }),
  })
  t.teardown(() => sandbox.close())
  return {
    ...sandbox,
    logLines,
    config,
    now,
    passTime(ms) {
      nowMs += ms
    },
  }
}

let newDatabase: Promise<Buffer> | undefined

/**
 * Makes a new SQLite database with the tables and the keys of a sandbox, but without any other rows. Resolves to the
 * address of the database.
 */
export async function makeSqliteDatabase(t: Test): Promise<string> {
  const url = await makeSqliteUrl(t)
  // Make the database once and copy it, because creating the tables takes a fifth of the start time.
  newDatabase ??= makeNewDatabase(t)
  await writeFile(pathOf(url), await newDatabase)
  return url
}

async function makeNewDatabase(t: Test): Promise<Buffer> {
  const url = await makeSqliteUrl(t)
  await makeTables(url)
  return readFile(pathOf(url))
}

/** Creates the tables and keys of a sandbox in an empty database. */
export async function makeTables(databaseUrl: string): Promise<void> {
  const store = await openStore(new Secret(databaseUrl), { clock: () => new Date(0), onLost: () => undefined })
  await store.close()
}

function pathOf(url: string): string {
  return url.slice('sqlite:'.length)
}

/**
 * Makes a database URL: `sqlite:` and the path of a file that does not exist yet. The file is removed after the test.
 */
export async function makeSqliteUrl(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sandbox-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return `sqlite:${join(folder, 'sandbox.db')}`
}
