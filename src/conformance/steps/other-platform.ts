// Runs a check with another platform, whose addresses the client has never seen.
import { type CheckContext, createContext } from '../context.ts'

/**
 * Starts a platform at other addresses and calls `run` with a context for this platform. In this context, a restart
 * gives the client the other addresses. The first call of `run` must therefore restart the client.
 */
export async function atOtherPlatform(
  { settings, clientProcess, startOtherPlatform }: CheckContext,
  run: (context: CheckContext) => Promise<void>,
): Promise<void> {
  const platform = await startOtherPlatform!()
  const addresses = { LOGIN_URL: platform.portalUrl, API_URL: platform.apiUrl }
  const other = createContext({
    settings,
    platform,
    clientProcess: { ...clientProcess!, restart: changed => clientProcess!.restart({ ...addresses, ...changed }) },
    isAlone: true,
  })
  clientProcess!.isStale = true
  try {
    await run(other)
  } finally {
    await other.end()
    await platform.close()
  }
}
