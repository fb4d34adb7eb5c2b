// Leads a browser to every page of the portal and to every state that looks different.
import type { Page } from 'playwright-core'
import { seeded } from './build-test-sandbox.ts'
import type { OpenPortal } from './open-portal.ts'

const longName = `A very long name ${'Donaudampfschifffahrtsgesellschaft'.repeat(3)} with an end`
const paragraph = 'What an application says about itself, in a few sentences. '.repeat(12)

/** `look` is called on each page, with a name for it. */
export async function walkPortal(
  { sandbox, portalUrl, startUrl }: OpenPortal,
  page: Page,
  look: (name: string) => Promise<void>,
): Promise<void> {
  const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click()
  const go = (path: string) => page.goto(`${portalUrl}${path}`)

  await go('/?client_id=nobody')
  await look('error')
  await go('/nowhere')
  await look('not-found')
  await go('/terms')
  await look('terms')

  await page.goto(startUrl)
  await look('sign-in')
  await page.getByLabel('E-mail').first().fill('nobody@example.test')
  await page.getByLabel('Password').first().fill('wrong password')
  await press('Sign in')
  await look('sign-in-refused')

  await page.locator('[action="/sign-up"]').evaluate((form: { noValidate: boolean }) => {
    form.noValidate = true
  })
  await press('Create account')
  await look('sign-up-refused')
  await fillSignUp(page, 'walker@example.test')
  await press('Create account')
  await look('consent')
  await sandbox.store.write(db =>
    db
      .updateTable('applications')
      .set({
        name: longName,
        description: paragraph,
        web_page_url: 'https://example.test/',
        privacy_policy_url: 'https://example.test/privacy',
      })
      .execute(),
  )
  await page.reload()
  await look('consent-long')

  await go('/account')
  await look('account')
  await go('/account/groups')
  await look('groups-none')
  await go('/account/token')
  await look('token-no-group')
  await press('Make an access token')
  await look('token-shown-no-group')
  await go('/account/applications')
  await look('applications-none')

  await go('/account/groups')
  await page.getByLabel('Name').evaluate((input: { required: boolean }) => {
    input.required = false
  })
  await press('Make group')
  await look('groups-refused')
  for (const name of ['Weather', longName]) {
    await page.getByLabel('Name').fill(name)
    await press('Make group')
  }
  await look('groups-created')
  await go('/account/token')
  await look('token')
  await press('Make an access token')
  await look('token-shown')

  await page.goto(startUrl)
  await press('Allow')
  await page.getByRole('heading', { name: 'Client' }).waitFor()
  await go('/account/applications')
  await look('applications')
  await press(/^Withdraw/)
  await look('applications-withdrawn')

  await press('Sign out')
  await look('signed-out')
  await go('/account')
  await look('account-sign-in')
}

export async function fillSignUp(page: Page, email: string): Promise<void> {
  const form = page.locator('[action="/sign-up"]')
  await form.getByLabel('E-mail').fill(email)
  await form.getByLabel('Password').fill(seeded.password)
  await form.getByLabel('First name').fill('Maximiliane')
  await form.getByLabel('Last name').fill('von Hohenfels')
  await form.getByLabel('I accept').check()
}
