// Tests in Chromium that people with a disability can use the portal's pages.
import t from 'tap'
import { findViolations, ofColours } from '../../support/find-violations.ts'
import { skip } from '../../support/launch-chromium.ts'
import { openPage } from '../../support/open-page.ts'
import { openPortal } from '../support/open-portal.ts'
import { walkPortal } from '../support/walk-portal.ts'

/**
 * This script runs in the page. It does not check links within a sentence, because such links may be as small as the
 * text. It does not check hidden elements, because they have no size.
 */
const look = `(() => {
  const root = document.documentElement
  const width = root.scrollWidth
  const tooSmall = [...document.querySelectorAll('button, input:not([type=hidden]), select, nav a')]
    .filter(element => element.checkVisibility())
    .map(element => ({ html: element.outerHTML, box: element.getBoundingClientRect() }))
    .filter(({ box }) => box.width < 24 || box.height < 24).map(({ html }) => html)
  const cutOff = [...document.querySelectorAll('pre')].filter(block => block.scrollWidth > block.clientWidth).length
  root.style.fontSize = '200%'
  const widthWhenLarge = root.scrollWidth
  root.style.fontSize = ''
  return { width, tooSmall, cutOff, widthWhenLarge }
})()`
type Look = { width: number; tooSmall: string[]; cutOff: number; widthWhenLarge: number }

t.test(
  'every page of the portal passes axe-core, never scrolls sideways, and has buttons and links that are large enough (WCAG 2.5.8)',
  { skip },
  async t => {
    const portal = await openPortal(t)
    const { page, troubles } = await openPage(t)
    await walkPortal(portal, page, async name => {
      t.strictSame(await findViolations(page), [], name)
      await page.emulateMedia({ colorScheme: 'dark' })
      t.strictSame(await findViolations(page, ofColours), [], `${name}, dark`)
      await page.emulateMedia({ colorScheme: 'light' })
      const size = page.viewportSize()!
      await page.setViewportSize({ width: 320, height: 640 })
      const { width, tooSmall, cutOff, widthWhenLarge } = (await page.evaluate(look)) as Look
      t.ok(width <= 320, `${name} is ${width} pixels wide`)
      t.strictSame(tooSmall, [], name)
      t.equal(cutOff, 0, `${name} shows its code blocks in full`)
      t.ok(widthWhenLarge <= 320, `${name} is ${widthWhenLarge} pixels wide with text at 200%`)
      await page.setViewportSize(size)
    })
    t.strictSame(troubles, [], 'the console is silent')
  },
)
