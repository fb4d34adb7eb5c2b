import t, { type Test } from 'tap'
import { Secret } from '../../../src/sandbox/values/secret.ts'
import { findViolations, ofColours } from '../../support/find-violations.ts'
import { findFreePort } from '../../support/free-port.ts'
import { skip } from '../../support/launch-chromium.ts'
import { openPage } from '../../support/open-page.ts'
import { exchange, locationOf, logIn, openBrowser, signIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'

/** A sandbox whose laboratory listens, after a login that failed and a start of an unknown client. */
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
  // Its status is the longest one.
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
  'axe-core finds nothing on the laboratory’s pages, and none scrolls sideways, in light and in dark, at 320 and 1280 pixels, and with doubled text',
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
      t.ok(large <= 320, `${name}, with doubled text: it is ${large} pixels wide`)
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
    await page.getByRole('button', { name: 'exchange-html' }).click()
    await page.getByText('exchange-html waiting').waitFor()
    for (const details of await page.locator('summary').all()) await details.click()
    await look('client')
    await page.goto(`${labUrl}/logins/none`)
    await look('no such login')
    t.strictSame(troubles, [], 'the console is silent')
  },
)

t.test('a login appears on the open page by itself, and without JavaScript after a reload', { skip }, async t => {
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
})

t.test('a fault is ordered, refused with what is wrong, and taken back on the page of a client', { skip }, async t => {
  const { sandbox, labUrl } = await openLab(t)
  await failToLogIn(sandbox)
  const { page } = await openPage(t)
  const clientUrl = `${labUrl}/?clientId=${seeded.clientId}`
  await page.goto(clientUrl)
  await page.getByText('Order any of').click()
  await page.getByLabel('Fault').fill('exchange-late')
  await page.getByLabel('Options, as JSON').fill('{"seconds":31}')
  await page.getByRole('button', { name: 'Order it' }).click()
  await page.getByText('options.seconds: This must be a number from 0 to 30.').waitFor()
  await page.getByLabel('Options, as JSON').fill('{"seconds":')
  await page.getByRole('button', { name: 'Order it' }).click()
  await page.getByText('The options must be JSON').waitFor()
  await page.getByLabel('Options, as JSON').fill('{"seconds":0.1}')
  await page.getByLabel('How often it happens').fill('2')
  await page.getByRole('button', { name: 'Order it' }).click()
  await page.getByText('exchange-late waiting, happened 0 of 2 times').waitFor()
  await page.getByRole('button', { name: 'Take back exchange-late' }).click()
  await page.getByText('exchange-late waiting').waitFor({ state: 'detached' })

  const plain = await openPage(t, { javaScriptEnabled: false })
  await plain.page.goto(clientUrl)
  const line = `curl ${labUrl}/lab/v1/faults -H 'content-type: application/json' -d '{"fault":"exchange-503","clientId":"${seeded.clientId}"}'`
  t.equal(await plain.page.locator('.faults pre').innerText({ timeout: 10_000 }), line)
})

t.test('Chromium asks for a password where the laboratory has a token, and the token opens it', { skip }, async t => {
  const { labUrl } = await openLab(t, 'a-token-that-is-long-enough')
  const visitor = await openPage(t, {
    httpCredentials: { username: 'anything', password: 'a-token-that-is-long-enough' },
  })
  t.equal((await visitor.page.goto(labUrl))?.status(), 200)
  const stranger = await openPage(t, { httpCredentials: { username: 'anything', password: 'another' } })
  t.equal((await stranger.page.goto(labUrl))?.status(), 401)
})
