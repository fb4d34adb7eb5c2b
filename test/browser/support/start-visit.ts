// Starts the client and the sandbox, and opens a browser for a visitor.
import type { BrowserContext } from 'playwright-core'
import type { Test } from 'tap'
import { createBrowser } from '../../../src/conformance/browser/browser.ts'
import { HttpBrowser } from '../../journey/support/http-browser.ts'
import { logIn } from '../../journey/support/log-in.ts'
import { type Both, startBoth } from '../../journey/support/start-both.ts'
import { openPage, type PageSettings } from '../../support/open-page.ts'

type Settings = NonNullable<Parameters<typeof startBoth>[1]> & {
  /**
   * The path of a page. The function signs the visitor in and opens this page. If `at` is undefined, no page is opened,
   * and nobody is signed in.
   */
  at?: string
  browser?: PageSettings
}

export async function startVisit(t: Test, { at, browser: options = {}, ...settings }: Settings = {}) {
  const both = await startBoth(t, settings)
  const { context, page, troubles } = await openPage(t, options)
  if (at) {
    await rememberLogin(context, both)
    await page.goto(both.publicUrl + at)
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
  }
  return { ...both, both, context, page, troubles }
}

/**
 * Signs the visitor in over HTTP, without showing pages, and gives the cookies to the browser. A login with pages would
 * take most of the time of a test.
 */
async function rememberLogin(context: BrowserContext, both: Both): Promise<void> {
  const browser = createBrowser()
  await logIn(new HttpBrowser(undefined, browser), both)
  const sameSites = { strict: 'Strict', lax: 'Lax', none: 'None' } as const
  await context.addCookies(
    browser.cookies
      .list()
      .map(({ name, value, domain, path, isSecure, isHttpOnly, sameSite = 'lax', expiresAt }) => ({
        name,
        value,
        domain,
        path,
        secure: isSecure,
        httpOnly: isHttpOnly,
        sameSite: sameSites[sameSite],
        expires: Number.isFinite(expiresAt) ? expiresAt / 1000 : -1,
      })),
  )
}
