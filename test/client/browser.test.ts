// An example of a test in a browser: a visitor signs in, sends a form and signs out. The client is on localhost, and
// the scripted portal is on 127.0.0.1. For the browser, these are two sites, as in production.
import t from 'tap'
import { findFreePort } from '../support/free-port.ts'
import { skip } from '../support/launch-chromium.ts'
import { openPage } from '../support/open-page.ts'
import { buildTestClient, callbackUrl } from './support/build-test-client.ts'
import { smallApi } from './support/small-product.ts'

t.test('a visitor signs in, sends a form and signs out, and the browser reports no error', { skip }, async t => {
  const port = await findFreePort()
  const publicUrl = `http://localhost:${port}`
  const { client, platform } = await buildTestClient(t, {
    environment: { PORT: String(port), PUBLIC_URL: publicUrl },
    scripts: {
      ...smallApi,
      // The portal already knows the visitor, and immediately redirects the browser back to the client.
      'GET /': ({ url }, response) => {
        const started = new URL(url, publicUrl).searchParams
        response.writeHead(303, { location: publicUrl + callbackUrl(started) }).end()
      },
      'POST /api/revokeToken': { body: {} },
    },
  })
  await client.listen({ host: 'localhost', port })

  const { page, troubles } = await openPage(t)
  await page.goto(publicUrl)
  await page.locator('a[href="/login"]').first().click()
  await page.waitForURL(`${publicUrl}/page`)

  await page.goto(`${publicUrl}/note`)
  await page.locator('[name=note]').fill('milk')
  await page.locator('main button').click()
  await page.waitForURL(`${publicUrl}/page`)
  t.same(JSON.parse(platform.received('POST /things')[0]!.body), { note: 'milk' })

  await page.locator('form[action="/logout"] button').click()
  await page.waitForURL(`${publicUrl}/`)
  t.same(
    await page
      .context()
      .cookies(`${publicUrl}/page`)
      .then(all => all.filter(one => /session/.test(one.name))),
    [],
  )
  t.same(troubles, [])
})
