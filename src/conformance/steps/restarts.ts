// Restarts the client with other settings, for example with the addresses of another platform.
import { type CheckContext, createContext } from '../context.ts'
import type { Settings } from '../settings.ts'

/** Calls `test`, which restarts the client with other settings. Then restarts the client with its own settings. */
export async function withOtherSettings<T>(context: CheckContext, test: () => Promise<T>): Promise<T> {
  const clientProcess = context.clientProcess!
  clientProcess.isStale = true
  try {
    return await test()
  } finally {
    // Throws if the check has reached its time limit. The client is then still stale, and the suite restarts it.
    await context.restartClient()
    clientProcess.isStale = false
  }
}

/**
 * Whether the client can use a platform at other addresses. If an option of the command names the address of the portal
 * or the API, for example as the name of a container, the client may be unable to reach any other address.
 */
export function canUseOtherPlatform({ portalUrl, apiUrl }: Settings): boolean {
  return portalUrl === undefined && apiUrl === undefined
}

/**
 * Starts a platform at other addresses, with the same client, and calls `run` with a context for this platform. In this
 * context, a restart gives the client the other addresses, so `run` must begin with a restart. Afterwards, the client
 * runs again with its own settings. Returns the result of `run`.
 */
export async function atOtherPlatform<T>(
  context: CheckContext,
  run: (context: CheckContext) => Promise<T>,
): Promise<T> {
  const { settings, clientProcess } = context
  const { clientId, clientSecret } = context.platform
  const { startPlatform } = await import('../platform.ts')
  const platform = await startPlatform({ ...settings, clientId, clientSecret, portalPort: 0, apiPort: 0, labPort: 0 })
  const changedSettings = { LOGIN_URL: platform.portalUrl, API_URL: platform.apiUrl }
  const other = createContext({ settings, platform, clientProcess, changedSettings, isAlone: true })
  try {
    context.attach(other)
    return await withOtherSettings(context, () => run(other))
  } finally {
    await other.end()
    await platform.close()
  }
}
