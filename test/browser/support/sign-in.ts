// Signs a person in at the login portal, and follows the login from the client and back.
import type { Page } from 'playwright-core'
import type { Both, Person } from '../../journey/support/start-both.ts'

/** Types e-mail and password on the portal's page. */
export async function enterPassword(page: Page, { email, password }: Person): Promise<void> {
  await page.getByLabel('E-mail').first().fill(email)
  await page.getByLabel('Password').first().fill(password)
  await page.getByRole('button', { name: 'Sign in' }).first().click()
}

export async function allow(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Allow' }).click()
}

/** Opens a page of the client without a session, signs in at the portal, and returns to the page. */
export async function signIn(page: Page, both: Both, path = '/applications', person = both.person): Promise<void> {
  await page.goto(`${both.publicUrl}/login?${new URLSearchParams({ returnTo: path })}`)
  await enterPassword(page, person)
  const isBack = page.getByRole('button', { name: 'Sign out' })
  // Allows the application. The portal asks only once for each person and application.
  const button = page.getByRole('button', { name: 'Allow' })
  await button.or(isBack).first().waitFor()
  if (await button.isVisible()) await button.click()
  await page.waitForURL(both.publicUrl + path)
  await isBack.waitFor()
}
