// Tests the portal's sign-in form, and its protection against forged forms and guessed passwords.
import t from 'tap'
import type { LabStep } from '../../../src/sandbox/lab/record/recorded.ts'
import { locationOf, openBrowser, signIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, portalUrl, seeded } from '../support/build-test-sandbox.ts'
import { newcomer, submitForm } from '../support/forms.ts'

const right = { email: seeded.email, password: seeded.password }

t.test(
  'PS-01: if another site sends the right e-mail address and password, the portal refuses them, and nobody is signed in',
  async t => {
    const browser = openBrowser(await buildTestSandbox(t))
    const page = await browser.get(startUrl())
    const formToken = /name="formToken" value="([^"]+)"/.exec(page.body)?.[1] ?? ''
    const strangers = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': undefined, origin: 'https://evil.test' },
      { 'sec-fetch-site': undefined, origin: 'null' },
      { 'sec-fetch-site': undefined, origin: undefined },
    ]
    for (const headers of strangers) {
      const answer = await browser.post('/sign-in', { ...right, formToken }, { headers })
      t.equal(answer.statusCode, 403, JSON.stringify(headers))
      t.equal(answer.headers['set-cookie'], undefined)
    }
    const own = [
      // This browser sends no Sec-Fetch-Site header, so the portal must check Origin.
      { 'sec-fetch-site': undefined, origin: portalUrl },
      // This browser was restarted, and sends the form of a restored page again.
      { 'sec-fetch-site': 'none' },
    ]
    for (const headers of own)
      t.match(await browser.post('/sign-in', { ...right, formToken }, { headers }), { statusCode: 303 })
  },
)

t.test(
  'PS-01: the portal refuses a sign-in form without its form token, with the token of another form, or after 30 minutes',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const browser = openBrowser(sandbox)
    t.equal((await browser.post('/sign-in', right)).statusCode, 400)
    t.equal((await browser.post('/sign-in', { ...right, formToken: 'made.up' })).statusCode, 400)
    const consent = await signIn(browser)
    const ofConsent = /name="formToken" value="([^"]+)"/.exec(consent.body)?.[1] ?? ''
    t.equal((await browser.post('/sign-in', { ...right, formToken: ofConsent })).statusCode, 400)
    const page = await openBrowser(sandbox).get(startUrl())
    sandbox.passTime(30 * 60_000)
    t.equal((await browser.submit(page, right)).statusCode, 400)
  },
)

t.test(
  'if the portal refuses a form, the title of the page begins with “Error”, because screen readers read the title first',
  async t => {
    const browser = openBrowser(await buildTestSandbox(t))
    const page = await browser.get(startUrl())
    t.match(page.body, '<title>Sign in or create an account · Login portal</title>')
    const refused = await browser.submit(page, { ...right, password: 'another one' })
    t.match(refused.body, '<title>Error: Sign in or create an account · Login portal</title>')
  },
)

t.test(
  'PS-07: signing in starts a new session, whatever session cookie the browser sent, and the next login uses the new session',
  async t => {
    const browser = openBrowser(await buildTestSandbox(t))
    const planted = 'x'.repeat(43)
    browser.cookies.set('__Host-portal-session', { value: planted })
    const answer = await browser.submit(await browser.get(startUrl()), right)
    const cookie = answer.cookies.find(({ name }) => name === '__Host-portal-session')
    t.match(cookie, { secure: true, httpOnly: true, sameSite: 'Lax', path: '/', maxAge: 8 * 3600 })
    t.equal(cookie?.domain, undefined)
    t.match(cookie?.value, /^[\w-]{43}$/)
    t.not(cookie?.value, planted)
    const next = await browser.get(startUrl({ state: 'another' }))
    t.match(next.body, /wants to sign you in/, 'the next login must not ask for the password')
  },
)

t.test('PS-09: after the visitor has sent the password, the portal redirects with status 303', async t => {
  const browser = openBrowser(await buildTestSandbox(t))
  const answer = await browser.submit(await browser.get(startUrl()), right)
  t.equal(answer.statusCode, 303)
  t.match(locationOf(answer), /^\/\?/)
})

