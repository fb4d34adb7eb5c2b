// Tests the laboratory's pages in Chromium, with and without JavaScript.
import t, { type Test } from 'tap'
import { Secret } from '../../../src/sandbox/values/secret.ts'
import { findViolations, ofColours } from '../../support/find-violations.ts'
import { findFreePort } from '../../support/free-port.ts'
import { skip } from '../../support/launch-chromium.ts'
import { openPage } from '../../support/open-page.ts'
import { exchange, locationOf, logIn, openBrowser, signIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'

/** Opens a sandbox whose laboratory listens on a real port. */
async function openLab(t: Test, labToken?: string): Promise<{ sandbox: TestSandbox; labUrl: string }> {
  const port = await findFreePort()
  const labUrl = `http://127.0.0.1:${port}`
  const token = labToken === undefined ? undefined : new Secret(labToken)
  const sandbox = await buildTestSandbox(t, { lab: { host: '127.0.0.1', port, urls: [labUrl], token } })
  await sandbox.lab!.listen({ host: '127.0.0.1', port })
  return { sandbox, labUrl }
}

async function failToLogIn(sandbox: TestSandbox): Promise<void> {
  const browser = openBrowser(sandbox)
  const answer = await browser.submit(await signIn(browser, { state: 'short' }), { decision: 'allow' })
  const code = new URL(locationOf(answer)).searchParams.get('code') ?? ''
  await exchange(sandbox, { code, state: 'another' })
  // Make a login that gets the status with the longest text.
  const again = await logIn(sandbox, { state: 'short' })
  const { access_token: token } = (await exchange(sandbox, { code: again.get('code') ?? '', state: 'short' })).json()
  const headers = { authorization: `Bearer ${token}` }
  for (let count = 0; count < 2; count++) await sandbox.api.inject({ url: '/apps/v1/none', headers })
  await sandbox.portal.inject(startUrl({ client_id: 'a-very-long-client-id-'.repeat(8) }))
}

const looks = [320, 1280].flatMap(width =>
  (['light', 'dark'] as const).map(colorScheme => ({ colorScheme, viewport: { width, height: 800 } })),
)

t.test(
  'the laboratory’s pages pass axe-core and never scroll sideways, in each colour scheme, width and text size',
  { skip },
  async t => {
    const { sandbox, labUrl } = await openLab(t)
    const { page, troubles } = await openPage(t)
    const look = async (name: string) => {
      for (const { colorScheme, viewport } of looks) {
        await page.setViewportSize(viewport)
        await page.emulateMedia({ colorScheme })
        const seen = `${name}, ${colorScheme}, ${viewport.width} pixels`
        t.strictSame(await findViolations(page, colorScheme === 'dark' ? ofColours : {}), [], seen)
        const width = (await page.evaluate('document.documentElement.scrollWidth')) as number
        t.ok(width <= viewport.width, `${seen}: it is ${width} pixels wide`)
      }
      await page.setViewportSize({ width: 320, height: 800 })
      await page.evaluate("document.documentElement.style.fontSize = '200%'")
      const large = (await page.evaluate('document.documentElement.scrollWidth')) as number
      t.ok(large <= 320, `${name}, with text at 200%: it is ${large} pixels wide`)
      await page.evaluate("document.documentElement.style.fontSize = ''")
    }
    await page.goto(labUrl)
    await look('none')
    await failToLogIn(sandbox)
    await page.goto(labUrl)
    await look('logins')
    await page.getByRole('link', { name: 'Reference client' }).last().click()
    await page.getByText('The state of the exchange differs').first().waitFor()
    for (const details of await page.locator('summary').all()) await details.click()
    await look('login')
    await page.getByRole('link', { name: 'faults for it' }).click()
    await look('client')
    await page.getByRole('link', { name: /^Order a fault for/ }).click()
    await page.getByRole('link', { name: 'List of applications' }).click()
    for (const name of ['list-answer', 'list-headers', 'list-id']) await page.locator(`#fault-${name} summary`).click()
    await page.getByLabel('Status').last().fill('503')
    await page.getByRole('button', { name: 'Order list-answer' }).click()
    await page.getByText('1 use remains').waitFor()
    await look('faults')
    await page.goto(`${labUrl}/faults?words=no+such+fault`)
    await look('no fault found')
    await page.goto(`${labUrl}/logins/none`)
    await look('no such login')
    await page.goto(`${labUrl}/reference#state-differs`)
    await look('reasons and notices')
    await page.goto(labUrl)
    await page.getByLabel('Search').fill('state-differs')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByText('1 login.').waitFor()
    await look('a search')
    await page.goto(`${labUrl}/?outcome=declined`)
    await look('a filter that finds nothing')
    t.strictSame(troubles, [], 'the console is silent')
  },
)

t.test(
  'a new login appears on the open list automatically; without JavaScript it appears after a reload',
  { skip },
  async t => {
    const { sandbox, labUrl } = await openLab(t)
    const { page } = await openPage(t)
    await page.goto(labUrl)
    await page.getByRole('heading', { name: 'Nothing yet' }).waitFor()
    const plain = await openPage(t, { javaScriptEnabled: false })
    await plain.page.goto(labUrl)
    await failToLogIn(sandbox)
    await page.getByRole('link', { name: 'Reference client' }).first().waitFor()
    t.equal(await plain.page.getByRole('link', { name: 'Reference client' }).count(), 0)
    await plain.page.reload()
    t.equal(await plain.page.getByRole('link', { name: 'Reference client' }).count(), 2)
  },
)

const focused = "document.activeElement.id || document.activeElement.innerText.replace(/\\s+/g, ' ')"

t.test(
  'on the page of faults a visitor can find, order and cancel a fault, and a screen reader announces each of these actions',
  { skip },
  async t => {
    const { sandbox, labUrl } = await openLab(t)
    await failToLogIn(sandbox)
    const { page } = await openPage(t, { viewport: { width: 390, height: 800 } })
    const saysNow = (text: string) => page.locator('#announced', { hasText: text }).waitFor({ state: 'attached' })
    await page.goto(`${labUrl}/faults?clientId=${seeded.clientId}`)
    await page.getByLabel('Find a fault').pressSequentially('exchange late')
    await saysNow('2 faults found')
    t.equal(await page.evaluate(focused), 'words', 'the search field must keep the focus')
    t.match(page.url(), 'words=exchange+late', 'a reload must show the same logins')

    await page.locator('#fault-exchange-late summary').click()
    await page.locator('#exchange-late-seconds').fill('61')
    await page.getByLabel('How often').first().fill('2')
    const order = page.getByRole('button', { name: 'Order exchange-late', exact: true })
    await order.focus()
    await page.keyboard.press('Enter')
    await saysNow('The fault was not ordered. This must be a number from 0 to 60.')
    t.equal(await page.evaluate(focused), 'exchange-late-seconds', 'the wrong field has the focus')
    t.equal(await page.locator('#exchange-late-times').inputValue(), '2', 'the fields must keep the typed values')

    await page.keyboard.press('Control+A')
    await page.keyboard.type('0.1')
    await order.focus()
    const topOfButton = async () => (await order.boundingBox())!.y
    const top = await topOfButton()
    await page.keyboard.press('Enter')
    await saysNow('You have ordered the fault exchange-late.')
    t.equal(await page.evaluate(focused), 'Order exchange-late', 'the focus stays on the button')
    // The list of faults appears above the button, and the page scrolls by the height of this list.
    t.ok(
      Math.abs((await topOfButton()) - top) < 100,
      `the button must stay where it is: ${top}, ${await topOfButton()}`,
    )
    t.equal(await page.locator('[aria-invalid], .field-problem').count(), 0)
    await page.locator('#ordered').getByText('2 uses remain').waitFor()

    const code = (await logIn(sandbox)).get('code') ?? ''
    await sandbox.portal.listen({ host: '127.0.0.1', port: 0 })
    const { port } = sandbox.portal.server.address() as { port: number }
    const fields = { grant_type: 'authorization_code', code, state: 'a-state', redirect_uri: seeded.redirectUri }
    const body = new URLSearchParams({ ...fields, client_id: seeded.clientId, client_secret: seeded.clientSecret })
    await fetch(`http://127.0.0.1:${port}/api/exchangeToken`, {
      method: 'POST',
      body,
      headers: { connection: 'close' },
    })
    await page.locator('#ordered').getByText('1 use remains').waitFor()
    t.equal(await page.evaluate(focused), 'Order exchange-late')
    const href = await page
      .locator('#ordered')
      .getByRole('link', { name: /^step \d+$/ })
      .getAttribute('href')
    t.match(href, /^\/logins\/.+#step-\d+$/)

    await order.click()
    await page.getByRole('button', { name: 'Cancel exchange-late' }).nth(1).waitFor()
    await page.getByRole('button', { name: 'Cancel exchange-late' }).first().click()
    await saysNow('Cancelled 1 fault.')
    t.equal(await page.evaluate(focused), 'Cancel exchange-late', 'the next button has the focus')
    await page.getByRole('button', { name: 'Cancel all' }).click()
    await page.getByRole('heading', { name: 'Faults that you have ordered: 0 waiting' }).waitFor()
    await saysNow('Cancelled 1 fault.')
    t.equal(await page.evaluate(focused), 'Faults that you have ordered: 0 waiting', 'the heading has the focus')
  },
)

t.test('without JavaScript, forms let a visitor find faults, order them and cancel them', { skip }, async t => {
  const { labUrl } = await openLab(t)
  const { page, troubles } = await openPage(t, { javaScriptEnabled: false, viewport: { width: 320, height: 800 } })
  await page.goto(`${labUrl}/faults`)
  await page.getByLabel('Find a fault').fill('exchange late')
  await page.getByRole('button', { name: 'Show' }).click()
  await page.locator('#fault-exchange-late summary').click()
  await page.locator('#exchange-late-seconds').fill('61')
  await page.getByRole('button', { name: 'Order exchange-late', exact: true }).click()
  await page.getByText('This must be a number from 0 to 60.').waitFor()
  t.equal(await page.evaluate(focused), 'exchange-late-seconds')
  await page.locator('#exchange-late-seconds').fill('0')
  await page.getByRole('button', { name: 'Order exchange-late', exact: true }).click()
  await page
    .getByText('You have ordered this fault. The fault exchange-late waits for the next matching request.')
    .waitFor()
  t.match(page.url(), /words=exchange\+late&.*#fault-exchange-late$/)
  const entry = await page.locator('#fault-exchange-late').boundingBox()
  t.ok(entry!.y >= 0 && entry!.y < 800, `the page must have scrolled to the fault: ${entry!.y}`)
  await page.getByRole('button', { name: 'Cancel exchange-late' }).click()
  await page.getByText('Cancelled 1 fault.').waitFor()
  await page.getByRole('heading', { name: 'Faults that you have ordered: 0 waiting' }).waitFor()
  t.same(troubles, [])
})

t.test(
  'if the laboratory has a token, Chromium asks for a password, and accepts the token as the password',
  { skip },
  async t => {
    const { labUrl } = await openLab(t, 'a-token-that-is-long-enough')
    const visitor = await openPage(t, {
      httpCredentials: { username: 'anything', password: 'a-token-that-is-long-enough' },
    })
    t.equal((await visitor.page.goto(labUrl))?.status(), 200)
    const stranger = await openPage(t, { httpCredentials: { username: 'anything', password: 'another' } })
    t.equal((await stranger.page.goto(labUrl))?.status(), 401)
  },
)
