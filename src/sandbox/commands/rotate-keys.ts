// Gives the sandbox a new signing key. The sandbox can keep running: npm run sandbox:rotate-keys
import { parseArgs } from 'node:util'
import { addSigningKey, removeOtherSigningKeys } from '../store/keys.ts'
import { defineCommand, onStore, runCommand } from './run-command.ts'

const usage = `npm run sandbox:rotate-keys [-- --remove-old]

Gives the sandbox a new key for signing access tokens. You can use this command while the sandbox runs. If several
instances run, one of them can refuse tokens that are signed with the new key, for up to a second.

  --remove-old   removes all older keys. The API then refuses all tokens that were signed with these keys
  --help         this text`

export const rotateKeys = defineCommand({ usage, failure: 'The keys were not rotated' }, async (config, args) => {
  const { values } = parseArgs({ args, options: { 'remove-old': { type: 'boolean', default: false } } })
  const { id, removed } = await onStore(config, store =>
    store.transaction(async db => {
      const id = await addSigningKey(db, new Date())
      return { id, removed: values['remove-old'] ? await removeOtherSigningKeys(db, id) : undefined }
    }),
  )
  const news = `The sandbox now signs access tokens with the key ${id} (running instances switch within five seconds).`
  return removed === undefined
    ? `${news}\nTokens that were signed earlier stay valid until they expire.`
    : `${news}\nOlder keys removed: ${removed}. The API refuses tokens that were signed with these keys.`
})

if (import.meta.main) await runCommand(rotateKeys)