t.test(
  'PS-05: for an unknown user and for a wrong password, the portal shows the same page, and the page keeps the typed e-mail address',
  async t => {
    const browser = openBrowser(await buildTestSandbox(t))
    const page = await browser.get(startUrl())
    const wrong = await browser.submit(page, { email: 'first@example.test', password: 'wrong' })
    const unknown = await browser.submit(page, { email: seeded.email, password: 'wrong' })
    t.equal(wrong.statusCode, 403)
    t.equal(unknown.statusCode, 403)
    t.equal(wrong.body, unknown.body.replaceAll(seeded.email, 'first@example.test'))
    t.match(unknown.body, `value="${seeded.email}"`)
    t.notMatch(unknown.body, 'wrong"')
    t.match(unknown.headers['content-security-policy'], /form-action 'self' http:\/\/localhost:3000;/)
  },
)

t.test(
  'PS-06: after 10 wrong passwords an account is locked for the rest of the 15 minutes, even if the sender changes X-Forwarded-For',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const browser = openBrowser(sandbox)
    const page = await browser.get(startUrl())
    const formToken = /name="formToken" value="([^"]+)"/.exec(page.body)?.[1] ?? ''
    const attempt = (password: string, index: number) =>
      browser.post(
        '/sign-in',
        { email: seeded.email, password, formToken },
        { headers: { 'x-forwarded-for': `10.0.0.${index}` } },
      )
    for (let index = 0; index < 10; index += 1) t.equal((await attempt('wrong', index)).statusCode, 403)
    const refused = await attempt(seeded.password, 11)
    t.equal(refused.statusCode, 429)
    t.match(refused.headers['retry-after'], /^\d{1,3}$/)
    sandbox.passTime(Number(refused.headers['retry-after']) * 1000)
    t.equal((await attempt(seeded.password, 12)).statusCode, 303)
  },
)

t.test(
  'PS-06: after 100 failed sign-ins from one network address, all sign-ins from this address are refused for a while',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const browser = openBrowser(sandbox)
    const page = await browser.get(startUrl())
    // Send 25 forms at the same time, because the portal hashes two passwords at the same time and lets at most fifty
    // wait.
    for (let first = 0; first < 100; first += 25) {
      const emails = Array.from({ length: 25 }, (_, index) => `${first + index}@example.test`)
      const answers = await Promise.all(emails.map(email => browser.submit(page, { email, password: 'wrong' })))
      for (const answer of answers) t.equal(answer.statusCode, 403)
    }
    const refused = await browser.submit(page, right)
    t.equal(refused.statusCode, 429)
    sandbox.passTime(Number(refused.headers['retry-after']) * 1000)
    t.equal((await browser.submit(page, right)).statusCode, 303)
  },
)

t.test('a GET request to /sign-in or /sign-up redirects to a page', async t => {
  const browser = openBrowser(await buildTestSandbox(t))
  for (const path of ['/sign-in', '/sign-up']) t.equal(locationOf(await browser.get(path)), '/account')
  t.equal((await browser.get('/consent')).statusCode, 405)
})

t.test('PS-16: sign-in ignores case, character width and surrounding spaces in an e-mail address', async t => {
  const sandbox = await buildTestSandbox(t)
  for (const email of ['DEVELOPER@example.test', 'developer＠example.test', ' developer@example.test ']) {
    const browser = openBrowser(sandbox)
    const answer = await browser.submit(await browser.get(startUrl()), { email, password: seeded.password })
    t.equal(answer.statusCode, 303, email)
  }
})

t.test('PS-13: without the seed settings the sandbox has no account and no client', async t => {
  const browser = openBrowser(await buildTestSandbox(t, { seed: false }))
  t.equal((await browser.get(startUrl())).statusCode, 400)
  const page = await browser.get('/account')
  const accounts = [right, { email: 'admin', password: 'admin' }, { email: 'test', password: 'test' }]
  for (const account of accounts) t.equal((await browser.submit(page, account)).statusCode, 403, account.email)
})

