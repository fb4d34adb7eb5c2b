// Tests links from other sites, links to other sites, and the files that a page loads.
import t from 'tap'
import { addApplication } from '../journey/support/add-person.ts'
import { skip } from '../support/launch-chromium.ts'
import { signIn } from './support/sign-in.ts'
import { startElsewhere } from './support/start-elsewhere.ts'
import { startVisit } from './support/start-visit.ts'

const pagesOnly = (requests: string[]) => requests.filter(request => !/\/(assets|favicon)/.test(request))

t.test(
  'PG-12: if a signed-in visitor follows a link on another site, the browser shows the page after two requests',
  { skip },
  async t => {
    const { page, front, publicUrl, troubles } = await startVisit(t, { at: '/applications' })
    const elsewhere = await startElsewhere(t)
    elsewhere.linksTo = `${publicUrl}/applications?q=client`
    await page.goto(elsewhere.url)
    front.takeSeen()
    await page.getByRole('link', { name: 'A link in an e-mail' }).click()
    await page.getByRole('link', { name: 'Reference client' }).waitFor()
    t.same(pagesOnly(front.takeSeen()), ['GET /applications?q=client', 'GET /applications?q=client'])
    t.equal(page.url(), elsewhere.linksTo)
    await page.reload()
    await page.getByRole('link', { name: 'Reference client' }).waitFor()
    t.same(pagesOnly(front.takeSeen()), ['GET /applications?q=client'], 'a reload must make one more request')
    t.same(troubles, [])
  },
)

t.test(
  'PG-12: if a visitor without a session follows a link on another site, the browser shows the portal after three requests',
  { skip },
  async t => {
    const { page, front, publicUrl, portalUrl, troubles } = await startVisit(t)
    const elsewhere = await startElsewhere(t)
    elsewhere.linksTo = `${publicUrl}/applications/new`
    await page.goto(elsewhere.url)
    await page.getByRole('link', { name: 'A link in an e-mail' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    t.ok(page.url().startsWith(portalUrl))
    t.same(pagesOnly(front.takeSeen()), [
      'GET /applications/new',
      'GET /applications/new',
      'GET /login?returnTo=%2Fapplications%2Fnew',
    ])
    t.same(troubles, [])
  },
)

t.test(
  'PG-13: if the portal does not ask the visitor anything, a login needs only three requests to the client',
  { skip },
  async t => {
    const { page, front, publicUrl, troubles } = await startVisit(t, { at: '/applications' })
    front.takeSeen()
    await page.goto(`${publicUrl}/login?returnTo=/applications/new`)
    await page.getByRole('heading', { name: 'New application' }).waitFor()
    const requests = pagesOnly(front.takeSeen()).map(request => request.replace(/\?.*/, ''))
    t.same(requests, ['GET /login', 'GET /exchangeToken', 'GET /applications/new'])
    t.same(troubles, [])
  },
)

t.test(
  'PG-04: if the web page of an application redirects to an address of this site, nothing is changed',
  { skip },
  async t => {
    const visit = await startVisit(t, { at: '/applications' })
    const { both, page, front, publicUrl, log, troubles } = visit
    const elsewhere = await startElsewhere(t)
    const id = await addApplication(both, { name: 'A trap' })
    const paths = [
      '/logout',
      '/applications/new?name=Forged&groupId=x&redirectUris=http://localhost:5000/',
      `/applications/${id}/edit?name=Forged`,
      `/applications/${id}/secret`,
      `/applications/${id}/delete`,
    ]
    for (const path of paths) {
      const url = `${elsewhere.url}/bounce?${new URLSearchParams({ to: publicUrl + path })}`
      const trap = await addApplication(both, { name: 'A trap', webPageUrl: url, iconUrl: url })
      await page.goto(`${publicUrl}/applications/${trap}`)
      await page.getByRole('link', { name: url }).first().click()
      await page.waitForURL(publicUrl + path)
      await page.locator('header').waitFor()
      const arrived = front.seen.findLast(seen => seen.url === path)
      t.equal(arrived?.method, 'GET', path)
      t.match(arrived?.headers.cookie, '__Host-session=', 'the browser must send the session cookie')
    }
    const changes = /application_(created|updated|removed)|client_secret_renewed|signed_out/
    t.same(
      log.filter(line => changes.test(line)),
      [],
    )
    await page.goto(`${publicUrl}/applications?q=trap`)
    await page.getByText(`${paths.length + 1} of ${paths.length + 2}`).waitFor()
    t.same(troubles, [])
  },
)

t.test(
  'PG-05, PG-22: pages load files only from this site, and never load the icon of an application',
  { skip },
  async t => {
    const { both, context, page, publicUrl, portalUrl, troubles } = await startVisit(t)
    const elsewhere = await startElsewhere(t)
    const origins = new Set<string>()
    context.on('request', request => origins.add(new URL(request.url()).origin))
    const fields = { iconUrl: `${elsewhere.url}/icon.png`, webPageUrl: `${elsewhere.url}/page` }
    const id = await addApplication(both, { name: 'Weather station', ...fields })
    await signIn(page, both)
    for (const path of [
      '/applications',
      `/applications/${id}`,
      `/applications/${id}/edit`,
      `/applications/${id}/delete`,
    ]) {
      await page.goto(publicUrl + path, { waitUntil: 'networkidle' })
      await page
        .getByText('Weather station')
        .first()
        .or(page.getByLabel('Name', { exact: true }))
        .first()
        .waitFor()
    }
    t.same(elsewhere.seen, [])
    t.same([...origins].sort(), [portalUrl, publicUrl].sort())
    t.same(troubles, [])
  },
)

t.test(
  'PG-03: if a page of this site sends a form, the browser names this site in the Origin header, and the client needs no other header',
  { skip },
  async t => {
    const { page, front, publicUrl, troubles } = await startVisit(t, { at: '/applications/new' })
    // This code removes the Sec-Fetch headers, because not every request has them: older browsers do not send these
    // headers, and newer browsers send them only to https and loopback addresses.
    front.handle = async exchange => {
      exchange.pass(await exchange.forward(/^sec-fetch-/))
    }
    await page.getByLabel('Name', { exact: true }).fill('Weather station')
    await page.getByLabel('Redirect URIs').fill('http://localhost:5000/exchangeToken')
    await page.getByRole('button', { name: 'Create application' }).click()
    await page.getByRole('heading', { name: 'Weather station is registered' }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You are signed out.').waitFor()
    const posts = front.seen.filter(({ method }) => method === 'POST')
    t.same(
      posts.map(({ headers }) => headers.origin),
      [publicUrl, publicUrl],
    )
    t.same(troubles, [])
  },
)
