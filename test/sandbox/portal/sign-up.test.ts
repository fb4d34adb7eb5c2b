// Tests the portal's sign-up form, and which passwords it accepts.
import type { LightMyRequestResponse } from 'fastify'
import t from 'tap'
import { locationOf, openBrowser, startUrl } from '../support/browser.ts'
import { buildTestSandbox, type TestSandbox } from '../support/build-test-sandbox.ts'
import { openDatabases } from '../support/each-database.ts'
import { newcomer, openAsNewcomer, submitForm } from '../support/forms.ts'

const databases = await openDatabases(t)

async function signUp(sandbox: TestSandbox, fields: Record<string, string>): Promise<LightMyRequestResponse> {
  const browser = openBrowser(sandbox)
  return submitForm(browser, await browser.get(startUrl()), '/sign-up', { ...newcomer, ...fields })
}

async function signIn(sandbox: TestSandbox, email: string, password: string): Promise<LightMyRequestResponse> {
  const browser = openBrowser(sandbox)
  return submitForm(browser, await browser.get(startUrl()), '/sign-in', { email, password })
}

/** Returns the problem next to each field, keyed by the id of the field. */
function readProblems(page: LightMyRequestResponse): Record<string, string> {
  const said = [...page.body.matchAll(/<p class="field-problem" id="([^"]+)-problem">([^<]+)</g)]
  return Object.fromEntries(said.map(([, id, problem]) => [id, problem]))
}

t.test(
  'if a visitor signs up during a login, the portal shows the consent page, and then redirects to the client',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const browser = openBrowser(sandbox)
    const answer = await submitForm(browser, await browser.get(startUrl()), '/sign-up', newcomer)
    t.equal(answer.statusCode, 303, 'PS-09: the redirect must not make the browser send the password again')
    t.match(
      answer.cookies.find(({ name }) => name === '__Host-portal-session'),
      { secure: true, httpOnly: true, sameSite: 'Lax', path: '/' },
    )
    const consent = await browser.get(locationOf(answer))
    t.match(consent.body, 'Reference client</bdi> wants to sign you in')
    t.match(consent.body, newcomer.email)
    const back = await browser.submit(consent, { decision: 'allow' })
    t.match(new URL(locationOf(back)).searchParams.get('code'), /^[A-Za-z0-9]{30}$/)
  },
)

t.test('if a visitor signs up outside a login, the portal shows the account page', async t => {
  const sandbox = await buildTestSandbox(t)
  const browser = openBrowser(sandbox)
  t.equal(locationOf(await browser.get('/')), '/account')
  const page = await browser.get('/account')
  t.match(page.body, /<h1>Sign in<\/h1>/)
  const answer = await submitForm(browser, page, '/sign-up', newcomer)
  t.equal(locationOf(answer), '/account')
  const account = await browser.get('/account')
  t.match(account.body, 'Nora Newcomer')
  t.match(account.body, newcomer.email)
  t.match(account.body, /<code class="id" data-copy="user ID">[0-9a-f-]{36}<\/code>/)
})

t.test(
  'a refused sign-up form shows each problem next to its field, and keeps all values except the password',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const page = await signUp(sandbox, { email: 'no address', password: 'short', firstName: '<b>Nora', lastName: ' ' })
    t.equal(page.statusCode, 422)
    t.match(page.body, '<title>Error: Create an account')
    t.strictSame(Object.keys(readProblems(page)), ['last-name', 'new-email', 'new-password'])
    t.match(
      page.body,
      /id="new-email"[^>]* value="no address"[^>]* aria-describedby="new-email-problem" aria-invalid="true"/,
    )
    t.match(page.body, /id="first-name"[^>]* value="&lt;b&gt;Nora"/)
    t.match(page.body, /id="terms"[^>]* checked/)
    t.notMatch(page.body, 'short')
    t.equal(page.headers['set-cookie'], undefined)
    const unticked = await signUp(sandbox, { termsAccepted: '' })
    t.strictSame(Object.keys(readProblems(unticked)), ['terms'])
  },
)

