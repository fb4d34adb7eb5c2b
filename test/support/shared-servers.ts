// PostgreSQL and Chromium take a long time to start, so `npm test` starts each of them once for all test files
// (scripts/with-servers.ts).

export type SharedServer = 'postgres' | 'chromium' | 'shell'

/**
 * This environment variable contains the address of a small HTTP server, which returns the addresses of the shared
 * servers.
 */
export const sharedServersVariable = 'SHARED_TEST_SERVERS'

/**
 * Returns the address of a shared server. Returns undefined if a test file runs alone, so that it must start its own
 * server.
 */
export async function findSharedServer(name: SharedServer): Promise<string | undefined> {
  const directory = process.env[sharedServersVariable]
  if (!directory) return undefined
  const response = await fetch(`${directory}/${name}`)
  if (!response.ok) throw new Error(await response.text())
  return response.text()
}
