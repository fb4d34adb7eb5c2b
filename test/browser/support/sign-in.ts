// Signs a person in: begins the login at the client, fills in the portal's pages, and returns to the client.
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

/** Begins a login for a page of the client, signs in at the portal, and waits for the page. */
export async function signIn(page: Page, both: Both, path = '/applications', person = both.person): Promise<void> {
  await page.goto(`${both.publicUrl}/login?${new URLSearchParams({ returnTo: path })}`)
  await enterPassword(page, person)
  const isBack = page.getByRole('button', { name: 'Sign out' })
  // Allows the application, if the portal asks. The portal asks each person only once for each application.
  const button = page.getByRole('button', { name: 'Allow' })
  await button.or(isBack).first().waitFor()
  if (await button.isVisible()) await button.click()
  await page.waitForURL(both.publicUrl + path)
  await isBack.waitFor()
}
