// Finds the searches of the client.
import type { Browser, Page } from '../browser/browser.ts'
import type { Form } from '../browser/form.ts'
import type { CheckContext } from '../context.ts'
import { isOfClient } from './application-pages.ts'
import { makeApplication } from './applications.ts'

/** Some clients show a search or several pages only if the list is long. */
const many = 60

/**
 * Opens the page behind the login, with a list of many applications. Returns the searches on this page. A search is a
 * form with GET in which a visitor types text. `field` is the name of the field for this text.
 */
export async function openSearches(
  context: CheckContext,
): Promise<{ browser: Browser; page: Page; searches: { form: Form; field: string }[] }> {
  const person = await context.person()
  for (let count = 0; count < many; count++) await makeApplication(context, person, { name: `Listed ${count}` })
  const { browser } = await context.signedIn()
  const page = await browser.visit(context.url(context.settings.page))
  const searches = page.forms.flatMap(form => {
    const field = form.controls.find(({ type }) => type === 'text' || type === 'search')?.name
    return form.method === 'GET' && field !== undefined && isOfClient(context, form.action) ? [{ form, field }] : []
  })
  return { browser, page, searches }
}
