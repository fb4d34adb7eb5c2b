// Unfolds the optional fields of a form.
import type { Page } from 'playwright-core'

export async function openOptionalFields(page: Page): Promise<void> {
  const closed = page.locator('form details:not([open]) > summary')
  while ((await closed.count()) > 0) await closed.first().click()
}
