// Code that all commands share: it reads the settings, and prints the result or the error. A command reads its options
// before it opens the database, because opening the database can migrate it.
import { existsSync } from 'node:fs'
import { ConfigError, readConfig, type SandboxConfig } from '../config.ts'
import { UnusableDatabase } from '../store/migrate.ts'
import { openStore } from '../store/open-store.ts'
import type { Store } from '../store/store.ts'

/** Thrown if a command cannot do what the operator asked for. The message says what the operator must do. */
export class NothingDone extends Error {}

/** A command resolves to its exit code and the text for the operator. It never rejects. */
type Command = (
  environment: NodeJS.ProcessEnv,
  args: string[],
) => Promise<{ exitCode: number; stdout: string; stderr: string }>

/**
 * Defines a command. `work` resolves to the text to print. If `work` throws, the exit code is 1. If the error was not
 * written for the operator, the output begins with `failure`. `usage` is the whole text of `--help`.
 */
export function defineCommand(
  { usage, failure }: { usage: string; failure: string },
  work: (config: SandboxConfig, args: string[]) => Promise<string>,
): Command {
  return async (environment, args) => {
    // Print the help before the settings are read, because `--help` must work without settings.
    if (args.includes('--help')) return { exitCode: 0, stdout: `${usage}\n`, stderr: '' }
    try {
      return { exitCode: 0, stdout: `${await work(readConfig(environment), args)}\n`, stderr: '' }
    } catch (error) {
      const { message, code } = error as NodeJS.ErrnoException
      const isForOperator =
        error instanceof ConfigError || error instanceof UnusableDatabase || error instanceof NothingDone
      const isUsage = code?.startsWith('ERR_PARSE_ARGS') ?? false
      return {
        exitCode: 1,
        stdout: '',
        stderr: `${isForOperator ? message : `${failure}: ${message || code}`}\n${isUsage ? `\n${usage}\n` : ''}`,
      }
    }
  }
}

/** Runs the command with the arguments of this process, prints its output, and sets the exit code. */
export async function runCommand(command: Command): Promise<void> {
  const { exitCode, stdout, stderr } = await command(process.env, process.argv.slice(2))
  process.stdout.write(stdout)
  process.stderr.write(stderr)
  process.exitCode = exitCode
}

/** Opens the database, migrates it to the current schema, and closes it after the work. */
export async function onStore<T>(config: SandboxConfig, work: (store: Store) => Promise<T>): Promise<T> {
  // Throw if the file does not exist. Otherwise openStore would create a new database file, and the operator would not
  // notice that the running sandbox uses another file.
  sqlitePathOf(config)
  const store = await openStore(config.databaseUrl, { clock: () => new Date(), onLost: () => undefined })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** Returns undefined for PostgreSQL. Throws NothingDone if there is no file that a command can open. */
export function sqlitePathOf({ databaseUrl }: SandboxConfig): string | undefined {
  const [, path] = /^sqlite:(.+)$/.exec(databaseUrl.reveal()) ?? []
  if (path === ':memory:')
    throw new NothingDone(
      'This command cannot use a database in memory. Set DATABASE_URL to a file, such as sqlite:data/sandbox.db, and start the sandbox again.',
    )
  if (path && !existsSync(path))
    throw new NothingDone('There is no database at DATABASE_URL yet. Start the sandbox first: it creates the database.')
  return path
}
