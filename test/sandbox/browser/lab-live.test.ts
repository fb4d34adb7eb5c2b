// The laboratory's live list of logins in Chromium. New logins must not disturb a visitor, and the list must count
// every new login.
import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { findFreePort } from '../../support/free-port.ts'
import { skip } from '../../support/launch-chromium.ts'
import { openPage } from '../../support/open-page.ts'
import { exchange, logIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, type TestSandbox } from '../support/build-test-sandbox.ts'
import { getTokens } from '../support/tokens.ts'

const random = () => randomBytes(16).toString('base64url')

async function openLab(t: Test, clock = () => new Date()): Promise<{ sandbox: TestSandbox; labUrl: string }> {
  const port = await findFreePort()
  const labUrl = `http://127.0.0.1:${port}`
  const lab = { host: '127.0.0.1', port, urls: [labUrl], token: undefined }
  const sandbox = await buildTestSandbox(t, { lab, clock })
  await sandbox.lab!.listen({ host: '127.0.0.1', port })
  return { sandbox, labUrl }
}

/** Tells the page that its tab was hidden or shown, because a browser without a window never hides a tab. */
const setHidden = (page: Page, isHidden: boolean) =>
  page.evaluate(`
    Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  `)

const start = ({ portal }: TestSandbox, state = random()) => portal.inject(startUrl({ state }))

async function startMany(sandbox: TestSandbox, count: number): Promise<void> {
  for (let begun = 0; begun < count; begun++) await start(sandbox)
}

t.test('a button offers new logins, and rows of the list change without disturbing the visitor', { skip }, async t => {
  const { sandbox, labUrl } = await openLab(t)
  const state = random()
  const code = (await logIn(sandbox, { state })).get('code') ?? ''
  await startMany(sandbox, 20)
  await sandbox.portal.inject('/.well-known/oauth-authorization-server')
  const { page, troubles } = await openPage(t, { viewport: { width: 390, height: 700 } })
  await page.goto(labUrl)
  await page.getByText('Live', { exact: true }).waitFor()
  const rows = page.locator('#logins > li')
  const order = await rows.evaluateAll(all => all.map(({ id }) => id))
  const details = page.locator('#of-nobody')
  await details.locator('summary').click()
  await page.getByLabel('Outcome').selectOption('refused')
  await page.getByLabel('Search').fill('half a wo')
  await page.getByLabel('Search').press('Home')
  await page.evaluate('scrollTo(0, 900)')
  const seen = rows.nth(8)
  const place = (await seen.boundingBox())!.y

  await exchange(sandbox, { code, state: 'wrong' })
  await rows.getByText('state-differs').waitFor()
  await startMany(sandbox, 3)
  const button = page.getByRole('button', { name: '3 new: show' })
  await button.waitFor()
  t.same(await rows.evaluateAll(all => all.map(({ id }) => id)), order, 'no row has moved')
  t.same(
    await page.evaluate(
      '[document.activeElement.id, text.value, text.selectionStart, outcome.value, document.getElementById("of-nobody").open]',
    ),
    ['text', 'half a wo', 0, 'refused', true],
  )
  t.equal((await seen.boundingBox())!.y, place, 'the row that the visitor reads must not move')
  t.ok((await button.boundingBox())!.y >= 0, 'the button is in view')

  await button.click()
  await button.waitFor({ state: 'hidden' })
  t.equal(await rows.count(), 24)
  const first = rows.first().getByRole('link').first()
  t.ok(await first.evaluate(link => link === link.ownerDocument.activeElement), 'the first new row has the focus')
  await startMany(sandbox, 1)
  await page.getByRole('button', { name: '1 new: show' }).waitFor()
  t.ok(await first.evaluate(link => link === link.ownerDocument.activeElement), 'the row must keep the focus')
  t.same(troubles, [])
})

