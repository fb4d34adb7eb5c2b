// Checks the accessibility of every page, on a small screen and with large text.
import t from 'tap'
import { findViolations, ofColours } from '../support/find-violations.ts'
import { skip } from '../support/launch-chromium.ts'
import { isPathOf, listRoutes } from '../support/list-routes.ts'
import { openPage } from '../support/open-page.ts'
import { startVisit } from './support/start-visit.ts'
import { tooWide } from './support/too-wide.ts'
import { longestWords, visitEveryPage } from './support/visit-every-page.ts'

const isPage = (path: string) => !/^\/(assets\/|health\/|favicon\.ico)/.test(path)
/**
 * Turns on the rule that buttons and links must be at least 24 px wide and high. By default, axe does not check this
 * rule.
 */
const withTargets = { rules: { 'target-size': { enabled: true } } }

/**
 * This code runs in the page. It measures by how many pixels the page is wider than the window: first with text of the
 * usual size, and then with text of twice that size.
 */
const look = `(() => {
  const { style } = document.documentElement
  const usual = ${tooWide}
  style.fontSize = '200%'
  const large = ${tooWide}
  style.fontSize = ''
  return { tooWide: { usual, large }, headings: [...document.querySelectorAll('h1')].map(h1 => h1.textContent), title: document.title }
})()`
type Look = { tooWide: { usual: number; large: number }; headings: string[]; title: string }

t.test(
  'PG-11: axe finds no problem on any page, the longest words do not make a page too wide, and the browser stores no page',
  { skip },
  async t => {
    const { both, page, clients, front, log, troubles } = await startVisit(t)
    const paths: string[] = []
    const titles = new Map<string, string>()
    await visitEveryPage(page, both, longestWords, async name => {
      paths.push(new URL(page.url()).pathname)
      await page.emulateMedia({ colorScheme: 'dark' })
      t.same(await findViolations(page, ofColours), [], `${name}, dark`)
      await page.emulateMedia({ colorScheme: 'light' })
      t.same(await findViolations(page, withTargets), [], `${name}, light`)
      await page.setViewportSize({ width: 320, height: 640 })
      const narrow = (await page.evaluate(look)) as Look
      t.ok(narrow.tooWide.usual <= 0, `${name}, 320 px`)
      t.ok(narrow.tooWide.large <= 0, `${name}, text at 200% at 320 px`)
      await page.setViewportSize({ width: 1280, height: 800 })
      const wide = (await page.evaluate(look)) as Look
      t.ok(wide.tooWide.large <= 0, `${name}, text at 200%`)
      const [heading, ...others] = wide.headings
      t.ok(heading && others.length === 0, `${name} has exactly one h1 heading`)
      titles.set(name, wide.title)
    })
    for (const [name, title] of titles) t.match(title, /^\S.* · Applications$/, `the title of ${name}`)

    const routes = listRoutes(clients[0]!).filter(({ method, url }) => method !== 'HEAD' && isPage(url))
    t.ok(routes.length > 10)
    const asked = log.map(line => JSON.parse(line) as { event?: string; method?: string; route?: string })
    for (const route of routes) {
      const { method, url } = route
      // The path /login does not show a page, because it always redirects to the portal.
      const hasPage = method === 'GET' && url !== '/login'
      if (hasPage)
        t.ok(
          paths.some(path => isPathOf(route, path)),
          `the test must open ${url}`,
        )
      else
        t.ok(
          asked.some(line => line.event === 'request' && line.method === method && line.route === url),
          `${method} ${url}`,
        )
    }
    const kept = front.seen.filter(({ answered }) => answered?.['cache-control'] !== 'no-store').map(({ url }) => url)
    t.same(kept.filter(isPage), [], 'the browser must not store pages')
    t.same(troubles, [])
  },
)

t.test(
  'axe measures contrast against the page’s background, or against the browser’s default if the page has no background',
  { skip },
  async t => {
    const { page } = await openPage(t, { colorScheme: 'dark' })
    const violationsOf = async (style: string) => {
      await page.setContent(`<html lang="en"><title>Colours</title><style>${style}</style><p>Text</p>`)
      return findViolations(page, ofColours)
    }
    t.same(await violationsOf('html { background: white; color: black }'), [])
    t.same(await violationsOf('html { color-scheme: dark; background: white; color: black }'), [])
    t.same(await violationsOf('html { color-scheme: dark; color: white }'), [])
    t.equal(
      await page.evaluate('document.documentElement.style.backgroundColor'),
      '',
      'the check must not change the page',
    )
    t.same(await violationsOf('html { color-scheme: dark; color: black }'), ['color-contrast: <p>Text</p>'])
  },
)
