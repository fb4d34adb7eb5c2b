// A visitor who has signed in, and what then happens to the session: for the tests of its renewal.
import type { Test } from 'tap'
import { buildApplicationsClient, signIn } from './build-test-client.ts'
import { accessTokenOf, applicationRecord, collection, giveTokens, type Script } from './scripted-platform.ts'
import type { TestBrowser } from './test-browser.ts'

export const tokenRoute = 'POST /api/exchangeToken'
export const renewedToken = accessTokenOf('visitor-1', { jti: 'renewed' })

/** Signed in with the refresh token `first`, for an hour; from then on the portal answers a renewal so. */
export async function buildSignedIn(
  t: Test,
  renewal: Script = giveTokens({ access_token: renewedToken, refresh_token: 'second' }),
) {
  const test = await buildApplicationsClient(t, {
    scripts: { 'GET /apps/v1': { body: collection([applicationRecord('app-1')]) } },
  })
  test.platform.answer(tokenRoute, giveTokens({ refresh_token: 'first' }))
  await signIn(test.browser)
  test.platform.answer(tokenRoute, renewal)
  /** What reached the portal since. */
  const renewals = () => test.platform.received(tokenRoute).slice(1)
  return { ...test, renewals }
}

export function openList(browser: TestBrowser) {
  return browser.get('/applications', { site: 'same-origin' })
}

/** The cookies that hold a refresh token. */
export function grantNames(browser: TestBrowser): string[] {
  return browser.names().filter(name => name.startsWith('__Host-refresh-'))
}
