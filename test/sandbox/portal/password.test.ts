// Tests how a user changes a password or resets a forgotten password: the conditions, the sessions that end, and what
// strangers can learn.
import t, { type Test } from 'tap'
import { createMailbox } from '../../../src/sandbox/lab/pages/mailbox.ts'
import { exchange, locationOf, logIn, openBrowser, signIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { openDatabases } from '../support/each-database.ts'
import { openAsDeveloper, readHiddenFields, submitForm } from '../support/forms.ts'
import type { Tokens } from '../support/tokens.ts'

const { email, password } = seeded
const newPassword = 'a password nobody had before'
const changePath = '/account/password'
const lab = { host: '127.0.0.1', port: 0, urls: ['http://127.0.0.1:4002'], token: undefined }

async function change(browser: Awaited<ReturnType<typeof openAsDeveloper>>, fields = { password, newPassword }) {
  return submitForm(browser, await browser.get(changePath), changePath, fields)
}

/** Requests a link to reset the password, and resolves to the answer. */
async function forget(sandbox: TestSandbox, address = email, headers = {}) {
  const browser = openBrowser(sandbox)
  const page = await browser.get('/forgot-password')
  const fields = { ...readHiddenFields(page, '/forgot-password'), email: address }
  return browser.post('/forgot-password', fields, { headers })
}

async function readMailbox(sandbox: TestSandbox): Promise<{ to: string; text: string; links: string[] }[]> {
  const headers = { host: '127.0.0.1:4002' }
  return (await sandbox.lab!.inject({ url: '/lab/v1/mailbox', headers })).json().mails
}

/** Returns the path of the link in the newest e-mail. */
async function readLink(sandbox: TestSandbox): Promise<string> {
  const [mail] = await readMailbox(sandbox)
  const { pathname, search } = new URL(mail?.links[0] ?? '')
  return pathname + search
}

async function buildWithMailbox(t: Test, databaseUrl?: string): Promise<TestSandbox> {
  return buildTestSandbox(t, { lab, ...(databaseUrl !== undefined && { databaseUrl }) })
}

/** Tries to sign in. Returns the status, which is 303 if the password is right. */
async function tryPassword(sandbox: TestSandbox, given: string): Promise<number> {
  const browser = openBrowser(sandbox)
  const page = await browser.get('/account')
  return (await submitForm(browser, page, '/sign-in', { email, password: given })).statusCode
}

const refresh = (sandbox: TestSandbox, refresh_token: string) =>
  exchange(sandbox, { grant_type: 'refresh_token', refresh_token, redirect_uri: undefined, state: undefined })

const databases = await openDatabases(t)

for (const database of databases) {
  t.test(
    `PS-15, RF-12: if a user changes the password, all other sessions, refresh tokens and marks of known browsers become invalid; only the browser in which the user changed the password stays signed in (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const [own, other] = [await openAsDeveloper(sandbox), await openAsDeveloper(sandbox)]
      const code = (await logIn(sandbox)).get('code') ?? ''
      const tokens = (await exchange(sandbox, { code })).json<Tokens>()
      const [sessionBefore, markBefore] = ['__Host-portal-session', '__Host-portal-known'].map(name => own.cookie(name))

      const changed = await change(own)
      t.equal(changed.statusCode, 200)
      t.match(changed.body, 'Your password has been changed')
      t.match((await own.get('/account')).body, email, 'the browser of the change must stay signed in')
      t.not(own.cookie('__Host-portal-session'), sessionBefore, 'the browser must have a new session (PS-07)')
      t.not(own.cookie('__Host-portal-known'), markBefore)
      t.match((await other.get('/account')).body, '<h1>Sign in</h1>')
      t.match((await refresh(sandbox, tokens.refresh_token)).json(), { error: 'invalid_grant' })
      t.equal(await tryPassword(sandbox, password), 403)
      t.equal(await tryPassword(sandbox, newPassword), 303)
      t.notMatch(sandbox.logLines.join(''), newPassword)
    },
  )

  t.test(
    `password-reset: a link in the mail can reset the password once, and the reset makes every session and refresh token invalid (${database.name})`,
    async t => {
      const sandbox = await buildWithMailbox(t, await database.make(t))
      const signedIn = await openAsDeveloper(sandbox)
      const code = (await logIn(sandbox)).get('code') ?? ''
      const tokens = (await exchange(sandbox, { code })).json<Tokens>()
      t.equal((await forget(sandbox, ` ${email.toUpperCase()} `)).statusCode, 200)
      t.match(await readMailbox(sandbox), [{ to: email, text: /30 minutes/ }])

      const link = await readLink(sandbox)
      const browser = openBrowser(sandbox)
      await browser.get(link)
      const page = await browser.get(link)
      t.match(page.body, email, 'opening the link must not use it up')
      const weak = await submitForm(browser, page, '/reset-password', { password: 'short' })
      t.equal(weak.statusCode, 422)
      t.match(weak.body, 'Use at least 8 characters.')
      const answers = await Promise.all(
        [1, 2].map(() => submitForm(browser, page, '/reset-password', { password: newPassword })),
      )
      t.strictSame(
        answers.map(({ statusCode }) => statusCode).sort(),
        [200, 400],
        'of two simultaneous forms one must succeed',
      )
      t.equal((await browser.get(link)).statusCode, 400)
      t.match((await browser.get('/account')).body, '<h1>Sign in</h1>', 'the link must not sign anybody in')
      t.match((await signedIn.get('/account')).body, '<h1>Sign in</h1>')
      t.match((await refresh(sandbox, tokens.refresh_token)).json(), { error: 'invalid_grant' })
      t.equal(await tryPassword(sandbox, password), 403)
      t.equal(await tryPassword(sandbox, newPassword), 303)
      t.notMatch(sandbox.logLines.join(''), new URLSearchParams(link.split('?')[1]).get('token') ?? link)
    },
  )
}

t.test(
  'PS-15, PS-06: a user cannot change the password without the current password, and wrong guesses count like wrong passwords at sign-in',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const browser = await openAsDeveloper(sandbox)
    const both = await change(browser, { password: 'wrong password', newPassword: 'short' })
    t.equal(both.statusCode, 422)
    t.match(both.body, /id="password-problem">This is not your current password/)
    t.match(both.body, /id="new-password-problem">Use at least 8 characters/, 'the page must show both problems')
    for (let count = 0; count < 9; count += 1) await change(browser, { password: 'wrong password', newPassword })
    t.equal(
      (await change(browser, { password: 'wrong password', newPassword })).statusCode,
      422,
      'this failure must count as a failure from an unknown browser',
    )
    for (let count = 0; count < 9; count += 1) await change(browser, { password: 'wrong password', newPassword })
    const refused = await change(browser)
    t.equal(refused.statusCode, 429)
    t.match(refused.headers['retry-after'], /^\d+$/)
    sandbox.passTime(15 * 60_000)
    t.equal((await change(browser)).statusCode, 200)
  },
)

t.test(
  'PS-05: whether or not an account exists, a request for a reset link gets the same answer and causes the same database queries',
  async t => {
    const sandbox = await buildWithMailbox(t)
    const own = await forget(sandbox)
    const unknown = await forget(sandbox, 'nobody@example.test')
    t.equal(unknown.statusCode, 200)
    t.equal(unknown.body.replace('nobody@example.test', email), own.body)
    t.strictSame(
      (await readMailbox(sandbox)).map(({ to }) => to),
      [email],
      'the portal must not send mail to an address without an account',
    )
    t.equal((await forget(sandbox, 'no address')).statusCode, 422)
    t.equal((await forget(sandbox, 'nul\0@example.test')).statusCode, 422)
    const line = sandbox.logLines.filter(text => text.includes('password-reset-asked'))
    t.equal(line.length, 2)
    t.notMatch(line.join(''), /example\.test/)
  },
)

t.test(
  'PS-06: the portal sends a user at most five reset links in 30 minutes; more requests get the same page, and the last link works',
  async t => {
    const sandbox = await buildWithMailbox(t)
    const first = await forget(sandbox)
    for (let count = 0; count < 4; count += 1) await forget(sandbox)
    // Go to the last millisecond of the 30 minutes, when the first links are about to expire.
    sandbox.passTime(30 * 60_000 - 1)
    const refused = await forget(sandbox)
    t.equal(refused.statusCode, 200)
    t.equal(refused.body, first.body)
    t.equal(refused.headers['retry-after'], undefined)
    const withReason = sandbox.logLines.filter(line => line.includes('"reason"'))
    t.same(withReason, [], 'the request must not count as refused')
    t.equal((await readMailbox(sandbox)).length, 5)
    t.equal((await openBrowser(sandbox).get(await readLink(sandbox))).statusCode, 200, 'the last link works')
    sandbox.passTime(1)
    await forget(sandbox)
    t.equal((await readMailbox(sandbox)).length, 6, 'after the link has expired, a new link must be sent')
  },
)

for (const database of databases)
  t.test(
    `PS-06: even if a stranger locks an account and requests many reset links, the user can still get a reset link and reset the password (${database.name})`,
    async t => {
      const databaseUrl = await database.make(t)
      const sandbox = await buildTestSandbox(t, { lab, databaseUrl, trustedProxies: ['127.0.0.1'] })
      const stranger = { 'x-forwarded-for': '203.0.113.1' }
      for (let count = 0; count < 10; count += 1) await tryPassword(sandbox, 'wrong password')
      t.equal(await tryPassword(sandbox, password), 429, 'a new device cannot sign in')
      for (let count = 0; count < 60; count += 1) {
        await forget(sandbox, email, stranger)
        await forget(sandbox, `somebody-${count}@example.test`, stranger)
      }
      t.equal((await readMailbox(sandbox)).length, 5, 'the portal must send five links for the stranger’s requests')
      await forget(sandbox, email, { 'x-forwarded-for': '203.0.113.2' })
      t.equal((await readMailbox(sandbox)).length, 6, 'the owner gets a link')

      for (let count = 0; count < 60; count += 1)
        await forget(sandbox, `somebody-${count}@example.test`, { 'x-forwarded-for': '203.0.113.3' })
      await forget(sandbox, email, { 'x-forwarded-for': '203.0.113.3' })
      t.equal((await readMailbox(sandbox)).length, 7, 'the owner must get a link even from the address of the stranger')

      const browser = openBrowser(sandbox)
      const page = await browser.get(await readLink(sandbox))
      await submitForm(browser, page, '/reset-password', { password: newPassword })
      const signInPage = await browser.get('/account')
      const signedIn = await submitForm(browser, signInPage, '/sign-in', { email, password: newPassword })
      t.equal(signedIn.statusCode, 303)
      await forget(sandbox, email, stranger)
      t.equal(
        (await readMailbox(sandbox)).length,
        8,
        'after the password was changed, the count must begin again at zero',
      )
    },
  )

for (const database of databases)
  t.test(
    `PS-06: if ten requests for reset links arrive at the same time, the portal sends at most five links (${database.name})`,
    async t => {
      const sandbox = await buildWithMailbox(t, await database.make(t))
      for (const answer of await Promise.all(Array.from({ length: 10 }, () => forget(sandbox))))
        t.equal(answer.statusCode, 200)
      t.equal((await readMailbox(sandbox)).length, 5)
    },
  )

t.test(
  'PS-06: if one sender requests reset links for e-mail addresses without an account, the store gets only one row',
  async t => {
    const sandbox = await buildWithMailbox(t)
    for (let count = 0; count < 8; count += 1) await forget(sandbox, `somebody-${count}@example.test`)
    const rows = await sandbox.store.read.selectFrom('failures').select('count').execute()
    t.same(rows, [{ count: 8 }])
  },
)

t.test(
  'PS-06: even if strangers make the portal send many e-mails to other people, a user’s reset link stays in the mailbox',
  async t => {
    const mailbox = createMailbox({ clock: () => new Date(0), labUrl: 'http://127.0.0.1:4002' })
    const deliver = (to: string, count: number) => {
      for (let index = 1; index <= count; index += 1) mailbox.deliver({ to, subject: 'Subject', text: `${index}` })
    }
    deliver('owner@example.test', 2)
    for (let index = 0; index < 90; index += 1) deliver(`stranger-${index}@example.test`, 100)
    t.match(mailbox.list('owner@example.test'), [{ text: '2' }, { text: '1' }])
    t.match(
      mailbox.list('stranger-1@example.test').map(({ text }) => text),
      ['100', '99', '98'],
    )
    t.equal(mailbox.list('stranger-1@example.test').length, 10)
    t.equal(mailbox.list('Stranger-1@Example.test').length, 10, 'the case of the address must not matter')
    for (let index = 0; index < 200; index += 1) deliver(`other-${index}@example.test`, 10)
    t.equal(mailbox.list().length, 1000)
  },
)

t.test(
  'a reset link expires after half an hour or when the password changes, and a forged link never works',
  async t => {
    const sandbox = await buildWithMailbox(t)
    await forget(sandbox)
    const link = await readLink(sandbox)
    const browser = openBrowser(sandbox)
    for (const path of [
      '/reset-password',
      '/reset-password?token=made.up',
      `${link.slice(0, -2)}AA`,
      `${link}&token=2`,
    ]) {
      const page = await browser.get(path)
      t.equal(page.statusCode, 400, path)
      t.match(page.body, '<a class="button main" href="/forgot-password">Ask for a new link</a>')
    }
    sandbox.passTime(29 * 60_000)
    t.equal((await browser.get(link)).statusCode, 200)
    sandbox.passTime(60_000)
    t.equal((await browser.get(link)).statusCode, 400)

    await forget(sandbox)
    const second = await readLink(sandbox)
    const page = await browser.get(second)
    t.equal((await change(await openAsDeveloper(sandbox))).statusCode, 200)
    t.equal((await browser.get(second)).statusCode, 400)
    t.equal((await submitForm(browser, page, '/reset-password', { password })).statusCode, 400)
    t.equal(await tryPassword(sandbox, newPassword), 303)
  },
)

t.test(
  'after a password reset the same browser can sign in, however many wrong passwords strangers have entered before',
  async t => {
    const sandbox = await buildWithMailbox(t)
    for (let count = 0; count < 10; count += 1) await tryPassword(sandbox, 'wrong password')
    t.equal(await tryPassword(sandbox, password), 429)
    await forget(sandbox)
    const browser = openBrowser(sandbox)
    await submitForm(browser, await browser.get(await readLink(sandbox)), '/reset-password', { password: newPassword })
    const page = await browser.get('/account')
    t.equal((await submitForm(browser, page, '/sign-in', { email, password: newPassword })).statusCode, 303)
  },
)

t.test('if a reset link was requested during a login, the visitor can continue this login after the reset', async t => {
  const sandbox = await buildWithMailbox(t)
  const browser = openBrowser(sandbox)
  const start = await browser.get(startUrl())
  const link = /href="(\/forgot-password\?formToken=[^"]+)"/.exec(start.body)?.[1] ?? ''
  const form = await browser.get(link)
  t.match(form.body, 'Back to signing in to <bdi>Reference client</bdi>')
  const sent = await submitForm(browser, form, '/forgot-password', { email })
  await submitForm(openBrowser(sandbox), await browser.get(await readLink(sandbox)), '/reset-password', {
    password: newPassword,
  })
  const back =
    /href="([^"]+)">Back to signing in to <bdi>Reference client/.exec(sent.body)?.[1]?.replaceAll('&amp;', '&') ?? ''
  const signInPage = await browser.get(back)
  const answer = await browser.submit(signInPage, { email, password: newPassword })
  const consent = await browser.get(locationOf(answer))
  t.match((await browser.submit(consent, { decision: 'allow' })).headers.location, /[?&]state=a-state/)
})

t.test('PG-01: another site can neither request a reset link nor set a password', async t => {
  const sandbox = await buildWithMailbox(t)
  t.equal((await forget(sandbox, email, { 'sec-fetch-site': 'cross-site' })).statusCode, 403)
  t.strictSame(await readMailbox(sandbox), [])
  await forget(sandbox)
  const browser = openBrowser(sandbox)
  const fields = readHiddenFields(await browser.get(await readLink(sandbox)), '/reset-password')
  const foreign = { 'sec-fetch-site': 'same-site' }
  t.equal(
    (await browser.post('/reset-password', { ...fields, password: newPassword }, { headers: foreign })).statusCode,
    403,
  )
  t.equal(await tryPassword(sandbox, password), 303)
})

t.test(
  'if the sandbox has no laboratory, the page for forgotten passwords says that no mail is sent, and names an alternative',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const page = await openBrowser(sandbox).get('/forgot-password')
    t.match(page.body, 'This sandbox cannot send e-mail')
    t.match(page.body, 'LAB_PORT')
    t.throws(() => readHiddenFields(page, '/forgot-password'))
  },
)

t.test('the laboratory shows the portal’s mail on a page, and lists the mail of an address as JSON', async t => {
  const sandbox = await buildWithMailbox(t)
  await forget(sandbox)
  const headers = { host: '127.0.0.1:4002' }
  const [mail] = await readMailbox(sandbox)
  const page = await sandbox.lab!.inject({ url: '/mailbox', headers })
  t.match(page.body, `<a href="${mail?.links[0]}">`)
  const ask = (query: string) => sandbox.lab!.inject({ url: `/lab/v1/mailbox?${query}`, headers })
  t.equal((await ask('to=nobody@example.test')).json().mails.length, 0)
  t.equal((await ask(`to=${email}`)).json().mails.length, 1)
  t.equal((await ask('from=portal')).statusCode, 422)
  const stranger = await sandbox.lab!.inject({ url: '/lab/v1/mailbox', headers: { host: 'evil.example' } })
  t.equal(stranger.statusCode, 403)
})

t.test(
  'PG-04: the sign-out page names the signed-in user, and only the button on this page signs the user out',
  async t => {
    const sandbox = await buildTestSandbox(t)
    t.match((await openBrowser(sandbox).get('/sign-out')).body, 'You are not signed in')
    const browser = await openAsDeveloper(sandbox)
    const page = await browser.get('/sign-out')
    t.match(page.body, email)
    t.match((await browser.get('/account')).body, 'Your account')
    t.equal(locationOf(await submitForm(browser, page, '/sign-out')), '/signed-out')
    t.match((await browser.get('/account')).body, '<h1>Sign in</h1>')
  },
)

t.test(
  'on the consent page the visitor can choose another account, and the login continues with this account',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const browser = openBrowser(sandbox)
    const consent = await signIn(browser)
    t.match(consent.body, 'Use another account')
    const answer = await browser.submit(consent, { decision: 'another-account' })
    const page = await browser.get(locationOf(answer))
    t.match(page.body, 'to continue to <strong><bdi>Reference client')
    const fields = {
      email: 'other@example.test',
      password: newPassword,
      firstName: 'O',
      lastName: 'T',
      termsAccepted: 'on',
    }
    const other = await browser.get(locationOf(await submitForm(browser, page, '/sign-up', fields)))
    t.match(other.body, '<dt>Signed in as</dt><dd><span><strong>other@example.test')
    t.match((await browser.submit(other, { decision: 'allow' })).headers.location, /[?&]state=a-state/)
  },
)
