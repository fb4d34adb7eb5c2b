// Tests pages with zoom, in print, with forced colours and with reduced motion.
import t from 'tap'
import { skip } from '../support/launch-chromium.ts'
import { startVisit } from './support/start-visit.ts'
import { tooWide } from './support/too-wide.ts'

/** This code runs in the page. It returns the text of all visible buttons, fields and navigation. */
const controls = `[...document.querySelectorAll('button, .button, input, textarea, select, nav, footer')]
  .filter(element => element.checkVisibility() && element.type !== 'hidden').map(element => element.textContent || element.id)`

t.test(
  'at 200% zoom on a small screen, all links and buttons of a page can be reached, and the page does not scroll sideways',
  { skip },
  async t => {
    // With a zoom of 200%, a window of 1280 pixels has only 640 CSS pixels.
    const viewport = { width: 640, height: 400 }
    const { page, troubles } = await startVisit(t, { at: '/applications/new', browser: { viewport } })
    for (const name of ['Your applications', 'Sign out', 'Cancel', 'Create application'])
      await page
        .getByRole(/Sign|Create/.test(name) ? 'button' : 'link', { name })
        .first()
        .click({ trial: true })
    t.ok(((await page.evaluate(tooWide)) as number) <= 0)
    t.same(troubles, [])
  },
)

t.test('a printed page has dark text on white, without buttons', { skip }, async t => {
  const { page, publicUrl, clientId, troubles } = await startVisit(t, {
    at: '/applications',
    browser: { colorScheme: 'dark' },
  })
  await page.emulateMedia({ media: 'print' })
  for (const path of ['/', '/applications', `/applications/${clientId}`]) {
    await page.goto(publicUrl + path)
    t.same(await page.evaluate(controls), [], path)
    t.ok(await page.locator('h1').isVisible())
    t.equal(await page.evaluate('getComputedStyle(document.body).color'), 'rgb(28, 36, 48)')
    t.match(await page.evaluate('getComputedStyle(document.body).backgroundColor'), /rgba\(0, 0, 0, 0\)|255, 255, 255/)
  }
  await page.getByText(clientId).first().waitFor()
  t.same(troubles, [])
})

t.test(
  'with forced colours, every button and field has a border, and the focused element has an outline',
  { skip },
  async t => {
    const { page, publicUrl, clientId, troubles } = await startVisit(t, {
      at: '/applications',
      browser: { forcedColors: 'active' },
    })
    const edgeless = `[...document.querySelectorAll('button, .button, input:not([type=hidden]), textarea, select')]
    .filter(element => getComputedStyle(element).borderTopStyle !== 'solid' || !parseFloat(getComputedStyle(element).borderTopWidth))
    .map(element => element.outerHTML)`
    for (const path of ['/', '/applications', '/applications/new', `/applications/${clientId}`]) {
      await page.goto(publicUrl + path)
      t.same(await page.evaluate(edgeless), [], path)
      await page.keyboard.press('Tab')
      await page.keyboard.press('Tab')
      t.equal(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'solid')
    }
    t.same(troubles, [])
  },
)

t.test('pages have no animations if the visitor prefers reduced motion', { skip }, async t => {
  const { context, page, publicUrl, troubles } = await startVisit(t, { browser: { reducedMotion: 'reduce' } })
  const moving = `[...document.querySelectorAll('*')].filter(element => {
    const { transitionDuration, animationName } = getComputedStyle(element)
    return parseFloat(transitionDuration) > 0 || animationName !== 'none'
  }).map(element => element.outerHTML)`
  await page.goto(publicUrl)
  t.same(await page.evaluate(moving), [])
  const other = await context.newPage()
  await other.emulateMedia({ reducedMotion: 'no-preference' })
  await other.goto(publicUrl)
  t.not(((await other.evaluate(moving)) as string[]).length, 0, 'without this setting there must be animations')
  t.same(troubles, [])
})