t.test(
  'the list does not change while the visitor pauses it; afterwards the page says how many logins changed and how many were dropped',
  { skip },
  async t => {
    const { sandbox, labUrl } = await openLab(t)
    await startMany(sandbox, 2)
    const { page } = await openPage(t)
    await page.goto(labUrl)
    await page.getByText('Live', { exact: true }).waitFor()
    const rows = page.locator('#logins > li')
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('Paused').waitFor()
    await startMany(sandbox, 3)
    // Open another page, and wait until it is live. By then, the paused page has also had enough time to receive the
    // change.
    const other = await openPage(t)
    await other.page.goto(labUrl)
    await other.page.getByText('Live', { exact: true }).waitFor()
    t.equal(await rows.count(), 2)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('Live. 3 logins changed during the pause.').waitFor()
    await rows.nth(4).waitFor()
    t.ok(
      await page
        .getByRole('button', { name: 'Pause' })
        .evaluate(button => button === button.ownerDocument.activeElement),
    )

    await page.getByRole('button', { name: 'Pause' }).click()
    await startMany(sandbox, 1_020)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('1000 logins changed during the pause. The laboratory did not keep 20 more logins.').waitFor()
    t.equal(await rows.count(), 50)
  },
)

t.test(
  'if the live list loses its connection, the page says so, connects again, and offers the new logins',
  { skip },
  async t => {
    const { sandbox, labUrl } = await openLab(t)
    await startMany(sandbox, 2)
    const { context, page } = await openPage(t)
    await page.goto(labUrl)
    await page.getByText('Live', { exact: true }).waitFor()
    await context.route('**/live?*', route => route.abort())
    sandbox.lab!.server.closeAllConnections()
    await page.getByText('Connection lost. Trying again.').waitFor()
    await startMany(sandbox, 2)
    await context.unroute('**/live?*')
    await page.getByText('Live. Connected again.').waitFor()
    await page.getByRole('button', { name: '2 new: show' }).waitFor()
  },
)

t.test('if several new logins arrive, a screen reader announces only the first login', { skip }, async t => {
  const { sandbox, labUrl } = await openLab(t)
  await startMany(sandbox, 1)
  const { page } = await openPage(t)
  await page.goto(labUrl)
  await page.getByText('Live', { exact: true }).waitFor()
  await page.evaluate(`
    heard = []
    new MutationObserver(() => heard.push(document.getElementById('live-news').textContent))
      .observe(document.getElementById('live-news'), { childList: true, characterData: true, subtree: true })
  `)
  for (let count = 1; count <= 3; count++) {
    await startMany(sandbox, 1)
    await page.getByRole('button', { name: `${count} new: show` }).waitFor()
  }
  t.same(await page.evaluate('heard'), ['1 new login'])
})

t.test(
  'when a login gets new steps, its open page shows them, and a step that the visitor has opened stays open and focused',
  { skip },
  async t => {
    const { sandbox, labUrl } = await openLab(t)
    const state = random()
    const code = (await logIn(sandbox, { state })).get('code') ?? ''
    const { page } = await openPage(t)
    await page.goto(labUrl)
    await page.locator('#logins h2 a').first().click()
    await page.getByText('Live', { exact: true }).waitFor()
    const summary = page.locator('#main summary').first()
    await summary.click()
    await exchange(sandbox, { code, state })
    await page.locator('.outcome').getByText('signed in').waitFor()
    t.ok(await summary.evaluate(one => one === one.ownerDocument.activeElement))
    t.ok(await summary.locator('..').evaluate(one => (one as unknown as { open: boolean }).open))
  },
)

t.test(
  'without JavaScript the live list has a link to reload the page, and has no button that needs JavaScript',
  { skip },
  async t => {
    const { sandbox, labUrl } = await openLab(t)
    await startMany(sandbox, 1)
    const { page } = await openPage(t, { javaScriptEnabled: false })
    await page.goto(labUrl)
    t.equal(await page.getByRole('button', { name: 'Pause' }).count(), 0)
    await startMany(sandbox, 2)
    await page.getByRole('link', { name: 'Reload' }).click()
    await page.locator('#logins > li').nth(2).waitFor()
    t.match(await page.locator('#logins time').first().innerText(), 'just now')
  },
)

