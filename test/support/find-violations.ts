// What axe-core finds on a page.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'

/** The rules that another scheme of colours can break. */
export const ofColours: RunOptions = { runOnly: ['color-contrast', 'link-in-text-block'] }

// The smaller of its two files: it is read anew on every page.
const source = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** By its usual rules unless `options` says otherwise; `rule: element`, one line for each element. */
export async function findViolations(page: Page, options: RunOptions = {}): Promise<string[]> {
  // The policy of a page refuses a script element. The types of the page are not those of Node, so all are strings.
  if (!(await page.evaluate('"axe" in self'))) {
    // Chromium itself keeps what it has compiled for the pages to come, as it does not for what a page evaluates.
    const session = await page.context().newCDPSession(page)
    await session.send('Runtime.evaluate', { expression: `${source};0` })
    await session.detach()
  }
  // A colour on its way to another is neither.
  const settle = 'for (const change of document.getAnimations()) change.finish()'
  const run = `${settle}; axe.run(${JSON.stringify({ resultTypes: ['violations'], ...options })})`
  const { violations } = (await page.evaluate(run)) as AxeResults
  return violations.flatMap(({ id, nodes }) => nodes.map(node => `${id}: ${node.html}`))
}
