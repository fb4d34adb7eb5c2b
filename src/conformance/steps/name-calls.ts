// Finds out whether the client asks the portal for the name of the visitor at each visit.
import type { Browser } from '../browser/browser.ts'
import type { CheckContext } from '../context.ts'
import { expect } from '../findings.ts'

const visits = 3

/**
 * Visits the page behind the login three times, and then the start page three times, because some clients show the name
 * only on the start page. Fails if the client asks for the name at each visit to a page. `who` begins the finding.
 */
export async function expectNameNotAskedAtEachVisit(
  context: CheckContext,
  browser: Browser,
  who = 'The client',
): Promise<void> {
  for (const path of [context.settings.page, '/']) {
    const { steps } = await context.during(async () => {
      for (let visit = 0; visit < visits; visit++) await context.visitUntilPortal(browser, path)
    })
    const calls = steps.filter(({ kind }) => kind === 'me')
    expect(
      calls.length < visits,
      `${who} asked for the name ${calls.length} times during ${visits} visits to ${path}.`,
      ...calls.slice(0, 2),
    )
  }
}
