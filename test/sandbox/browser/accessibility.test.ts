import t from 'tap'
import { skip } from '../../support/launch-chromium.ts'
import { openPage } from '../../support/open-page.ts'
import { findViolations } from '../support/find-violations.ts'
import { openPortal } from '../support/open-portal.ts'
import { walkPortal } from '../support/walk-portal.ts'

for (const colorScheme of ['light', 'dark'] as const) {
  t.test(`axe-core finds nothing on any page of the portal (${colorScheme})`, { skip }, async t => {
    const portal = await openPortal(t)
    const { page, troubles } = await openPage(t, { colorScheme })
    await walkPortal(portal, page, async name => {
      t.strictSame(await findViolations(page), [], name)
    })
    t.strictSame(troubles, [], 'the console is silent')
  })
}

t.test(
  'at a width of 320 pixels no page scrolls sideways, and what is pressed is big enough (WCAG 2.5.8)',
  { skip },
  async t => {
    const portal = await openPortal(t)
    const { page } = await openPage(t, { viewport: { width: 320, height: 640 } })
    await walkPortal(portal, page, async name => {
      const width = await page.evaluate('document.documentElement.scrollWidth')
      t.ok((width as number) <= 320, `${name} is ${width} pixels wide`)
      // Links within a sentence may be as small as its letters.
      const small =
        await page.evaluate(`[...document.querySelectorAll('button, input:not([type=hidden]), select, nav a')]
      .map(element => ({ html: element.outerHTML, box: element.getBoundingClientRect() }))
      .filter(({ box }) => box.width < 24 || box.height < 24).map(({ html }) => html)`)
      t.strictSame(small, [], name)
    })
  },
)