t.test(
  'DO-09: if 80 sign-ins arrive at the same time, some of them get a 503 answer, and other pages still work',
  async t => {
    const browser = openBrowser(await buildTestSandbox(t))
    const page = await browser.get(startUrl())
    const attempts = Array.from({ length: 80 }, (_, index) =>
      browser.submit(page, { email: `${index}@example.test`, password: 'wrong' }),
    )
    const startedAt = performance.now()
    t.equal((await browser.get(startUrl())).statusCode, 200)
    t.ok(performance.now() - startedAt < 500)
    const statuses = (await Promise.all(attempts)).map(answer => answer.statusCode)
    t.ok(statuses.every(status => status === 403 || status === 503))
    t.ok(statuses.includes(503))
    t.ok(statuses.filter(status => status === 403).length >= 50)
  },
)

t.test(
  'PS-06: if somebody sends many passwords for one account at the same time, the portal checks only about ten of them',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const tries = Array.from({ length: 40 }, async (_, index) => {
      const browser = openBrowser(sandbox)
      // The right password comes last, and must not succeed.
      const password = index === 39 ? seeded.password : `wrong ${index}`
      return submitForm(browser, await browser.get('/account'), '/sign-in', { email: seeded.email, password })
    })
    const statuses = (await Promise.all(tries)).map(answer => answer.statusCode)
    t.ok(statuses.filter(status => status === 403).length <= 12, statuses.join())
    t.ok(statuses.filter(status => status === 429).length >= 28, statuses.join())
    t.notOk(statuses.includes(303))
  },
)

t.test(
  'if a browser does not keep cookies, the portal shows a page that says so, and does not check the password',
  async t => {
    const steps: LabStep[] = []
    const sandbox = await buildTestSandbox(t, { onStep: step => void steps.push(step) })
    for (const [action, fields] of [
      ['/sign-in', right],
      ['/sign-up', newcomer],
    ] as const) {
      const browser = openBrowser(sandbox)
      const page = await browser.get('/account')
      t.match(page.cookies, [{ name: /^__Host-/, secure: true, httpOnly: true, sameSite: 'Lax', path: '/' }])
      browser.cookies.clear()
      browser.cookies.set('theme', { value: 'of another program on this host' })
      const answer = await submitForm(browser, page, action, fields)
      t.equal(answer.statusCode, 400)
      t.match(answer.body, 'You are not signed in: your browser blocked a cookie')
      t.match(answer.body, 'npm run demo -- --https')
      t.match(answer.body, '<a class="button main" href="/account">Try again</a>')
      t.notMatch(answer.body, '<form')
      t.equal(steps.at(-1)?.reason, 'cookies-missing', 'the laboratory must record the reason')
      t.equal(browser.cookies.has('__Host-portal-session'), false)
    }
    const users = await sandbox.store.read.selectFrom('users').select('email').execute()
    t.same(users, [{ email: seeded.email }], 'the portal must not make an account')
  },
)

t.test(
  'if the cookie of an old session expires while the sign-in page is open, the browser can still sign in',
  async t => {
    const browser = openBrowser(await buildTestSandbox(t))
    browser.cookies.set('__Host-portal-session', { value: 'of a session that has ended' })
    const page = await browser.get('/account')
    browser.cookies.delete('__Host-portal-session')
    t.equal((await submitForm(browser, page, '/sign-in', right)).statusCode, 303)
  },
)

t.test('if the portal uses https, its page about missing cookies does not mention plain http', async t => {
  const browser = openBrowser(await buildTestSandbox(t, { portalUrl: 'https://portal.test' }))
  const page = await browser.get('/account')
  browser.cookies.clear()
  const answer = await submitForm(browser, page, '/sign-in', right)
  t.equal(answer.statusCode, 400)
  t.notMatch(answer.body, 'plain http')
})
