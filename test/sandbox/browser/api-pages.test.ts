import axe from 'axe-core'
import t from 'tap'
import { skip } from '../../support/launch-chromium.ts'
import { openPage } from '../../support/open-page.ts'
import { exchange } from '../support/browser.ts'
import { openPortal } from '../support/open-portal.ts'
import { getCode, type Tokens } from '../support/tokens.ts'

t.test('the API’s page leads to one where calls can be tried, and nothing comes from elsewhere', { skip }, async t => {
  const { sandbox, apiUrl, clientUrl } = await openPortal(t)
  const redirect_uri = `${clientUrl}/exchangeToken`
  const code = await getCode(sandbox, { redirect_uri, cancel_url: `${clientUrl}/cancelled` })
  const { access_token: accessToken } = (await exchange(sandbox, { code, redirect_uri })).json<Tokens>()
  const { page, troubles } = await openPage(t, { isShell: true })
  const elsewhere: string[] = []
  page.on('request', request => {
    if (!request.url().startsWith(`${apiUrl}/`) && !request.url().startsWith('data:')) elsewhere.push(request.url())
  })
  await page.goto(apiUrl)
  await page.getByRole('link', { name: 'Read about the calls, and try them' }).click()
  await page.getByRole('button', { name: 'Authorize' }).click()
  await page.getByLabel('auth-bearer-value').fill(accessToken)
  await page.getByRole('button', { name: 'Apply credentials' }).click()
  await page.getByRole('button', { name: 'Close', exact: true }).click()
  await page.getByText('List the applications whose developer the caller is').click()
  const answer = page.waitForResponse(`${apiUrl}/apps/v1`)
  await page.getByRole('button', { name: 'Execute' }).click()
  t.equal((await answer).status(), 200)
  await page.getByText('"ItemList"').first().waitFor()
  t.strictSame(elsewhere, [])
  t.strictSame(troubles, [], 'the policy of the page refuses nothing that the page needs')
})

for (const colorScheme of ['light', 'dark'] as const) {
  t.test(`axe-core finds nothing on the API’s page, and it fits a phone (${colorScheme})`, { skip }, async t => {
    const { apiUrl } = await openPortal(t)
    const viewport = { width: 320, height: 640 }
    const { page, troubles } = await openPage(t, { isShell: true, colorScheme, viewport })
    await page.goto(apiUrl)
    t.ok(((await page.evaluate('document.documentElement.scrollWidth')) as number) <= 320)
    await page.evaluate(axe.source)
    const { violations } = (await page.evaluate('axe.run()')) as axe.AxeResults
    t.strictSame(
      violations.flatMap(({ id, nodes }) => nodes.map(node => `${id}: ${node.html}`)),
      [],
    )
    t.strictSame(troubles, [])
  })
}
