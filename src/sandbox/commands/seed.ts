// Applies the SEED_ settings. The sandbox can keep running: npm run sandbox:seed -- --force
import { parseArgs } from 'node:util'
import { createPasswords } from '../people/hash-passwords.ts'
import { seedStore } from '../seed/seed.ts'
import { defineCommand, NothingDone, onStore, runCommand } from './run-command.ts'

const usage = `npm run sandbox:seed [-- --force]

Creates the user and the client that the SEED_ settings describe. You can use this command while the sandbox runs.

  --force   applies the settings again, even if the settings are the same as last time
  --help    this text`

export const applySeeds = defineCommand({ usage, failure: 'Nothing was seeded' }, async (config, args) => {
  const { values } = parseArgs({ args, options: { force: { type: 'boolean', default: false } } })
  const { seed } = config
  if (!seed) throw new NothingDone('There is nothing to seed. Set the SEED_ settings, for example in .env.sandbox.')
  const options = { passwords: createPasswords(), clock: () => new Date(), isForced: values.force }
  const { applied, refused, outdated } = await onStore(config, store => seedStore(store, seed, options))
  const news = applied.length > 0 ? `Applied: ${applied.join(', ')}.` : 'Nothing had to be applied.'
  if (refused.length > 0) throw new NothingDone([...refused, news].join('\n'))
  return outdated.length > 0
    ? `${news}\nChanges since the seeding: ${outdated.join(', ')}. The option --force undoes these changes.`
    : news
})

if (import.meta.main) await runCommand(applySeeds)
