import type { Page } from 'playwright-core'
import t from 'tap'
import { findViolations } from '../../support/find-violations.ts'
import { skip } from '../../support/launch-chromium.ts'
import { openPage } from '../../support/open-page.ts'
import { type OpenPortal, openPortal } from '../support/open-portal.ts'

/** The seeded user's own token, got where the page says. */
async function getToken({ portalUrl }: OpenPortal, page: Page): Promise<string> {
  await page.goto(`${portalUrl}/account/token`)
  await page.getByLabel('E-mail').first().fill('developer@example.test')
  await page.locator('#password').fill('correct horse battery staple')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Create access token' }).click()
  return page.locator('pre .id').innerText()
}

async function authorize(page: Page, accessToken: string): Promise<void> {
  await page.getByRole('button', { name: 'Authorize' }).first().click()
  await page.getByLabel('auth-bearer-value').fill(accessToken)
  await page.locator('.modal-ux').getByRole('button', { name: 'Authorize' }).click()
  await page.locator('.modal-ux').getByRole('button', { name: 'Close' }).last().click()
  await page.getByText('The examples use your group').waitFor()
}

/** Opens the call, sends its example as it stands, and resolves to the status of the answer. */
async function execute(page: Page, operationId: string): Promise<number> {
  const call = page.locator(`[id$="-${operationId}"]`)
  await call.locator('.opblock-summary-control').click()
  const answer = page.waitForResponse(response => response.request().resourceType() === 'fetch')
  await call.getByRole('button', { name: 'Execute' }).click()
  const { method, status } = await answer.then(one => ({ method: one.request().method(), status: one.status() }))
  await call.locator('.live-responses-table').waitFor()
  await call.locator('.opblock-summary-control').click()
  t.comment(`${method} ${operationId}: ${status}`)
  return status
}

t.test(
  'the examples of the API’s page work as they stand, the authorization outlives a reload, and nothing comes from elsewhere',
  { skip },
  async t => {
    const portal = await openPortal(t)
    const { page, troubles } = await openPage(t)
    const accessToken = await getToken(portal, page)
    const elsewhere: string[] = []
    await page.goto(portal.apiUrl)
    page.on('request', request => {
      if (!request.url().startsWith(`${portal.apiUrl}/`) && !request.url().startsWith('data:'))
        elsewhere.push(request.url())
    })
    await page.getByRole('link', { name: 'Read about the calls, and try them' }).click()
    t.equal(
      await page.getByRole('link', { name: 'Get one from the login portal' }).getAttribute('href'),
      `${portal.portalUrl}/account/token`,
    )
    // The examples are of the newest application, so the one to come has to be newer than the seeded one.
    portal.sandbox.passTime(1000)
    await authorize(page, accessToken)
    await page.reload()
    await page.getByText('your group “Sandbox developers”').waitFor()
    for (const [operationId, status] of [
      ['listApplications', 200],
      ['createApplication', 201],
      ['createGroup', 201],
    ] as const)
      t.equal(await execute(page, operationId), status, operationId)
    await page.getByText('your application “Weather”').waitFor()
    for (const [operationId, status] of [
      ['getApplication', 200],
      ['updateApplication', 200],
      ['refreshSecret', 201],
      ['listMemberships', 200],
      ['linkUser', 409],
      ['removeApplication', 204],
    ] as const)
      t.equal(await execute(page, operationId), status, operationId)
    t.strictSame(elsewhere, [])
    // Chromium notes a refusal as an error: a member cannot be added once more.
    t.strictSame(
      troubles.filter(trouble => !trouble.includes('409')),
      [],
      'the policy of the page refuses nothing that the page needs',
    )
  },
)

