// Every page on small screens, with large text, on paper, and in the colours and the calm that a visitor asks for.
import t from 'tap'
import { skip } from '../support/launch-chromium.ts'
import { signIn } from './support/sign-in.ts'
import { startVisit } from './support/start-visit.ts'
import { longestWords, visitEveryPage } from './support/visit-every-page.ts'

/** Runs in the page: how many pixels it is wider than the window. */
const tooWide = 'Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth'
/** Runs in the page: the texts of what can be pressed or typed into, and is seen. */
const controls = `[...document.querySelectorAll('button, .button, input, textarea, select, nav, footer')]
  .filter(element => element.checkVisibility() && element.type !== 'hidden').map(element => element.textContent || element.id)`

t.test(
  'the longest unbroken words make no page scroll sideways, at 320 px and with text twice as large',
  { skip },
  async t => {
    const { both, page, troubles } = await startVisit(t, { browser: { isShell: true } })
    await visitEveryPage(page, both, longestWords, async name => {
      await page.setViewportSize({ width: 320, height: 640 })
      t.ok(((await page.evaluate(tooWide)) as number) <= 0, `${name}, 320 px`)
      await page.setViewportSize({ width: 1280, height: 800 })
      await page.evaluate("document.documentElement.style.fontSize = '200%'")
      t.ok(((await page.evaluate(tooWide)) as number) <= 0, `${name}, text at 200 %`)
      await page.evaluate("document.documentElement.style.fontSize = ''")
    })
    t.same(troubles, [])
  },
)

t.test(
  'a page that is zoomed to 200 % on a small desk holds all that it held, one below the other',
  { skip },
  async t => {
    const { both, context, troubles } = await startVisit(t, { browser: { isShell: true } })
    const page = await context.newPage()
    // Zoom makes a window of 640 of its own pixels out of one of 1280.
    await page.setViewportSize({ width: 640, height: 400 })
    await signIn(page, both, '/applications/new')
    for (const name of ['Your applications', 'Sign out', 'Cancel', 'Create application'])
      await page
        .getByRole(/Sign|Create/.test(name) ? 'button' : 'link', { name })
        .first()
        .click({ trial: true })
    t.ok(((await page.evaluate(tooWide)) as number) <= 0)
    t.same(troubles, [])
  },
)

t.test('on paper there is what was to be read, in dark on white, and nothing to press', { skip }, async t => {
  const { both, page, publicUrl, clientId, troubles } = await startVisit(t, {
    browser: { isShell: true, colorScheme: 'dark' },
  })
  await signIn(page, both)
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
  'where colours are forced, everything to press or to type into still has an edge, and the focus a ring',
  { skip },
  async t => {
    const { both, page, publicUrl, clientId, troubles } = await startVisit(t, {
      browser: { isShell: true, forcedColors: 'active' },
    })
    await signIn(page, both)
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

t.test('nothing moves where a visitor has asked for calm', { skip }, async t => {
  const { context, page, publicUrl, troubles } = await startVisit(t, {
    browser: { isShell: true, reducedMotion: 'reduce' },
  })
  const moving = `[...document.querySelectorAll('*')].filter(element => {
    const { transitionDuration, animationName } = getComputedStyle(element)
    return parseFloat(transitionDuration) > 0 || animationName !== 'none'
  }).map(element => element.outerHTML)`
  await page.goto(publicUrl)
  t.same(await page.evaluate(moving), [])
  const other = await context.newPage()
  await other.emulateMedia({ reducedMotion: 'no-preference' })
  await other.goto(publicUrl)
  t.not(((await other.evaluate(moving)) as string[]).length, 0, 'elsewhere something does')
  t.same(troubles, [])
})