t.test(
  'if the first login arrives on an empty list, the list immediately shows this login, without the button for new logins',
  { skip },
  async t => {
    const { sandbox, labUrl } = await openLab(t)
    const { page } = await openPage(t)
    await page.goto(labUrl)
    await page.getByText('Live', { exact: true }).waitFor()
    await startMany(sandbox, 1)
    await page.locator('#logins > li').waitFor()
    t.equal(await page.locator('#show-new').isVisible(), false)
    await page.locator('#live-news').getByText('1 new login').waitFor({ state: 'attached' })
    await startMany(sandbox, 1)
    await page.getByRole('button', { name: '1 new: show' }).waitFor()
  },
)

t.test('two minutes after the last request, an open page shows that nobody continued a login', { skip }, async t => {
  let laterMs = 0
  const { sandbox, labUrl } = await openLab(t, () => new Date(Date.now() + laterMs))
  await startMany(sandbox, 1)
  const { page } = await openPage(t)
  await page.clock.install()
  await page.goto(labUrl)
  await page.getByText('Live', { exact: true }).waitFor()
  await page.locator('.outcome').getByText('under way').waitFor()
  laterMs = 121_000
  await page.clock.fastForward(121_000)
  await page.locator('.outcome').getByText('abandoned').waitFor()
})

t.test('a row that no longer matches the filter says so, and stays in its place', { skip }, async t => {
  const { sandbox, labUrl } = await openLab(t)
  const state = random()
  await startMany(sandbox, 1)
  const code = (await logIn(sandbox, { state })).get('code') ?? ''
  await startMany(sandbox, 1)
  const { page } = await openPage(t)
  await page.goto(`${labUrl}/?outcome=under+way`)
  await page.getByText('Live', { exact: true }).waitFor()
  await exchange(sandbox, { code, state })
  const outcomes = page.locator('#logins .outcome')
  await outcomes.getByText('no longer in this list').waitFor()
  t.same(await outcomes.allInnerTexts(), ['under way', 'no longer in this list', 'under way'])
})

t.test(
  'if the laboratory no longer keeps the results of a search, the open page of the search says so',
  { skip },
  async t => {
    const { sandbox, labUrl } = await openLab(t)
    await startMany(sandbox, 1)
    const { page } = await openPage(t)
    await page.goto(labUrl)
    await page.getByLabel('Search').fill('under')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByText('Live', { exact: true }).waitFor()
    const headers = { origin: labUrl, host: new URL(labUrl).host, 'content-type': 'application/x-www-form-urlencoded' }
    for (let count = 0; count < 50; count++)
      await sandbox.lab!.inject({ method: 'POST', url: '/search', headers, payload: 'text=other' })
    await startMany(sandbox, 1)
    await page.getByText('The results of this search are no longer kept.').waitFor()
  },
)

t.test(
  'if the page of faults is hidden, it closes its connection; when the page is shown again, it connects again',
  { skip },
  async t => {
    const { sandbox, labUrl } = await openLab(t)
    const { context, page } = await openPage(t)
    await page.addInitScript(`
    streams = []
    const Stream = EventSource
    EventSource = function (url) {
      const stream = new Stream(url)
      streams.push(stream)
      return stream
    }
  `)
    const states = () => page.evaluate('streams.map(({ readyState }) => readyState)')
    const untilConnected = async () => {
      while (!(await page.evaluate('streams.at(-1)?.readyState === 1'))) await setImmediate()
    }
    const { access_token: token } = await getTokens(sandbox)
    sandbox.faults!.order({ fault: 'list-503' })
    await page.goto(`${labUrl}/faults`)
    await untilConnected()
    await setHidden(page, true)
    t.same(await states(), [2])
    // The laboratory refuses the next connection, for example because too many pages are open.
    await context.route('**/live', route => route.fulfill({ status: 503 }))
    const refused = page.waitForResponse(response => response.status() === 503)
    await setHidden(page, false)
    await refused
    await context.unroute('**/live')
    await untilConnected()
    const headers = { authorization: `Bearer ${token}` }
    t.equal((await sandbox.api.inject({ url: '/apps/v1', headers })).statusCode, 503)
    await page.locator('#ordered').getByText('Happened once').waitFor()
  },
)
