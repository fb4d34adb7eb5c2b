// Tests that pages show names and descriptions as text. The application API also stores names and descriptions with
// markup.
import t from 'tap'
import { hostileTexts } from '../client/support/hostile-texts.ts'
import { addApplication } from '../journey/support/add-person.ts'
import { skip } from '../support/launch-chromium.ts'
import { openOptionalFields } from './support/open-optional-fields.ts'
import { startVisit } from './support/start-visit.ts'

const vectors = Object.values(hostileTexts)

t.test('PG-07: names and descriptions with markup are shown as text on every page', { skip }, async t => {
  const { page, publicUrl, troubles } = await startVisit(t, { at: '/applications' })
  const name = (index: number) => page.locator('h1').filter({ hasText: vectors[index]! })
  for (const [index, vector] of vectors.entries()) {
    await page.goto(`${publicUrl}/applications/new`)
    await page.getByLabel('Name', { exact: true }).fill(vector)
    await page.getByLabel('Description').fill(vector)
    await openOptionalFields(page)
    await page.getByLabel('Scopes', { exact: false }).first().fill(vector)
    await page.getByLabel('Redirect URIs').fill('http://localhost:5000/exchangeToken')
    await page.getByRole('button', { name: 'Create application' }).click()
    await name(index).waitFor()
    t.match(await page.locator('h1').textContent(), `${vector} is registered`, 'credentials')

    await page.getByRole('link', { name: 'Done' }).click()
    t.equal(await page.locator('h1').textContent(), vector, 'details')
    t.equal(await page.locator('.description').textContent(), vector)
    t.equal(await page.title(), `${vector} · Applications`)
    const details = page.url()

    await page.goto(`${details}/edit`)
    t.equal(await page.getByLabel('Name', { exact: true }).inputValue(), vector, 'edit')
    t.equal(await page.getByLabel('Description').inputValue(), vector)
    await page.goto(`${details}/delete`)
    t.match(await page.locator('h1').textContent(), vector, 'remove')

    await page.goto(`${publicUrl}/applications?${new URLSearchParams({ q: vector })}`)
    t.equal(await page.getByLabel('Search by name or client ID').inputValue(), vector, 'search')
    t.equal(await page.locator('ul.list .name').textContent(), vector, 'list')
  }
  t.same(troubles, [], 'there must be no dialog, and no violation of the policy')
})

t.test(
  'PG-06: if a value from the API is not a web address, the page shows the value as text without a link',
  { skip },
  async t => {
    const { both, page, publicUrl, troubles } = await startVisit(t, { at: '/applications' })
    const urls = [
      'javascript:alert(1)',
      'JaVaScRiPt:alert(1)',
      ' javascript:alert(1)',
      'java\nscript:alert(1)',
      'vbscript:msgbox(1)',
      'data:text/html,<script>alert(1)</script>',
    ]
    for (const webPageUrl of urls) {
      const fields = { webPageUrl, iconUrl: webPageUrl, privacyPolicyUrl: webPageUrl }
      await page.goto(`${publicUrl}/applications/${await addApplication(both, { name: 'Hostile', ...fields })}`)
      t.equal(await page.locator('dt:text-is("Web page") + dd').textContent(), webPageUrl)
      t.equal(await page.locator('dl.facts a:not([href^="/"])').count(), 0)
    }
    t.same(troubles, [])
  },
)
