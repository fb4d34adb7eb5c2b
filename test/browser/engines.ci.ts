// Runs ten journeys in Chromium, Firefox and WebKit. The client and the portal are on different sites. `npm test` runs
// these journeys, and many more, only in Chromium.
import t, { type Test } from 'tap'
import { type Both, startBoth } from '../journey/support/start-both.ts'
import { type Engine, launchBrowser, skipEngine, type Tab } from '../support/launch-browser.ts'

t.setTimeout(900_000)

type Scheme = 'http' | 'https'
/**
 * Each engine runs all journeys with one scheme. Only the first journey depends on the scheme, so with the other scheme
 * the engine runs only the first journey.
 */
const ways: { engine: Engine; scheme: Scheme; isWhole: boolean }[] = [
  { engine: 'Chromium', scheme: 'http', isWhole: true },
  { engine: 'Chromium', scheme: 'https', isWhole: false },
  { engine: 'Firefox', scheme: 'http', isWhole: true },
  { engine: 'Firefox', scheme: 'https', isWhole: false },
  { engine: 'WebKit', scheme: 'https', isWhole: true },
]
/** This text explains why the tests do not run WebKit over http. */
const leftOut =
  'WebKit, http: left out. It does not keep Secure cookies on plain http, not even on loopback (WebKit bug 281149), ' +
  'so nobody can sign in. The portal explains this.'

type Visit = Both & { tab: Tab }

const journeys: Record<string, (t: Test, visit: Visit) => Promise<void>> = {
  async 'main task'(t, { tab, publicUrl, portalUrl, front, ...both }) {
    t.not(new URL(publicUrl).hostname, new URL(portalUrl).hostname, 'client and portal must be on two sites')
    await tab.goto(publicUrl)
    await tab.click('link', 'Sign in')
    await enterPassword(tab, both.person)
    await tab.click('button', 'Allow')
    await tab.see('Your applications')
    await tab.see('1 application')
    t.equal(await tab.url(), `${publicUrl}/applications`)
    const [first, ...others] = front.seen.filter(({ url }) => url === '/applications')
    t.same(
      [first?.status, others],
      [200, []],
      'the browser must request the list only once, and the visitor must already be signed in',
    )

    await create(tab)
    t.match(await tab.text(), /Client secret [\w-]{43} /)
    await tab.click('link', 'Done')
    await tab.see('Weather station')
    await tab.click('link', 'Your applications')
    await tab.see('2 applications')
  },

  async 'two tabs'(t, { tab, publicUrl, person }) {
    const other = await tab.newTab()
    const paths = ['/applications?q=one', '/applications?q=two']
    for (const [index, one] of [tab, other].entries())
      await one.goto(`${publicUrl}/login?${new URLSearchParams({ returnTo: paths[index]! })}`)
    await enterPassword(tab, person)
    await tab.click('button', 'Allow')
    await tab.see('Sign out')
    await enterPassword(other, person)
    await other.see('Sign out')
    t.equal(await tab.url(), publicUrl + paths[0], 'each tab must end on the page where its login began')
    t.equal(await other.url(), publicUrl + paths[1])
  },

  async Back(t, visit) {
    const { tab, publicUrl, front, log } = visit
    await signIn(visit)
    // The page that the Back button shows depends on the engine: see docs/browsers.md. If the button leads to a
    // redirect to another site, WebKitWebDriver no longer controls the tab. So the test continues in another tab.
    const other = await tab.newTab()
    await tab.back()
    await other.goto(`${publicUrl}/applications`)
    await other.see('1 application')
    await create(other)
    t.equal(
      log.filter(line => line.includes('login_succeeded')).length,
      1,
      'the Back button must not sign the visitor in again',
    )
    await other.back()
    await other.see('About the application')
    await other.goto(`${publicUrl}/applications`)
    await other.see('2 applications')
    t.equal(
      front.seen.filter(({ method }) => method === 'POST').length,
      1,
      'the Back button must not send a form again',
    )
  },

  async reload(t, visit) {
    const { tab, publicUrl, front } = visit
    await signIn(visit)
    await tab.reload()
    await tab.see('1 application')
    await create(tab)
    const [, secret = ''] = /Client secret ([\w-]{43}) /.exec(await tab.text()) ?? []
    t.ok(secret)
    front.takeSeen()
    await tab.reload()
    await tab.see('Edit')
    t.notOk((await tab.text()).includes(secret), 'the page must show a secret only once')
    t.notOk(front.takeSeen().some(request => request.startsWith('POST')))
    await tab.goto(`${publicUrl}/applications`)
    await tab.see('2 applications')
  },

  async 'sign-out'(t, visit) {
    const { tab, front } = visit
    await signIn(visit)
    await tab.click('link', 'Reference client')
    await tab.see('Lists and creates your applications.')
    await tab.click('button', 'Sign out')
    await tab.see('You are signed out.')
    front.takeSeen()
    await tab.back()
    await tab.see('You are signed out')
    t.notMatch(await tab.text(), 'Lists and creates', 'the Back button must not show a page of the session')
    t.ok(
      front.takeSeen().some(request => request.startsWith('GET /applications/')),
      'the browser must request the page again',
    )
  },

  async 'a session that ends while a form is open'(t, visit) {
    const { tab, publicUrl, person, clientId, lab, log } = visit
    await signIn(visit)
    await tab.goto(`${publicUrl}/applications/new`)
    await fillNew(tab)
    for (const what of ['access-token', 'refresh-token'])
      await lab.ask('POST', 'expire', { what, email: person.email, clientId })
    await lab.ask('POST', 'expire', { what: 'portal-session', email: person.email })
    await tab.click('button', 'Create application')
    await tab.see('Your session has ended')
    await tab.click('link', 'Sign in and continue')
    await enterPassword(tab, person)
    await tab.see('It has not been sent yet.')
    t.equal(await tab.valueOf('Name'), 'Weather station')
    t.notOk(
      log.some(line => line.includes('application_created')),
      'the browser must not send the form automatically',
    )
    await tab.click('button', 'Create application')
    await tab.see('Weather station is registered')
  },

  async 'declined consent'(t, { tab, publicUrl, person, front }) {
    await tab.goto(`${publicUrl}/applications`)
    await enterPassword(tab, person)
    await tab.click('button', 'Decline')
    await tab.see('You did not sign in')
    t.match(await tab.url(), `${publicUrl}/cancelled`)
    t.notOk(front.takeSeen().some(request => request.includes('/exchangeToken')))
    await tab.click('link', 'Sign in')
    await tab.click('button', 'Allow')
    await tab.see('1 application')
  },

  async 'a fault of the portal'(t, { tab, publicUrl, person, lab, clientId }) {
    await lab.order('exchange-503', { clientId })
    await tab.goto(`${publicUrl}/applications?q=client`)
    await enterPassword(tab, person)
    await tab.click('button', 'Allow')
    await tab.see('Too busy right now')
    await tab.see('The login portal is busy. Try again soon.')
    await tab.click('link', 'Sign in again')
    await tab.see('match “client”')
    t.equal(await tab.url(), `${publicUrl}/applications?q=client`, 'the login must lead to the requested page')
  },

  async 'an error page'(t, { tab, publicUrl, person, clientId }) {
    await tab.goto(`${publicUrl}/nowhere`)
    await tab.see('Page not found')
    await tab.click('link', 'Go to the start page')
    await tab.see('Register and manage your applications')
    const strange = new URLSearchParams({ code: 'x', state: 'y', subject: 'z', client_id: clientId })
    await tab.goto(`${publicUrl}/exchangeToken?${strange}`)
    await tab.see('The sign-in did not work')
    await tab.click('link', 'Sign in again')
    await enterPassword(tab, person)
    await tab.click('button', 'Allow')
    await tab.see('1 application')
    t.equal(await tab.url(), `${publicUrl}/applications`)
  },

  async 'the live list of the laboratory'(t, visit) {
    const { tab, labUrl } = visit
    const second = await tab.newTab()
    // Firefox shows the new tab, and WebKit shows the old tab. The list must be in the visible tab, because a hidden
    // page of the laboratory does not listen to events.
    const [list, visitor] = (await second.evaluate('document.hidden')) ? [tab, second] : [second, tab]
    await list.goto(labUrl)
    await list.see('Pause')
    await list.evaluate('document.body.dataset.opened = "once"')
    await signIn({ ...visit, tab: visitor })
    // The list was empty, so a new row does not move any other row. In this case, the page shows the new login
    // immediately.
    await list.see('Signed in at step')
    t.equal(await list.evaluate('document.body.dataset.opened'), 'once', 'the page must not be reloaded')
  },
}

