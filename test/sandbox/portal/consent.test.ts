// Tests the consent page, and all ways to answer it.
import t from 'tap'
import { locationOf, openBrowser, signIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, seeded } from '../support/build-test-sandbox.ts'
import { openDatabases } from '../support/each-database.ts'
import { newcomer, openAsNewcomer } from '../support/forms.ts'

const databases = await openDatabases(t)

t.test('AZ-11: the portal asks a user only once for consent to an application, and remembers the consent', async t => {
  const browser = openBrowser(await buildTestSandbox(t))
  const page = await signIn(browser)
  t.match(page.body, /Reference client/)
  t.equal((await browser.submit(page, { decision: 'allow' })).statusCode, 303)
  const next = await browser.get(startUrl({ state: 'next' }))
  t.equal(next.statusCode, 303)
  t.match(new URL(locationOf(next)).searchParams.get('code'), /^[A-Za-z0-9]{30}$/)
})

for (const database of databases) {
  t.test(
    `AZ-11: if one consent page is answered ten times at the same time on two instances, only one answer gets a code (${database.name})`,
    async t => {
      const databaseUrl = await database.make(t)
      const one = await buildTestSandbox(t, { databaseUrl })
      const other = await buildTestSandbox(t, { databaseUrl })
      const browser = openBrowser(one)
      const page = await signIn(browser)
      const browsers = Array.from({ length: 10 }, (_, index) => {
        return browser.copy((index % 2 ? one : other).portal)
      })
      const answers = await Promise.all(browsers.map(copy => copy.submit(page, { decision: 'allow' })))
      t.equal(answers.filter(answer => answer.statusCode === 303).length, 1)
      t.equal(answers.filter(answer => answer.statusCode === 409).length, 9)
    },
  )

  t.test(
    `AZ-11: if a user answers another user’s consent page, the portal does not issue a code (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const developer = openBrowser(sandbox)
      const page = await signIn(developer)
      const signedOut = openBrowser(sandbox)
      const newOne = await openAsNewcomer(sandbox)
      const rows = async () => [
        ...(await sandbox.store.read.selectFrom('consents').selectAll().execute()),
        ...(await sandbox.store.read.selectFrom('grants').selectAll().execute()),
        ...(await sandbox.store.read.selectFrom('finished_authorizations').selectAll().execute()),
      ]
      for (const [browser, next] of [
        [newOne, newcomer.email],
        [signedOut, '<h1>Sign in</h1>'],
      ] as const)
        for (const decision of ['allow', 'decline']) {
          const answer = await browser.submit(page, { decision })
          t.equal(answer.statusCode, 303)
          const location = String(answer.headers.location)
          t.match(location, /^\/\?grant_type=/, 'the portal must start the login again')
          t.match((await browser.get(location)).body, next, 'the new user must be asked for consent')
          t.strictSame(await rows(), [])
        }
      const answer = await developer.submit(page, { decision: 'allow' })
      t.match(
        answer.headers.location,
        `${seeded.redirectUri}?code=`,
        'the page must still be valid for the user to whom the portal has shown it',
      )
    },
  )

  t.test(
    `PS-01: a visitor can answer a consent page for 30 minutes, and later answers are refused (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const [quick, slow] = [openBrowser(sandbox), openBrowser(sandbox)]
      const pages = [await signIn(quick), await signIn(slow)] as const
      sandbox.passTime(30 * 60_000 - 1)
      t.equal((await quick.submit(pages[0], { decision: 'decline' })).statusCode, 303)
      sandbox.passTime(1)
      for (const decision of ['allow', 'decline', 'another-account']) {
        const answer = await slow.submit(pages[1], { decision })
        t.equal(answer.statusCode, 400, decision)
        t.match(answer.body, 'This page was open for too long.')
      }
      t.strictSame(await sandbox.store.read.selectFrom('grants').selectAll().execute(), [])
      t.match((await slow.get('/account')).body, seeded.email, 'nobody may be signed out')
    },
  )
}

