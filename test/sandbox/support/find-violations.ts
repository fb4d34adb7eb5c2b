// What axe-core finds on a page.
import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** With its default rules, one line for each element. */
export async function findViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  // A string, because the types of the page are not those of Node.
  const { violations } = (await page.evaluate('axe.run()')) as axe.AxeResults
  return violations.flatMap(({ id, nodes }) => nodes.map(node => `${id}: ${node.html}`))
}