async function enterPassword(tab: Tab, { email, password }: Both['person']): Promise<void> {
  await tab.fill('E-mail address', email)
  await tab.fill('Password', password)
  await tab.click('button', 'Sign in')
}

async function signIn({ tab, publicUrl, person }: Visit): Promise<void> {
  await tab.goto(`${publicUrl}/login`)
  await enterPassword(tab, person)
  await tab.click('button', 'Allow')
  await tab.see('1 application')
}

async function fillNew(tab: Tab): Promise<void> {
  await tab.fill('Name', 'Weather station')
  await tab.fill('Redirect URIs', 'http://localhost:5000/exchangeToken')
}

/** Creates an application. Begins on the list of applications, and ends on the page with the credentials. */
async function create(tab: Tab): Promise<void> {
  await tab.click('link', 'New application')
  await fillNew(tab)
  await tab.click('button', 'Create application')
  await tab.see('Weather station is registered')
}

/** The results: for each journey, the result for each engine and scheme. */
const results: Record<string, Record<string, string>> = {}

for (const { engine, scheme, isWhole } of ways)
  for (const [index, [journey, travel]] of Object.entries(journeys).entries()) {
    results[journey] ??= {}
    results[journey][`${engine}, ${scheme}`] = isWhole || index === 0 ? 'failed' : 'not run'
    if (!isWhole && index > 0) continue
    const skip = skipEngine(engine)
    t.test(`the journey “${journey}” works in ${engine} over ${scheme}`, { skip }, async t => {
      const both = await startBoth(t, { isHttps: scheme === 'https' })
      await travel(t, { ...both, tab: await launchBrowser(t, engine) })
      if (t.passing()) results[journey]![`${engine}, ${scheme}`] = 'passed'
    })
  }

t.test(
  'in WebKit over http, nobody can sign in, and the portal explains why',
  { skip: skipEngine('WebKit') },
  async t => {
    const both = await startBoth(t)
    const tab = await launchBrowser(t, 'WebKit')
    await tab.goto(both.publicUrl)
    await tab.click('link', 'Sign in')
    await enterPassword(tab, both.person)
    await tab.see('You are not signed in: your browser blocked a cookie')
    await tab.see('This portal runs on plain http')
    t.ok((await tab.url()).startsWith(both.portalUrl))
  },
)

t.test('the output contains a table of journeys and engines', async t => {
  const names = ways.map(({ engine, scheme }) => `${engine}, ${scheme}`)
  t.comment(`| Journey | ${names.join(' | ')} |`)
  t.comment(`|---|${names.map(() => '---|').join('')}`)
  for (const [journey, row] of Object.entries(results))
    t.comment(`| ${journey} | ${names.map(name => row[name]).join(' | ')} |`)
  t.comment(leftOut)
  t.equal(Object.keys(results).length, 10)
})