t.test(
  'AZ-11, AZ-16: if a consent page is answered twice, the portal shows a page with a next step, and does not issue a second code',
  async t => {
    const browser = openBrowser(await buildTestSandbox(t))
    const page = await signIn(browser)
    await browser.submit(page, { decision: 'allow' })
    const again = await browser.submit(page, { decision: 'allow' })
    t.equal(again.statusCode, 409)
    t.equal(again.headers.location, undefined)
    t.match(again.body, /Start again/)
  },
)

t.test('AZ-11: additional fields in the consent form have no effect', async t => {
  const browser = openBrowser(await buildTestSandbox(t))
  const page = await signIn(browser)
  const answer = await browser.submit(page, {
    decision: 'allow',
    client_id: 'another',
    redirect_uri: 'https://evil.test/',
    state: 'another',
  })
  const location = new URL(locationOf(answer))
  t.equal(location.origin + location.pathname, seeded.redirectUri)
  t.equal(location.searchParams.get('state'), 'a-state')
})

t.test(
  'AZ-11: if a visitor answers the consent page but is no longer signed in, the portal shows the sign-in page',
  async t => {
    const browser = openBrowser(await buildTestSandbox(t))
    const page = await signIn(browser)
    browser.cookies.clear()
    const answer = await browser.submit(page, { decision: 'allow' })
    t.equal(answer.statusCode, 303)
    const location = locationOf(answer)
    t.match(location, /^\/\?/)
    t.match((await browser.get(location)).body, /<h1>Sign in<\/h1>/)
  },
)

t.test(
  'AZ-12: if the visitor declines, the portal redirects to cancel_url with access_denied and the state, and asks again at the next login',
  async t => {
    const browser = openBrowser(await buildTestSandbox(t))
    const answer = await browser.submit(await signIn(browser), { decision: 'decline' })
    t.equal(answer.statusCode, 303)
    const location = new URL(locationOf(answer))
    t.equal(location.origin + location.pathname, seeded.cancelUrl)
    t.strictSame(Object.fromEntries(location.searchParams), { error: 'access_denied', state: 'a-state' })
    t.match((await browser.get(startUrl())).body, /wants to sign you in/)
  },
)

t.test('PS-01: if another site sends an answer to the consent page, the portal refuses the answer', async t => {
  const browser = openBrowser(await buildTestSandbox(t))
  const page = await signIn(browser)
  const formToken = /name="formToken" value="([^"]+)"/.exec(page.body)?.[1] ?? ''
  const answer = await browser.post(
    '/consent',
    { formToken, decision: 'allow' },
    { headers: { 'sec-fetch-site': 'cross-site' } },
  )
  t.equal(answer.statusCode, 403)
})

t.test(
  'the button “Use another account” ends the portal session and continues the login on the sign-in page',
  async t => {
    const sandbox = await buildTestSandbox(t)
    await openAsNewcomer(sandbox)
    const browser = openBrowser(sandbox)
    const page = await signIn(browser)
    const copy = browser.copy()
    const answer = await browser.submit(page, { decision: 'another-account' })
    t.equal(answer.statusCode, 303)
    const again = await browser.get(locationOf(answer))
    t.match(again.body, /<h1>Sign in<\/h1>/)
    t.match(again.body, 'Reference client')
    t.match((await copy.get('/account')).body, /<h1>Sign in<\/h1>/, 'the old cookie must no longer work')
    const signedIn = await browser.submit(again, { email: newcomer.email, password: newcomer.password })
    t.match((await browser.get(locationOf(signedIn))).body, newcomer.email)
  },
)

// Hostile text, like the text that the client's tests of PG-05 to PG-07 send to the client. Here an application has
// this text as its name, and the portal must show the name as plain text.
const texts = [
  '<img src=x onerror=alert(1)>',
  `"><svg onload=alert(1)>`,
  `' onmouseover='alert(1)`,
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it must not be a template anywhere
  '{{7*7}} <%= 7*7 %> ${7*7}',
  '</title><script>alert(1)</script>',
  '\u2028\u202Eevil',
  ' ',
]
const addresses = [
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  ' javascript:alert(1)',
  'java\nscript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'vbscript:x',
  '//evil.test/',
  'https://evil.test/" onclick="alert(1)',
]

