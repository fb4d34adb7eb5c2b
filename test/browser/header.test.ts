// Tests the header of the pages, for a product with several links.
import t from 'tap'
import { buildTestClient, signIn } from '../client/support/build-test-client.ts'
import { smallProduct } from '../client/support/small-product.ts'
import { skip } from '../support/launch-chromium.ts'
import { openPage } from '../support/open-page.ts'
import { tooWide } from './support/too-wide.ts'

const texts = ['Your things', 'Notes', 'Shared with me']
const product = { ...smallProduct, links: () => texts.map(text => ({ href: '/page', text })) }

for (const [what, width] of [
  ['a small screen', 360],
  ['a large screen', 1280],
] as const)
  t.test(
    `on ${what}, the links in the header have space between them, with and without the style sheet`,
    { skip },
    async t => {
      const { client, browser } = await buildTestClient(t, { product })
      await signIn(browser)
      const url = await client.listen({ host: '127.0.0.1', port: 0 })
      const { context, page, troubles } = await openPage(t, { viewport: { width, height: 800 } })
      const cookies = browser.names().map(name => ({ name, value: browser.cookie(name)! }))
      await context.addCookies(
        cookies.map(one => ({ ...one, domain: '127.0.0.1', path: '/', secure: true, sameSite: 'Strict' as const })),
      )
      await page.goto(url)

      const boxes = await Promise.all(texts.map(name => page.getByRole('link', { name, exact: true }).boundingBox()))
      for (const [at, box] of boxes.entries()) {
        const next = boxes[at + 1]
        if (!box || !next) continue
        const isBelow = next.y >= box.y + box.height
        t.ok(isBelow || next.x - (box.x + box.width) >= 12, `${texts[at]} and ${texts[at + 1]}`)
      }
      t.equal(boxes.filter(Boolean).length, texts.length)
      t.ok(((await page.evaluate(tooWide)) as number) <= 0)

      await page.evaluate('document.styleSheets[0].disabled = true')
      t.match(await page.getByRole('navigation').innerText(), 'Your things Notes Shared with me')
      t.same(troubles, [])
    },
  )
