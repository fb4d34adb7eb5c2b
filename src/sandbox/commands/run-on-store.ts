// What every command does: read the settings, open the database that is there, print what was done or what is wrong.
import { existsSync } from 'node:fs'
import { ConfigError, readConfig, type SandboxConfig } from '../config.ts'
import { UnusableDatabase } from '../store/migrate.ts'
import { openStore } from '../store/open-store.ts'
import type { Store } from '../store/store.ts'

/** What the operator has to do, in a sentence. */
export class NothingDone extends Error {}

/** `work` resolves to what is printed; `failure` begins the line when it throws. The exit code is then 1. */
export async function runOnStore(
  failure: string,
  work: (store: Store, config: SandboxConfig) => Promise<string>,
): Promise<void> {
  try {
    process.stdout.write(`${await openAnd(work)}\n`)
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    const isForOperator =
      error instanceof ConfigError || error instanceof UnusableDatabase || error instanceof NothingDone
    process.stderr.write(`${isForOperator ? message : `${failure}: ${message || code}`}\n`)
    process.exitCode = 1
  }
}

async function openAnd(work: (store: Store, config: SandboxConfig) => Promise<string>): Promise<string> {
  const config = readConfig(process.env)
  const [, path] = /^sqlite:(.+)$/.exec(config.databaseUrl.reveal()) ?? []
  // Opening would make it, and the running sandbox would go on with its own unnoticed.
  if (path && !existsSync(path)) throw new NothingDone('There is no database yet where DATABASE_URL says it is.')
  const store = await openStore(config.databaseUrl, { clock: () => new Date(), onLost: () => undefined })
  try {
    return await work(store, config)
  } finally {
    await store.close()
  }
}