/** Replaces the character references of a page (such as &amp;) with their characters. */
function readReferences(html: string): string {
  const signs: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
  return html.replace(/&(amp|lt|gt|quot|#39);/g, (_reference, name: string) => signs[name] ?? '')
}

t.test('PS-12: the portal shows an application’s name and description as text, and does not load its icon', async t => {
  const sandbox = await buildTestSandbox(t)
  const browser = openBrowser(sandbox)
  const set = (record: object) => sandbox.store.write(db => db.updateTable('applications').set(record).execute())
  await signIn(browser)
  for (const text of texts) {
    await set({ name: text, description: text, icon_url: 'https://icons.example.test/i.png' })
    const page = await browser.get(startUrl())
    t.equal(page.statusCode, 200)
    t.match(readReferences(page.body), `<bdi>${text}</bdi>`, text)
    const brand = /<img src="\/assets\/icon-\w+\.svg" alt="" width="24" height="24">/
    t.match(page.body, brand, 'the portal shows its own icon')
    t.notMatch(page.body.replace(brand, ''), /<img|<svg|<script/, text)
    t.equal(page.body.match(/icons\.example/g)?.length, 1, 'the address of the icon must occur once, as a link')
    t.match(
      page.headers['content-security-policy'],
      /^default-src 'none'; style-src 'self'; img-src 'self'; form-action /,
    )
  }
  for (const address of addresses) {
    await set({ web_page_url: address, privacy_policy_url: address, icon_url: address, name: 'Weather' })
    const { body } = await browser.get(startUrl())
    t.notMatch(body, /Website|Privacy policy|Icon|alert\(1\)|evil/, address)
  }
  await set({
    web_page_url: 'https://weather.example.test/?a=1&b="',
    privacy_policy_url: 'HTTP://weather.example.test/p',
    icon_url: 'https://weather.example.test/icon.png?size="1"',
  })
  const { body } = await browser.get(startUrl())
  t.match(
    body,
    '<a class="target" href="https://weather.example.test/?a=1&amp;b=&quot;" rel="noopener noreferrer nofollow">Website</a>',
  )
  t.match(
    body,
    '<a class="target" href="HTTP://weather.example.test/p" rel="noopener noreferrer nofollow">Privacy policy</a>',
  )
  t.match(
    body,
    '<a class="target" href="https://weather.example.test/icon.png?size=&quot;1&quot;" rel="noopener noreferrer nofollow">Icon</a>',
  )
})

t.test(
  'AZ-11: the consent page names the application, its requested permissions, the site to which the browser goes next, and the account',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const { body } = await signIn(openBrowser(sandbox))
    for (const text of [
      'Reference client',
      'Lists and creates your applications.',
      'your name, e-mail address and user ID',
      '<dt>Takes you to</dt><dd><strong>localhost:3000</strong>',
      seeded.email,
    ])
      t.match(body, text)
  },
)

for (const database of databases)
  t.test(`AZ-11: the consent page says who made the application, and for which group (${database.name})`, async t => {
    const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
    const browser = openBrowser(sandbox)
    const made = /<dt>Made by<\/dt><dd><span>(.*?)<\/span>/
    t.match(
      (await signIn(browser)).body,
      /<dt>Made by<\/dt><dd><span><bdi>[^<]+<\/bdi>, in the group <bdi>[^<]+<\/bdi>/,
    )
    await openAsNewcomer(sandbox, { ...newcomer, firstName: '<b>Ada', lastName: 'Maker' })
    const { id } = await sandbox.store.read
      .selectFrom('users')
      .select('id')
      .where('email', '=', newcomer.email)
      .executeTakeFirstOrThrow()
    await sandbox.store.transaction(async db => {
      await db.updateTable('groups').set({ name: 'Weather & people' }).execute()
      await db.updateTable('applications').set({ created_by: id }).execute()
    })
    const { body } = await browser.get(startUrl())
    t.equal(made.exec(body)?.[1], '<bdi>&lt;b&gt;Ada Maker</bdi>, in the group <bdi>Weather &amp; people</bdi>')
  })
