// Gives the sandbox a new signing key, while it runs: npm run sandbox:rotate-keys
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { ConfigError, readConfig } from '../config.ts'
import { addSigningKey, removeOtherSigningKeys } from '../store/keys.ts'
import { UnusableDatabase } from '../store/migrate.ts'
import { openStore } from '../store/open-store.ts'

class NothingToRotate extends Error {}

async function rotateKeys(): Promise<string> {
  const { values } = parseArgs({ options: { 'remove-old': { type: 'boolean', default: false } } })
  const { databaseUrl } = readConfig(process.env)
  const [, path] = /^sqlite:(.+)$/.exec(databaseUrl.reveal()) ?? []
  // Opening would make it, and the running sandbox would go on with its old key unnoticed.
  if (path && !existsSync(path)) throw new NothingToRotate('There is no database yet where DATABASE_URL says it is.')

  const clock = () => new Date()
  const store = await openStore(databaseUrl, { clock, onLost: () => undefined })
  try {
    return await store.transaction(async db => {
      const id = await addSigningKey(db, clock())
      const news = `Access tokens are signed with the key ${id} from now on (running instances notice within five seconds).`
      if (!values['remove-old']) return `${news}\nTokens that were signed before still verify until they expire.`
      const removed = await removeOtherSigningKeys(db, id)
      return `${news}\nOlder keys removed: ${removed}. Tokens that were signed with them are refused.`
    })
  } finally {
    await store.close()
  }
}

try {
  process.stdout.write(`${await rotateKeys()}\n`)
} catch (error) {
  const { message, code } = error as NodeJS.ErrnoException
  const isForOperator =
    error instanceof ConfigError || error instanceof UnusableDatabase || error instanceof NothingToRotate
  process.stderr.write(`${isForOperator ? message : `The keys were not rotated: ${message || code}`}\n`)
  process.exitCode = 1
}
