// Tests addresses that look like paths of this site, but are not. In a real browser, these addresses must not lead to
// another site.
import type { Page } from 'playwright-core'
import t from 'tap'
import { leaving, leavingLater, staying } from '../client/support/redirect-vectors.ts'
import { skip } from '../support/launch-chromium.ts'
import { startVisit } from './support/start-visit.ts'

const vectors = [...leaving, ...leavingLater, ...staying]

/** Returns the origin of the page on which the login ends. */
async function endOf(page: Page): Promise<string> {
  await page.waitForURL(({ pathname }) => !['/login', '/exchangeToken'].includes(pathname))
  await page.locator('header').waitFor()
  return new URL(page.url()).origin
}

t.test(
  'CL-25: a login always ends on this site, even if returnTo contains the address of another site',
  { skip },
  async t => {
    const { page, publicUrl, troubles } = await startVisit(t, { at: '/applications' })
    for (const vector of vectors) {
      await page.goto(`${publicUrl}/login?returnTo=${encodeURIComponent(vector)}`)
      t.equal(await endOf(page), publicUrl, JSON.stringify(vector))
      await page.getByRole('link', { name: 'Applications', exact: true }).waitFor()
    }
    t.same(troubles, [])
  },
)

t.test(
  'CL-25: if a visitor without a session opens any address of this site, the login ends on this site',
  { skip },
  async t => {
    const { context, page, publicUrl, troubles } = await startVisit(t, { at: '/applications' })
    for (const vector of vectors.filter(vector => vector.startsWith('/'))) {
      await context.clearCookies({ name: /^__Host-(session|refresh|arrived)/ })
      await page.goto(publicUrl + vector)
      t.equal(await endOf(page), publicUrl, JSON.stringify(vector))
      await context.clearCookies({ name: /^__Host-(session|refresh|arrived)/ })
      await page.goto(`${publicUrl}/applications/..${vector}?q=//evil.test/`)
      t.equal(await endOf(page), publicUrl, `/applications/..${JSON.stringify(vector)}`)
    }
    t.same(troubles, [])
  },
)