t.test(
  'axe-core finds nothing on the pages that describe the calls, and none scrolls sideways, in light on a phone and in dark on a desk',
  { skip },
  async t => {
    const { apiUrl, portalUrl } = await openPortal(t)
    const { page, troubles } = await openPage(t)
    const look = async (name: string) => {
      for (const { colorScheme, viewport } of [
        { colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
        { colorScheme: 'light', viewport: { width: 320, height: 640 } },
      ] as const) {
        await page.setViewportSize(viewport)
        await page.emulateMedia({ colorScheme })
        t.strictSame(await findViolations(page), [], `${name}, ${colorScheme}`)
        const width = (await page.evaluate('document.documentElement.scrollWidth')) as number
        t.ok(width <= viewport.width, `${name} is ${width} pixels wide`)
      }
    }
    await page.goto(apiUrl)
    await look('start')
    // One with parameters, one with a body, and the dialogue over both.
    for (const [address, ids] of [
      [`${apiUrl}/apps/v1/docs`, ['listMemberships', 'updateApplication']],
      [`${portalUrl}/api/docs`, ['startLogin', 'exchangeToken']],
    ] as const) {
      await page.goto(address)
      for (const id of ids) {
        const call = page.locator(`[id$="-${id}"]`)
        await call.locator('.opblock-summary-control').click()
        await call.locator('.responses-table').waitFor()
      }
      await page.getByRole('button', { name: 'Authorize' }).first().click()
      await look(address)
    }
    t.strictSame(troubles, [])
  },
)

t.test(
  'after a call, the buttons to copy and to download can be seen, and no heading skips a level',
  { skip },
  async t => {
    const portal = await openPortal(t)
    const { page } = await openPage(t)
    const accessToken = await getToken(portal, page)
    await page.goto(`${portal.apiUrl}/apps/v1/docs`)
    /** The level of each heading that can be seen, in order. */
    const readLevels = () =>
      page.evaluate(`[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')]
      .filter(heading => heading.checkVisibility())
      .map(heading => Number(heading.ariaLevel ?? heading.tagName[1]))`) as Promise<number[]>
    const checkLevels = async (where: string) => {
      const levels = await readLevels()
      const skipped = levels.filter((level, index) => level > (levels[index - 1] ?? 0) + 1)
      t.strictSame(skipped, [], `${where}: ${levels.join()}`)
    }
    await page.getByRole('button', { name: 'Authorize' }).first().click()
    await page.getByLabel('auth-bearer-value').fill(accessToken)
    await page.locator('.modal-ux').getByRole('button', { name: 'Authorize' }).click()
    await page.locator('.modal-ux').getByText('Authorized', { exact: true }).waitFor()
    await checkLevels('authorized')
    await page.locator('.modal-ux').getByRole('button', { name: 'Close' }).last().click()

    const call = page.locator('[id$="-listApplications"]')
    await call.locator('.opblock-summary-control').click()
    await call.getByRole('button', { name: 'Execute' }).click()
    await call.locator('.live-responses-table').waitFor()
    await checkLevels('after a call')
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      for (const place of ['.curl-command', '.response-col_description']) {
        const { backgroundImage, width, height } = (await page.evaluate(
          `(({ backgroundImage, width, height }) => ({ backgroundImage, width, height }))(getComputedStyle(document.querySelector('${place} .copy-to-clipboard > button')))`,
        )) as Record<string, string>
        t.match(backgroundImage, /^url\("data:image\/svg/, `the copy button in ${place} has a picture, ${colorScheme}`)
        t.ok(Number.parseFloat(width ?? '') >= 24 && Number.parseFloat(height ?? '') >= 24, `${width} by ${height}`)
      }
      const [text = '', ground = ''] = (await page.evaluate(
        `(({ color, backgroundColor }) => [color, backgroundColor])(getComputedStyle(document.querySelector('.download-contents')))`,
      )) as string[]
      t.ok(contrastOf(text, ground) >= 4.5, `Download: ${text} on ${ground}, ${colorScheme}`)
      t.strictSame(await findViolations(page), [], colorScheme)
    }
  },
)

/** Of two opaque colours, as WCAG 2.2 has it. */
function contrastOf(...colours: [string, string]): number {
  const [light = 0, dark = 0] = colours
    .map(colour => {
      const [red = 0, green = 0, blue = 0, alpha = 1] = (colour.match(/[\d.]+/g) ?? []).map(Number)
      t.equal(alpha, 1, `${colour} is opaque`)
      const [r = 0, g = 0, b = 0] = [red, green, blue]
        .map(value => value / 255)
        .map(value => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
      return 0.2126 * r + 0.7152 * g + 0.0722 * b
    })
    .sort((one, other) => other - one)
  return (light + 0.05) / (dark + 0.05)
}