t.test(
  'if fields of a sign-up are missing, repeated or too long, the portal refuses the form, without an internal error',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const browser = openBrowser(sandbox)
    const page = await browser.get('/account')
    const none = await submitForm(browser, page, '/sign-up')
    t.equal(none.statusCode, 422)
    t.equal(Object.keys(readProblems(none)).length, 5)
    const long = { firstName: 'x'.repeat(101), email: `${'x'.repeat(64)}@${'x'.repeat(190)}.test`, lastName: 'nul\0' }
    const answer = await signUp(sandbox, long)
    t.strictSame(Object.keys(readProblems(answer)), ['first-name', 'last-name', 'new-email'])
    const formToken = /name="formToken" value="([^"]+)"/.exec(page.body)?.[1] ?? ''
    const cookie = browser.cookieHeader()
    const repeated = await sandbox.portal.inject({
      method: 'POST',
      url: '/sign-up',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin', cookie },
      payload: `${new URLSearchParams({ ...newcomer, formToken })}&email=other@example.test`,
    })
    t.equal(repeated.statusCode, 422)
    t.strictSame(Object.keys(readProblems(repeated)), ['new-email'])
  },
)

t.test(
  'PS-01: if another site sends a sign-up form, or the form token is missing, the portal does not make an account',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const browser = openBrowser(sandbox)
    const page = await browser.get('/account')
    const formToken = /name="formToken" value="([^"]+)"/.exec(page.body)?.[1] ?? ''
    const foreign = await browser.post(
      '/sign-up',
      { ...newcomer, formToken },
      { headers: { 'sec-fetch-site': 'cross-site' } },
    )
    t.equal(foreign.statusCode, 403)
    const bare = await browser.post('/sign-up', newcomer)
    t.equal(bare.statusCode, 400)
    for (const answer of [foreign, bare]) t.equal(answer.headers['set-cookie'], undefined)
    t.equal((await signIn(sandbox, newcomer.email, newcomer.password)).statusCode, 403)
  },
)

t.test(
  'PS-02: passwords of 8 to 128 characters, whatever the characters are, work exactly as typed; a password of 7 characters is refused',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const refused = await signUp(sandbox, { password: '1234567' })
    t.match(readProblems(refused), { 'new-password': 'Use at least 8 characters.' })
    const long = await signUp(sandbox, { password: 'x'.repeat(1001) })
    t.match(
      readProblems(long),
      { 'new-password': 'Use 1000 characters or fewer.' },
      'a long password must be refused and not cut off',
    )
    const passwords = [
      'xxxxxxx8',
      'x'.repeat(64),
      'y'.repeat(128),
      '  spaces at both ends  ',
      '🐎🔋📎🐎🔋📎🐎🔋',
      'Ünïcôdé ﬁn K',
    ]
    for (const [index, password] of passwords.entries()) {
      const email = `user-${index}@example.test`
      t.equal((await signUp(sandbox, { email, password })).statusCode, 303, password)
      t.equal((await signIn(sandbox, email, password)).statusCode, 303, password)
      for (const other of [
        password.toUpperCase(),
        password.trim(),
        password.normalize('NFKC'),
        password.slice(0, -1),
      ]) {
        if (other !== password) t.equal((await signIn(sandbox, email, other)).statusCode, 403, other)
      }
    }
  },
)

t.test('PS-02: the portal compares the whole password, and not only its first 72 bytes', async t => {
  const sandbox = await buildTestSandbox(t)
  const head = 'z'.repeat(72)
  await signUp(sandbox, { password: `${head} and an end` })
  t.equal((await signIn(sandbox, newcomer.email, `${head} and another`)).statusCode, 403)
  t.equal((await signIn(sandbox, newcomer.email, `${head} and an end`)).statusCode, 303)
})

