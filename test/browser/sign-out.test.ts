// Tests the sign-out, and the Back button after a sign-out.
import t from 'tap'
import { skip } from '../support/launch-chromium.ts'
import { signIn } from './support/sign-in.ts'
import { startVisit } from './support/start-visit.ts'

t.test(
  'CK-13, PG-11: after a sign-out, the Back button does not show a signed-in page, and does not sign the visitor in',
  { skip },
  async t => {
    const { context, page, publicUrl, front, troubles } = await startVisit(t, {
      at: '/applications',
      browser: { isWhole: true },
    })
    await page.getByRole('link', { name: 'Reference client' }).click()
    await page.getByRole('heading', { name: 'Reference client' }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You are signed out.').waitFor()
    const names = (await context.cookies(publicUrl)).map(({ name }) => name)
    t.same(names, ['__Host-signed-out'])

    front.takeSeen()
    for (const pages of ['the application', 'the list']) {
      await page.goBack({ waitUntil: 'commit' })
      await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
      t.notMatch(await page.content(), 'Reference client', pages)
    }
    t.equal(
      front.takeSeen().filter(request => request.startsWith('GET /applications')).length,
      2,
      'the browser must request both pages again',
    )
    t.same(troubles, [])
  },
)

t.test('CK-13: the visitor can sign in again from the page that confirms the sign-out', { skip }, async t => {
  const { page, publicUrl, troubles } = await startVisit(t, { at: '/applications' })
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.goto(`${publicUrl}/applications?q=client`)
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
  await page.getByRole('link', { name: 'Sign in', exact: true }).click()
  await page.getByRole('link', { name: 'Reference client' }).waitFor()
  t.equal(page.url(), `${publicUrl}/applications?q=client`, 'the login must lead to the requested page')
  t.same(troubles, [])
})

t.test('if the visitor also signs out of the portal, the next login asks for the password', { skip }, async t => {
  const { page, publicUrl, troubles } = await startVisit(t, { at: '/applications' })
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('link', { name: 'also sign out of the portal' }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.goto(publicUrl)
  await page.getByRole('link', { name: 'Sign in', exact: true }).click()
  await page.getByLabel('Password', { exact: true }).first().waitFor()
  t.same(troubles, [])
})

t.test(
  'CK-14, CK-16: if the client and the portal are on one host, they do not change each other’s cookies, even at a sign-out',
  { skip },
  async t => {
    const { context, page, both, publicUrl, portalUrl, troubles } = await startVisit(t, { portalHost: 'localhost' })
    t.equal(
      new URL(publicUrl).hostname,
      new URL(portalUrl).hostname,
      'client and portal must be on one host, to which the browser sends all cookies',
    )
    await signIn(page, both)
    const before = await context.cookies(publicUrl)
    t.equal(new Set(before.map(({ name }) => name)).size, before.length, 'each cookie must have its own name')

    // The portal does not ask for the password, so the visitor must still be signed in at the portal.
    await page.goto(`${publicUrl}/login?returnTo=/applications/new`)
    await page.waitForURL(`${publicUrl}/applications/new`)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You are signed out.').waitFor()
    await page.goto(`${publicUrl}/login`)
    await page.waitForURL(`${publicUrl}/applications`)
    t.same(troubles, [])
  },
)
