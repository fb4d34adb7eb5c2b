// Every page, as assistive technology meets it.
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import t from 'tap'
import { skip } from '../support/launch-chromium.ts'
import { isPathOf, listRoutes } from './support/list-routes.ts'
import { startVisit } from './support/start-visit.ts'
import { usualWords, visitEveryPage } from './support/visit-every-page.ts'

const isPage = (path: string) => !/^\/(assets\/|health\/|favicon\.ico)/.test(path)

/** What axe finds with its usual rules and that of targets of 24 px, as `rule: the elements`; in dark with those of colours. */
async function findBarriers(page: Page, colorScheme: 'light' | 'dark'): Promise<string[]> {
  await page.emulateMedia({ colorScheme })
  // A script element would be refused by the policy of the page.
  await page.evaluate(`self.axe || (() => { ${axe.source} })()`)
  const isDark = colorScheme === 'dark'
  const rules = isDark
    ? 'runOnly: ["color-contrast", "link-in-text-block"]'
    : 'rules: { "target-size": { enabled: true } }'
  const { violations } = (await page.evaluate(`axe.run({ resultTypes: ["violations"], ${rules} })`)) as axe.AxeResults
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}

t.test(
  'PG-11: axe finds nothing on any page, in light and in dark; none is kept by the browser, and none left out',
  { skip },
  async t => {
    const { both, page, clients, front, log, troubles } = await startVisit(t, { browser: { isShell: true } })
    const paths: string[] = []
    const titles = new Map<string, string>()
    await visitEveryPage(page, both, usualWords, async name => {
      paths.push(new URL(page.url()).pathname)
      t.same(await findBarriers(page, 'light'), [], `${name}, light`)
      t.same(await findBarriers(page, 'dark'), [], `${name}, dark`)
      const [heading, ...others] = await page.locator('h1').allTextContents()
      t.ok(heading && others.length === 0, `${name} has one heading of the first rank`)
      titles.set(name, await page.title())
    })
    for (const [name, title] of titles) t.match(title, /^\S.* · Applications$/, `the title of ${name}`)

    const routes = listRoutes(clients[0]!).filter(({ method, url }) => method !== 'HEAD' && isPage(url))
    t.ok(routes.length > 10)
    const asked = log.map(line => JSON.parse(line) as { event?: string; method?: string; route?: string })
    for (const route of routes) {
      const { method, url } = route
      // It leads to the portal, always.
      const hasPage = method === 'GET' && url !== '/login'
      if (hasPage)
        t.ok(
          paths.some(path => isPathOf(route, path)),
          `${url} was looked at`,
        )
      else
        t.ok(
          asked.some(line => line.event === 'request' && line.method === method && line.route === url),
          `${method} ${url}`,
        )
    }
    const kept = front.seen.filter(({ answered }) => answered?.['cache-control'] !== 'no-store').map(({ url }) => url)
    t.same(kept.filter(isPage), [], 'pages are asked for again, always')
    t.same(troubles, [])
  },
)
