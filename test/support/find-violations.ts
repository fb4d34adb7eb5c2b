// Finds problems on a page with axe-core.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { RunOptions } from 'axe-core'
import type { CDPSession, Page } from 'playwright-core'

/** The rules that depend on the colour scheme. */
export const ofColours: RunOptions = { runOnly: ['color-contrast', 'link-in-text-block'] }

// This is the smaller of axe's two files, because Chromium reads the file on every page.
const source = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** Each tab has one DevTools session, because opening and closing a session takes as long as using it. */
const sessions = new WeakMap<Page, Promise<CDPSession>>()

/** Returns a line `rule: element` for each violation. `options` can replace axe's usual rules. */
export async function findViolations(page: Page, options: RunOptions = {}): Promise<string[]> {
  // The code that runs in the page is a string, because it uses types that Node does not have. The code returns only
  // the violations, because the whole result is a hundred times as long. Before the check, the code ends colour
  // transitions. If a page sets no background, axe assumes white, even on a dark page, so the page gets a background
  // for the check (dequelabs/axe-core#3605).
  const run = `(async () => {
    if (!('axe' in self)) return
    for (const change of document.getAnimations()) change.finish()
    const { documentElement: root, body } = document
    const isBare = [root, body].every(element => getComputedStyle(element).backgroundColor === 'rgba(0, 0, 0, 0)')
    const { backgroundColor } = root.style
    if (isBare) root.style.backgroundColor = 'Canvas'
    const { violations } = await axe.run(${JSON.stringify({ resultTypes: ['violations'], ...options })})
    root.style.backgroundColor = backgroundColor
    return violations.flatMap(({ id, nodes }) => nodes.map(node => id + ': ' + node.html))
  })()`
  const found = await page.evaluate<string[] | undefined>(run)
  if (found) return found
  if (!sessions.has(page)) sessions.set(page, page.context().newCDPSession(page))
  const session = await sessions.get(page)!
  // The test cannot add a script element, because the page's policy refuses it. With this command, Chromium also keeps
  // the compiled code for later pages.
  await session.send('Runtime.evaluate', { expression: `${source};0` })
  return page.evaluate<string[]>(run)
}
