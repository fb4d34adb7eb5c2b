// Gives the sandbox a new signing key, while it runs: npm run sandbox:rotate-keys
import { parseArgs } from 'node:util'
import { addSigningKey, removeOtherSigningKeys } from '../store/keys.ts'
import { runOnStore } from './run-on-store.ts'

await runOnStore('The keys were not rotated', store => {
  const { values } = parseArgs({ options: { 'remove-old': { type: 'boolean', default: false } } })
  return store.transaction(async db => {
    const id = await addSigningKey(db, new Date())
    const news = `Access tokens are signed with the key ${id} from now on (running instances notice within five seconds).`
    if (!values['remove-old']) return `${news}\nTokens that were signed before still verify until they expire.`
    const removed = await removeOtherSigningKeys(db, id)
    return `${news}\nOlder keys removed: ${removed}. Tokens that were signed with them are refused.`
  })
})
