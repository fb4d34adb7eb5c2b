// Applies the SEED_ settings, while the sandbox runs: npm run sandbox:seed -- --force
import { parseArgs } from 'node:util'
import { createPasswords } from '../people/passwords.ts'
import { seedStore } from '../seed/seed.ts'
import { defineCommand, NothingDone, onStore, runCommand } from './run-command.ts'

const usage = `npm run sandbox:seed [-- --force]

Makes the user and the client of the SEED_ settings. The sandbox may be running.

  --force   applies the settings again, also if they have not changed since they were last applied
  --help    this text`

export const applySeeds = defineCommand({ usage, failure: 'Nothing was seeded' }, async (config, args) => {
  const { values } = parseArgs({ args, options: { force: { type: 'boolean', default: false } } })
  const { seed } = config
  if (!seed) throw new NothingDone('There is nothing to seed. Set the SEED_ settings, for example in .env.sandbox.')
  const parts = { passwords: createPasswords(), clock: () => new Date(), isForced: values.force }
  const { applied, refused, outdated } = await onStore(config, store => seedStore(store, seed, parts))
  const news = applied.length > 0 ? `Applied: ${applied.join(', ')}.` : 'Nothing had to be applied.'
  if (refused.length > 0) throw new NothingDone([...refused, news].join('\n'))
  return outdated.length > 0 ? `${news}\nSince it was seeded, ${outdated.join(', ')}; --force undoes that.` : news
})

if (import.meta.main) await runCommand(applySeeds)
