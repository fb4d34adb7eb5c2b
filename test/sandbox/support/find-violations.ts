// What axe-core finds on a page.
import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** With its default rules, or only with those that a scheme of colours can break; one line for each element. */
export async function findViolations(page: Page, only?: 'colours'): Promise<string[]> {
  await page.evaluate(`self.axe || (() => { ${axe.source} })()`)
  const options = { resultTypes: ['violations'], ...(only && { runOnly: ['color-contrast', 'link-in-text-block'] }) }
  // A string, because the types of the page are not those of Node.
  const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as axe.AxeResults
  return violations.flatMap(({ id, nodes }) => nodes.map(node => `${id}: ${node.html}`))
}
