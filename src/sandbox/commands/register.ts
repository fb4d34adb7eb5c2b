// Registers a client. The sandbox can keep running: npm run sandbox:register -- --redirect-uri URI
import { parseArgs } from 'node:util'
import { toApiError } from '../api/api-error.ts'
import { createApplication } from '../applications/applications.ts'
import { dataOfClient } from '../applications/fields.ts'
import type { SandboxConfig } from '../config.ts'
import { makeGroup } from '../groups/groups.ts'
import { Refusal } from '../observe/refusal.ts'
import { clientSettings } from '../seed/client-settings.ts'
import { findOwnGroup } from '../store/groups.ts'
import type { Store } from '../store/store.ts'
import { findCredentials, listSomeUsers } from '../store/users.ts'
import { openKeyRing } from '../tokens/key-ring.ts'
import { defineCommand, NothingDone, onStore, runCommand } from './run-command.ts'

const usage = `npm run sandbox:register -- --redirect-uri URI [options]

Registers a client with the sandbox and prints its settings. You can use this command while the sandbox runs.

  --redirect-uri URI   an address to which the portal redirects browsers after a login; you can repeat this option
  --name NAME          the client's name (My client)
  --email ADDRESS      the account that the client belongs to; needed if there are several accounts
  --help               this text`

export const registerClient = defineCommand({ usage, failure: 'Nothing was registered' }, async (config, args) => {
  const { values } = parseArgs({
    args,
    options: {
      'redirect-uri': { type: 'string', multiple: true, default: [] },
      name: { type: 'string', default: 'My client' },
      email: { type: 'string' },
    },
  })
  const { name, email, 'redirect-uri': redirectUris } = values
  if (redirectUris.length === 0)
    throw new NothingDone('Name a redirect URI: --redirect-uri http://localhost:3000/exchangeToken')
  const { portalUrl, apiUrl, databaseUrl } = config
  if (databaseUrl.reveal() === 'sqlite::memory:')
    throw new NothingDone(
      'This command cannot use a database in memory. Register the client with the running sandbox: send POST /lab/v1/applications.',
    )
  if ([portalUrl, apiUrl].some(url => new URL(url).port === '0'))
    throw new NothingDone(
      'The ports of the sandbox are not known. Set PORTAL_PORT and API_PORT to the ports that the running sandbox uses.',
    )
  return onStore(config, async store => {
    const userId = await findOwner(store, config, email)
    const created = await inSentences(async () => {
      return register(store, config, userId, dataOfClient({ name, redirectUris }))
    })
    const settings = Object.entries(clientSettings(config, created)).map(([name, value]) => `${name}=${value}`)
    return ['# The secret is shown here, and never again.', ...settings].join('\n')
  })
})

async function register(store: Store, config: SandboxConfig, userId: string, data: ReturnType<typeof dataOfClient>) {
  const clock = () => new Date()
  const groupId =
    (await findOwnGroup(store.read, userId)) ?? (await makeGroup({ store, clock }, { name: 'Developers', userId })).id
  const services = { addresses: config, store, keyRing: await openKeyRing(store, clock), clock }
  return createApplication(services, { ...data, groupId }, { userId, clientId: null })
}

/**
 * Returns the id of the account with this e-mail address. Without an address, the function returns the id of the seeded
 * account, or of the only account. Throws NothingDone if it finds no account, or several accounts.
 */
async function findOwner(store: Store, { seed, portalUrl }: SandboxConfig, email: string | undefined): Promise<string> {
  const wanted = email ?? seed?.userEmail
  const named = wanted === undefined ? undefined : await findCredentials(store.read, wanted)
  if (named) return named.userId
  if (email !== undefined) throw new NothingDone(`No account has the address ${email}. Sign up at ${portalUrl} first.`)
  const [first, second] = await listSomeUsers(store.read, 2)
  if (!first)
    throw new NothingDone(
      `There is no account yet that a client could belong to. Sign up at ${portalUrl} while the sandbox runs, or set the SEED_ settings and start the sandbox once.`,
    )
  if (second)
    throw new NothingDone(
      'There are several accounts. Say which account the client belongs to: --email ann@example.org',
    )
  return first
}

/**
 * Calls `work`. If `work` throws a Refusal, the function throws NothingDone with the API's message for this refusal.
 */
async function inSentences<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { body } = toApiError(error)
    if (typeof body === 'string') throw new NothingDone(body)
    const problems = Object.entries(body).map(([field, sentences]) => `  ${field}: ${sentences.join(' ')}`)
    throw new NothingDone(`The client cannot be registered:\n${problems.join('\n')}`)
  }
}

if (import.meta.main) await runCommand(registerClient)