t.test('PS-02: password fields hide the text, and tell password managers whether the password is new', async t => {
  const { body } = await openBrowser(await buildTestSandbox(t)).get(startUrl())
  t.match(body, /id="password" name="password" type="password" required autocomplete="current-password"/)
  t.match(body, /id="new-password" name="password" type="password" required autocomplete="new-password"/)
  t.equal(body.match(/type="email"[^>]*autocomplete="username"/g)?.length, 2)
  t.notMatch(body, /onpaste|autocomplete="off"/)
  t.notMatch(
    body,
    /type="password"[^>]*maxlength/,
    'the field must have no maxlength, because browsers would cut off the password',
  )
})

t.test('PS-03: the portal refuses a password that is the e-mail address or the part before the @', async t => {
  const sandbox = await buildTestSandbox(t)
  for (const password of ['newcomer@example.test', 'NEWCOMER@example.test ', 'Newcomer']) {
    const refused = await signUp(sandbox, { password })
    t.equal(refused.statusCode, 422, password)
    t.match(readProblems(refused), { 'new-password': /e-mail address/ })
  }
})

t.test('limit-sign-ups: from one network address at most 100 sign-ups an hour succeed', async t => {
  const sandbox = await buildTestSandbox(t)
  // Send 25 forms at the same time, because the portal hashes two passwords at the same time and lets at most fifty
  // wait.
  const signUpAtOnce = async (first: number, count: number) => {
    const emails = Array.from({ length: count }, (_, index) => `user-${first + index}@example.test`)
    return (await Promise.all(emails.map(email => signUp(sandbox, { email })))).map(({ statusCode }) => statusCode)
  }
  for (let first = 0; first < 75; first += 25) for (const status of await signUpAtOnce(first, 25)) t.equal(status, 303)
  const last = await signUpAtOnce(75, 40)
  t.equal(last.filter(status => status === 303).length, 25, 'sign-ups at the same time must not exceed the limit')
  t.equal(last.filter(status => status === 429).length, 15)
  const refused = await signUp(sandbox, { email: 'late@example.test' })
  t.equal(refused.statusCode, 429)
  t.match(refused.headers['retry-after'], /^\d{1,4}$/)
  t.match(refused.body, 'value="late@example.test"')
  t.match(sandbox.logLines.at(-1), '"reason":"too-many-sign-ups"')
  sandbox.passTime(Number(refused.headers['retry-after']) * 1000)
  t.equal((await signUp(sandbox, { email: 'late@example.test' })).statusCode, 303)
})

t.test('the portal does not log the name, the e-mail address or the password of a sign-up', async t => {
  const sandbox = await buildTestSandbox(t)
  await openAsNewcomer(sandbox)
  await signUp(sandbox, {})
  t.notMatch(sandbox.logLines.join(''), /Nora|newcomer|pass phrase/i)
})

for (const database of databases) {
  t.test(
    `if ten sign-ups with the same e-mail address arrive at the same time, only one of them creates an account (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, index) => signUp(sandbox, { password: `a pass phrase ${index}` })),
      )
      t.equal(answers.filter(answer => answer.statusCode === 303).length, 1)
      t.equal(answers.filter(answer => answer.statusCode === 422).length, 9)
    },
  )

  t.test(
    `PS-16: if an e-mail address looks different but means the same, it belongs to the same account or is refused (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      t.equal((await signUp(sandbox, { email: ' User＠x.test' })).statusCode, 303)
      t.equal((await signIn(sandbox, 'user@x.test', newcomer.password)).statusCode, 303)
      const lookAlikes = ['user@x.test', 'USER@x.test', 'user＠x.test', 'user@x.test ', 'ｕｓｅｒ@x.test']
      const noAddresses = [
        'uѕer@x.test',
        'us\u200ber@x.test',
        'user@х.test',
        'user@x.test\0',
        'user@x..test',
        'user',
        '@x.test',
      ]
      for (const email of [...lookAlikes, ...noAddresses])
        t.strictSame(Object.keys(readProblems(await signUp(sandbox, { email }))), ['new-email'], JSON.stringify(email))
    },
  )
}
