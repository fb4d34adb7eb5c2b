// Tests the account pages of the portal: sessions, tokens, allowed applications, and the forms that end them.
import { execFileSync } from 'node:child_process'
import { setImmediate } from 'node:timers/promises'
import type { LightMyRequestResponse } from 'fastify'
import { decodeJwt } from 'jose'
import { sql } from 'kysely'
import t from 'tap'
import { type Browser, exchange, locationOf, logIn, openBrowser, signIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, portalUrl, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, callAsStranger, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { addApplications } from '../support/fill-groups.ts'
import {
  askToWithdraw,
  newcomer,
  openAsDeveloper,
  openAsNewcomer,
  readHiddenFields,
  submitForm,
} from '../support/forms.ts'
import { holdLock } from '../support/hold-lock.ts'
import { refresh } from '../support/put-under-load.ts'

const databases = await openDatabases(t)
const paths = ['/account', '/account/groups', '/account/token', '/account/applications']
const actions = [
  '/account',
  '/account/groups',
  '/account/invitations',
  '/account/token',
  '/account/token/revoke',
  '/account/applications',
  '/account/applications/renew',
  '/account/applications/remove',
]

/** Returns the strings on the page that have a copy button. */
function readCopyable(body: string): string[] {
  const texts = [...body.matchAll(/<code[^>]* data-copy="[^"]*">(.*?)<\/code>/gs)].map(([, text = '']) => text)
  return texts
    .map(text => text.replace(/<[^>]+>/g, ''))
    .map(text => text.replaceAll('&#39;', "'").replaceAll('&quot;', '"').replaceAll('&amp;', '&'))
}

/** Runs the line that reads the token, and then the curl command, in a shell. Returns the parameters that curl gets. */
function readCurl({ readsToken, accessToken }: { readsToken: string; accessToken: string }, line: string): string[] {
  const script = `curl() { for word in "$@"; do printf '%s\\n' "$word"; done; }; ${readsToken}; ${line}`
  const input = `${accessToken}\n`
  return execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8', input }).trimEnd().split('\n')
}

/** Resolves when a statement waits for a lock in PostgreSQL. */
async function untilSomebodyWaits({ read }: TestSandbox['store']): Promise<void> {
  const isWaiting = sql`select 1 from pg_locks where not granted
    and (database is null or database = (select oid from pg_database where datname = current_database()))`
  while ((await isWaiting.execute(read)).rows.length === 0) await setImmediate()
}

async function listApplications({ api }: TestSandbox, accessToken: string) {
  return api.inject({ url: '/apps/v1', headers: { authorization: `Bearer ${accessToken}` } })
}

t.test(
  'if a visitor who is not signed in opens an account page, the portal shows the sign-in page, and then the account page; GET / redirects to the account',
  async t => {
    const sandbox = await buildTestSandbox(t)
    for (const path of paths) {
      const browser = openBrowser(sandbox)
      const page = await browser.get(path)
      t.equal(page.statusCode, 200)
      t.match(page.body, /<h1>Sign in<\/h1>/)
      const answer = await submitForm(browser, page, '/sign-in', { email: seeded.email, password: seeded.password })
      t.equal(answer.statusCode, 303)
      t.equal(locationOf(answer), path)
      t.match((await browser.get(path)).body, `aria-current="page"`)
    }
    const start = await openBrowser(sandbox).get('/?utm_source=mail')
    t.equal(start.statusCode, 303)
    t.equal(start.headers.location, '/account')
  },
)

t.test(
  'PS-01: the portal refuses an account form if another site sends it, or if the form’s own token is missing',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const browser = await openAsDeveloper(sandbox)
    const { formToken = '' } = readHiddenFields(await browser.get('/account/groups'), '/account/groups')
    for (const action of [...actions, '/sign-out']) {
      const foreign = await browser.post(
        action,
        { formToken, name: 'x' },
        { headers: { 'sec-fetch-site': 'cross-site' } },
      )
      t.equal(foreign.statusCode, 403, action)
    }
    for (const action of actions) {
      t.equal((await browser.post(action, { name: 'x' })).statusCode, 400, action)
      if (action !== '/account/groups')
        t.equal(
          (await browser.post(action, { formToken, name: 'x' })).statusCode,
          400,
          `${action}: a token of another form`,
        )
    }
    const newcomers = await openAsNewcomer(sandbox)
    const stolen = await newcomers.post('/account/groups', { formToken, name: 'x' })
    t.equal(stolen.statusCode, 400, 'a token of another user')
    t.equal((await browser.get('/account')).statusCode, 200, 'nobody was signed out')
  },
)

t.test(
  'PS-08, PS-10, PS-11: account pages cannot be framed or cached, run only the portal’s own scripts, and do not send a Referer to other sites',
  async t => {
    const browser = await openAsDeveloper(await buildTestSandbox(t))
    for (const path of paths) {
      const { headers } = await browser.get(path)
      t.match(headers, {
        'cache-control': 'no-store',
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'same-origin',
        'content-security-policy':
          "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      })
      t.equal(headers['set-cookie'], undefined)
    }
  },
)

t.test(
  'if an account form is sent after the session has ended, it changes nothing, and after signing in the visitor is back on the form’s page',
  async t => {
    const sandbox = await buildTestSandbox(t)
    for (const action of actions) {
      const browser = await openAsDeveloper(sandbox)
      const fields = readHiddenFields(await browser.get('/account/groups'), '/account/groups')
      browser.cookies.clear()
      const page = await browser.post(action, { ...fields, name: 'Too late' })
      t.equal(page.statusCode, 403)
      t.match(page.body, 'nothing was changed')
      const answer = await submitForm(browser, page, '/sign-in', { email: seeded.email, password: seeded.password })
      t.equal(locationOf(answer), action)
      const back = await browser.get(action)
      t.equal((back.statusCode === 303 ? await browser.get(locationOf(back)) : back).statusCode, 200)
    }
    const groups = await (await openAsDeveloper(sandbox)).get('/account/groups')
    t.notMatch(groups.body, 'Too late')
  },
)

t.test('PS-14: signing out deletes the cookie, and also ends the session in the store', async t => {
  const browser = await openAsDeveloper(await buildTestSandbox(t))
  const name = '__Host-portal-session'
  const value = browser.cookie(name) ?? ''
  t.match(value, /^[\w-]+$/)
  const answer = await submitForm(browser, await browser.get('/account'), '/sign-out')
  t.equal(answer.statusCode, 303)
  t.equal(locationOf(answer), '/signed-out')
  t.match((await browser.get('/signed-out')).body, 'You are signed out')
  t.equal(browser.cookies.has(name), false)
  browser.cookies.set(name, { value })
  t.match((await browser.get('/account')).body, /<h1>Sign in<\/h1>/)
})

t.test('PS-14: if a person who is signed in opens /signed-out, the portal asks whether to sign out', async t => {
  const browser = await openAsDeveloper(await buildTestSandbox(t))
  t.equal(locationOf(await browser.get('/signed-out')), '/sign-out')
  t.match((await browser.get('/sign-out')).body, '<h1>Sign out?</h1>')
})

t.test('PS-14: a portal session ends an hour after its last use', async t => {
  const sandbox = await buildTestSandbox(t)
  const browser = await openAsDeveloper(sandbox)
  sandbox.passTime(59 * 60_000)
  t.match((await browser.get('/account')).body, /<h1>Your account<\/h1>/)
  // The portal answers before it has stored the new end of the session.
  await setImmediate()
  sandbox.passTime(59 * 60_000)
  t.match(
    (await browser.get(startUrl())).body,
    /wants to sign you in/,
    'a login request must count as a use of the session',
  )
  await setImmediate()
  sandbox.passTime(60 * 60_000)
  t.match((await browser.get('/account')).body, /<h1>Sign in<\/h1>/)
})

t.test('PS-14: a portal session ends after eight hours, even if it is used all the time', async t => {
  const sandbox = await buildTestSandbox(t)
  const browser = await openAsDeveloper(sandbox)
  for (let minutes = 0; minutes < 7 * 60 + 30; minutes += 30) {
    t.match((await browser.get('/account')).body, /<h1>Your account<\/h1>/, `after ${minutes} minutes`)
    await setImmediate()
    sandbox.passTime(30 * 60_000)
  }
  t.match((await browser.get('/account')).body, /<h1>Your account<\/h1>/)
  sandbox.passTime(30 * 60_000)
  t.match((await browser.get('/account')).body, /<h1>Sign in<\/h1>/)
})

t.test(
  'if the user is in no group, the token page links to the form for a new group, and does not show the example command that creates an application',
  async t => {
    const browser = await openAsNewcomer(await buildTestSandbox(t))
    const page = await browser.get('/account/token')
    t.match(page.body, '<a href="/account/groups">Create a group</a>')
    const shown = await submitForm(browser, page, '/account/token')
    t.equal(shown.statusCode, 200)
    t.equal(
      readCopyable(shown.body).length,
      3,
      'the token, the line that reads the token, and the command that lists applications',
    )
  },
)

t.test('each account page marks exactly one tab as the current tab', async t => {
  const browser = await openAsDeveloper(await buildTestSandbox(t))
  for (const [path, tab] of [
    ['/account', '/account'],
    ['/account/password', '/account'],
    ['/account/sign-out-everywhere', '/account'],
    ['/account/groups', '/account/groups'],
    ['/account/token', '/account/token'],
    ['/account/applications', '/account/applications'],
  ] as const) {
    const { body } = await browser.get(path)
    const current = [...body.matchAll(/<a href="([^"]+)" aria-current=/g)].map(([, href]) => href)
    t.strictSame(current, [tab], path)
  }
})

for (const database of databases) {
  t.test(
    `portal-token: the portal’s token page shows a new token once, with an example command that creates an application; the token is valid for 24 hours (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const browser = await openAsNewcomer(sandbox)
      await submitForm(browser, await browser.get('/account/groups'), '/account/groups', { name: 'Weather' })
      const page = await browser.get('/account/token')
      t.strictSame(readCopyable(page.body), [], 'the page must show no token before the button is pressed')
      const shown = await submitForm(browser, page, '/account/token')
      t.equal(shown.statusCode, 200)
      t.equal(shown.headers['cache-control'], 'no-store')
      const [accessToken = '', readsToken = '', list = '', create = ''] = readCopyable(shown.body)
      t.equal(shown.body.split(accessToken).length - 1, 1, 'the page has the token once')
      t.match(shown.body, `data-copy="access token">${accessToken}<`, 'a button must copy only the token')
      const terminal = { readsToken, accessToken }
      const { type, aud, iat = 0, exp = 0 } = decodeJwt(accessToken)
      t.match({ type, aud, lifetime: exp - iat }, { type: 'User', aud: portalUrl, lifetime: 86_400 })

      t.strictSame(readCurl(terminal, list), [
        '-sS',
        `${sandbox.config.apiUrl}/apps/v1`,
        '-H',
        `Authorization: Bearer ${accessToken}`,
      ])
      const [, url, , authorization = '', , contentType = '', , ...payload] = readCurl(terminal, create)
      t.equal(url, `${sandbox.config.apiUrl}/apps/v1`)
      const headers = Object.fromEntries([authorization, contentType].map(header => header.split(': ')))
      const created = await sandbox.api.inject({
        method: 'POST',
        url: '/apps/v1',
        headers,
        payload: payload.join('\n'),
      })
      t.equal(created.statusCode, 201)
      t.match((await listApplications(sandbox, accessToken)).json(), {
        ItemList: [{ data: { name: 'My first application' } }],
      })

      const again = await submitForm(browser, page, '/account/token')
      t.equal(again.statusCode, 409)
      t.strictSame(again.body.match(/data-copy="[^"]*"/g), ['data-copy="request ID"'])
      t.match(again.body, 'Create another token')
      t.notMatch(sandbox.logLines.join(''), accessToken.split('.')[2] ?? accessToken)
      sandbox.passTime(86_400_000 + 61_000)
      t.equal((await listApplications(sandbox, accessToken)).statusCode, 401)
    },
  )

  t.test(
    `F-30: if the database is locked, the account page is still shown immediately, and a form gets a 503 answer after 2 s (${database.name})`,
    async t => {
      const databaseUrl = await database.make(t)
      const sandbox = await buildTestSandbox(t, { databaseUrl })
      const browser = await openAsDeveloper(sandbox)
      const page = await browser.get('/account/groups')
      const unlock = await holdLock(t, databaseUrl)
      sandbox.passTime(5 * 60_000)
      let startedAt = performance.now()
      t.equal((await browser.get('/account')).statusCode, 200)
      t.ok(performance.now() - startedAt < 500, 'reading does not wait for the lock')
      startedAt = performance.now()
      const refused = await submitForm(browser, page, '/account/groups', { name: 'Weather' })
      t.ok(performance.now() - startedAt < 2800, 'a form must wait only once for the lock')
      t.equal(refused.statusCode, 503)
      t.match(sandbox.logLines.join(''), /"code":"session-not-extended","fault":"busy"/)
      t.match(refused.headers['retry-after'], /^\d+$/)
      await unlock()
      t.equal((await submitForm(browser, page, '/account/groups', { name: 'Weather' })).statusCode, 303)
    },
  )

  t.test(
    `a user can revoke one access token or all access tokens on the token page; the portal first asks for confirmation (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const [own, other] = [await openAsDeveloper(sandbox), await openAsNewcomer(sandbox)]
      const make = async (browser: Browser) => {
        sandbox.passTime(60_000)
        const shown = await submitForm(browser, await browser.get('/account/token'), '/account/token')
        return /data-copy="access token">([^<]+)</.exec(shown.body)?.[1] ?? ''
      }
      const tokens = [await make(own), await make(own), await make(own), await make(other)]
      const statuses = async () =>
        Promise.all(tokens.map(async token => (await listApplications(sandbox, token)).statusCode))
      const listEnds = async (browser: Browser) =>
        [
          ...(await browser.get('/account/token')).body.matchAll(/href="(\/account\/token\/[0-9a-f-]{36}\/revoke)"/g),
        ].map(([, path = '']) => path)
      const [newest = '', middle = '', oldest] = await listEnds(own)
      t.ok(oldest, 'three tokens must be listed')
      t.equal((await own.get(newest)).statusCode, 200)
      t.strictSame(await statuses(), [200, 200, 200, 200], 'the page that asks for confirmation must not end anything')

      const question = await own.get(middle)
      t.match(question.body, '<h1>Revoke this access token?</h1>')
      const ended = await submitForm(own, question, '/account/token/revoke')
      t.match((await own.get(locationOf(ended))).body, 'role="status">The access token has been revoked.')
      t.strictSame(await statuses(), [200, 401, 200, 200])
      t.equal((await listEnds(own)).length, 2)
      t.equal(locationOf(await own.get(middle)), '/account/token', 'the page of a revoked token must lead to the list')

      const [foreign = ''] = await listEnds(other)
      t.equal(
        locationOf(await own.get(foreign)),
        '/account/token',
        'the page of another user’s token must lead to the list',
      )
      const fields = readHiddenFields(await own.get(newest), '/account/token/revoke')
      for (const tokenId of [foreign.split('/')[3] ?? '', 'nul\0', ''])
        t.equal((await own.post('/account/token/revoke', { ...fields, tokenId })).statusCode, 303)
      t.strictSame(await statuses(), [200, 401, 200, 200], 'the token of another user must stay valid')

      t.equal(
        locationOf(await own.get('/account/token/revoke')),
        '/account/token',
        'if the session has ended before the form was sent, signing in must not lead to the question about all tokens',
      )
      const all = await own.get('/account/token/revoke-all')
      t.match(all.body, '<h1>Revoke all 2 of your access tokens?</h1>')
      const none = await own.get(locationOf(await submitForm(own, all, '/account/token/revoke')))
      t.match(none.body, 'All your access tokens have been revoked.')
      const revocations = sandbox.logLines.filter(line => line.includes('"code":"portal-tokens-revoked"'))
      t.ok(revocations.length >= 2, 'the log names the revocations of one token and of all tokens')
      t.match(none.body, 'You have no valid access tokens.')
      t.strictSame(await statuses(), [401, 401, 401, 200])
      t.equal(
        locationOf(await own.get('/account/token/revoke-all')),
        '/account/token',
        'without a valid token the page must lead to the list',
      )
    },
  )

  t.test(
    `a user can name an access token, and the list of tokens shows the name and the last characters of each token (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const browser = await openAsDeveloper(sandbox)
      const make = async (name: string) =>
        submitForm(browser, await browser.get('/account/token'), '/account/token', { name })
      const tooLong = await make('ü'.repeat(61))
      t.equal(tooLong.statusCode, 422)
      t.match(tooLong.body, 'Use 60 characters or fewer.')
      t.match(tooLong.body, `value="${'ü'.repeat(61)}"`, 'the name that was typed must stay in the form')
      t.equal((await make('a\0b')).statusCode, 422)
      t.match((await browser.get('/account/token')).body, 'You have no valid access tokens.')

      const named = /data-copy="access token">([^<]+)</.exec((await make(' Back up & <restore> ')).body)?.[1] ?? ''
      const { body } = await browser.get('/account/token')
      t.match(
        body,
        `<bdi>Back up &amp; &lt;restore&gt;</bdi></strong> <span class="soft">last characters <code>${named.slice(-4)}<`,
      )
      t.notMatch(body, named.slice(-5), 'the list must show no more than the last four characters')
      const [, ask = ''] = /href="(\/account\/token\/[0-9a-f-]{36}\/revoke)"/.exec(body) ?? []
      t.match((await browser.get(ask)).body, 'Back up &amp; &lt;restore&gt;')

      t.equal((await make('')).statusCode, 200)
      t.match((await browser.get('/account/token')).body, '<bdi>Access token</bdi>')
    },
  )

  t.test(
    `the account page lists the user’s own groups, applications, sessions and tokens, and no others (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const browser = openBrowser(sandbox)
      await browser.submit(await signIn(browser), { decision: 'allow' })
      for (const name of ['One', 'Two', 'Three', 'Four', 'Five', '<b>Six']) {
        sandbox.passTime(1000)
        await submitForm(browser, await browser.get('/account/groups'), '/account/groups', { name })
      }
      for (const _ of [1, 2]) await submitForm(browser, await browser.get('/account/token'), '/account/token')
      const { body } = await browser.get('/account')
      t.match(body, /href="\/account\/groups\/[0-9a-f-]{36}"><bdi>Two</)
      t.notMatch(body, 'Six', 'the page must show five entries of each kind')
      t.match(body, /All \d groups/)
      t.match(body, '<bdi>Reference client</bdi></li>')
      t.match(body, '2 valid access tokens for the application API')
      t.match(body, 'href="/account/password">Change<span class="unseen"> your password</span></a>')

      const other = (await (await openAsNewcomer(sandbox)).get('/account')).body
      t.match(other, 'You are not in a group yet.')
      t.match(other, 'No application has access to your account.')
      t.match(other, 'You have no valid access token for the application API.')
      t.equal(other.match(/Signed in <time/g)?.length, 1)
      sandbox.passTime(9 * 3_600_000)
      const later = (await (await openAsDeveloper(sandbox)).get('/account')).body
      t.equal(later.match(/Signed in <time/g)?.length, 1, 'the earlier session has ended')
    },
  )

  t.test(`if the user withdraws consent during a login, the client does not get tokens (${database.name})`, async t => {
    const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
    const { store } = sandbox
    const browser = openBrowser(sandbox)
    const withdraw = async () => submitForm(browser, await askToWithdraw(browser), '/account/applications')
    const allow = async () => browser.submit(await browser.get(startUrl()), { decision: 'allow' })
    const { write, transaction } = store
    t.teardown(() => Object.assign(store, { write, transaction }))
    const script = new URLSearchParams([...new URL(startUrl(), portalUrl).searchParams])
    for (const name of ['email', 'password'] as const) script.set(name, seeded[name])
    const logins = {
      'a browser': () => browser.get(startUrl()),
      'a script': () =>
        sandbox.portal.inject({
          method: 'POST',
          url: '/api/authorize',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          payload: script.toString(),
        }),
    }
    await signIn(browser, {}, seeded)
    for (const [who, start] of Object.entries(logins)) {
      await allow()
      // This function runs when the portal has read the consent, but has not yet stored the authorization code.
      const first = async () => {
        Object.assign(store, { write, transaction })
        await withdraw()
      }
      store.write = async statement => first().then(() => write(statement))
      store.transaction = async work => first().then(() => transaction(work))
      const answer = await start()
      t.notMatch(`${answer.headers.location} ${answer.body}`, /[?&]code=/, who)
      t.equal(answer.statusCode, who === 'a script' ? 403 : 200, 'the portal must ask for consent again')

      await allow()
      // The authorization code is stored, but its transaction has not ended yet. The withdrawal must wait for this
      // transaction.
      let withdrawal: Promise<unknown> | undefined
      store.transaction = work =>
        transaction(async db => {
          const result = await work(db)
          if (!withdrawal) {
            store.transaction = transaction
            withdrawal = withdraw()
            if (database.name === 'PostgreSQL') await untilSomebodyWaits(store)
          }
          return result
        })
      const { headers, body } = await start()
      await withdrawal
      const code = /[?&]code=(\w+)/.exec(headers.location ?? JSON.parse(body).redirectUrl)?.[1] ?? ''
      t.match((await exchange(sandbox, { code })).json(), { error: 'invalid_grant' }, who)
    }
  })

  t.test(
    `the page of allowed applications shows at most a hundred applications, and says if there are more (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { groupId, userId } = await callAsDeveloper(sandbox)
      const fields = { description: 'd'.repeat(2000) }
      const ids = await addApplications(sandbox, { groupId, userId, count: 100, fields })
      const consents = ids.map((application_id, created_at) => ({ user_id: userId, application_id, created_at }))
      await sandbox.store.write(db => db.insertInto('consents').values(consents).execute())
      const browser = await openAsDeveloper(sandbox)
      const read = async (address: string) => {
        const { body } = await browser.get(address)
        return [
          [...body.matchAll(/\/withdraw">Withdraw access</g)].length,
          /You have allowed more/.test(body),
          /role="status"/.test(body),
        ]
      }
      t.strictSame(await read('/account/applications'), [100, true, false])
      t.equal((await submitForm(browser, await askToWithdraw(browser), '/account/applications')).statusCode, 303)
      t.strictSame(await read('/account/applications'), [100, false, true])
    },
  )

  t.test(
    `if a user withdraws consent, this user’s grants to the application end immediately, and the next login asks for consent again (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const [browser, others] = [openBrowser(sandbox), openBrowser(sandbox)]
      const codes: string[] = []
      for (const [who, fields] of [
        [browser, seeded],
        [others, newcomer],
      ] as const) {
        if (who === others) await openAsNewcomer(sandbox)
        const consent = await signIn(who, {}, fields)
        const answer = await who.submit(consent, { decision: 'allow' })
        codes.push(new URL(locationOf(answer)).searchParams.get('code') ?? '')
      }
      const [tokens, otherTokens] = [
        (await exchange(sandbox, { code: codes[0] })).json(),
        (await exchange(sandbox, { code: codes[1] })).json(),
      ]
      const pending = new URL(locationOf(await browser.get(startUrl()))).searchParams.get('code') ?? ''

      const page = await browser.get('/account/applications')
      t.match(page.body, 'Reference client')
      const question = await askToWithdraw(browser)
      t.match(question.body, /<h1>Withdraw access from “<bdi class="whole-name">Reference client<\/bdi>”\?</)
      t.equal(
        (await listApplications(sandbox, tokens.access_token)).statusCode,
        200,
        'the page that asks for confirmation must not change anything',
      )
      const elsewhere = await (await openAsNewcomer(sandbox, { ...newcomer, email: 'third@example.test' })).get(
        `/account/applications/${seeded.clientId}/withdraw`,
      )
      t.equal(locationOf(elsewhere), '/account/applications', 'without consent the page must lead to the list')
      const answer = await submitForm(browser, question, '/account/applications')
      t.equal(answer.statusCode, 303)
      const after = await browser.get(locationOf(answer))
      t.match(after.body, /role="status"><strong><bdi>Reference client/)
      t.match(after.body, 'No application has access to your account.')

      t.equal((await listApplications(sandbox, tokens.access_token)).statusCode, 401)
      const refreshed = await exchange(sandbox, {
        grant_type: 'refresh_token',
        refresh_token: tokens.refresh_token,
        redirect_uri: undefined,
        state: undefined,
      })
      t.match(refreshed.json(), { error: 'invalid_grant' })
      t.match(
        (await exchange(sandbox, { code: pending })).json(),
        { error: 'invalid_grant' },
        'an unused code must become invalid',
      )
      t.match((await browser.get(startUrl())).body, /wants to sign you in/)

      t.equal(
        (await listApplications(sandbox, otherTokens.access_token)).statusCode,
        200,
        'other users must not be affected',
      )
      t.equal((await others.get(startUrl())).statusCode, 303)
    },
  )
}

t.test(
  'after a user has withdrawn consent, the portal shows a message once; a forged address cannot show this message',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const browser = openBrowser(sandbox)
    await browser.submit(await signIn(browser), { decision: 'allow' })
    for (const withdrawn of [seeded.clientId, 'nobody', '%00', 'a%00', '<b>'])
      t.notMatch((await browser.get(`/account/applications?withdrawn=${withdrawn}`)).body, 'role="status"', withdrawn)
    const answer = await submitForm(browser, await askToWithdraw(browser), '/account/applications', {
      clientId: "nul\0'",
    })
    t.equal(answer.statusCode, 303)
    const unchanged = await browser.get(locationOf(answer))
    t.match(unchanged.body, 'Reference client', 'the consent must not be withdrawn')
    t.notMatch(unchanged.body, 'role="status"')

    const stranger = await callAsStranger(sandbox)
    const group = { context: 'https://example.test/', type: 'Group', data: { name: 'Others' } }
    const { '@id': groupId } = (await stranger.call('POST', '/identities/v1', group)).json()
    const others = (await stranger.call('POST', '/apps/v1', makeCreateBody(groupId, { name: 'Of a stranger' }))).json()
    const guessed = await submitForm(browser, await askToWithdraw(browser), '/account/applications', {
      clientId: others['@id'],
    })
    t.equal(guessed.statusCode, 303)
    t.notMatch(
      (await browser.get(locationOf(guessed))).body,
      /role="status"|Of a stranger/,
      'the portal must not show the name of an application that the visitor has never allowed',
    )

    const withdrawn = await submitForm(browser, await askToWithdraw(browser), '/account/applications')
    t.equal(locationOf(withdrawn), '/account/applications')
    t.match((await browser.get('/account/applications')).body, /role="status"><strong><bdi>Reference client/)
    t.notMatch((await browser.get('/account/applications')).body, 'role="status"', 'after a reload')
    t.notMatch((await browser.get(`/account/applications?withdrawn=${seeded.clientId}`)).body, 'role="status"')
  },
)

t.test(
  'if the laboratory resets a user while the portal stores a code for this user, each of the two succeeds or is refused, and neither fails (PostgreSQL)',
  async t => {
    const [, postgres] = databases
    const sandbox = await buildTestSandbox(t, { databaseUrl: await postgres!.make(t) })
    const { store } = sandbox
    for (const what of ['a login', 'a consent']) {
      const browser = openBrowser(sandbox)
      const page = await signIn(browser)
      const elsewhere = openBrowser(sandbox)
      await elsewhere.submit(await signIn(elsewhere), { decision: 'allow' })
      const { answer } = await store.transaction(async db => {
        // A reset ends the sessions first, and then the consents.
        await db.deleteFrom('portal_sessions').execute()
        const answer = what === 'a login' ? browser.get(startUrl()) : browser.submit(page, { decision: 'allow' })
        await untilSomebodyWaits(store)
        await db.deleteFrom('consents').execute()
        return { answer }
      })
      t.ok((await answer).statusCode < 500, what)
    }
  },
)

for (const database of databases) {
  t.test(
    `RF-12: if a user signs out everywhere, all sessions, refresh tokens and access tokens of the user become invalid (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const tokens = (await exchange(sandbox, { code: (await logIn(sandbox)).get('code') ?? '' })).json()
      const [browser, elsewhere] = [await openAsDeveloper(sandbox), await openAsDeveloper(sandbox)]
      const other = await openAsNewcomer(sandbox)
      const overview = (await browser.get('/account')).body
      t.equal(overview.match(/<li><span>This browser<\/span> <span class="soft">Signed in <time/g)?.length, 1)
      t.equal(
        overview.match(/<li><span>Another browser<\/span> <span class="soft">Signed in <time/g)?.length,
        2,
        'the page must count only browsers of this user',
      )
      const question = await browser.get('/account/sign-out-everywhere')
      t.match(question.body, '<h1>Sign out everywhere?</h1>')
      t.match(
        (await elsewhere.get('/account')).body,
        '<h1>Your account</h1>',
        'the page that asks for confirmation must not end anything',
      )
      const answer = await submitForm(browser, question, '/account')
      t.equal(locationOf(answer), '/signed-out')
      const page = await browser.get('/signed-out')
      t.match(page.body, 'You are signed out everywhere')
      t.match(page.body, 'The applications that you signed in to can no longer act as you')
      t.notMatch(page.body, 'may still be signed in')
      t.notMatch((await browser.get('/signed-out')).body, 'everywhere', 'the message must be shown once')
      for (const one of [browser, elsewhere]) t.match((await one.get('/account')).body, '<h1>Sign in</h1>')
      t.match((await other.get('/account')).body, '<h1>Your account</h1>', 'other users must stay signed in')
      const refused = await refresh(sandbox, tokens.refresh_token)
      t.equal(refused.statusCode, 401)
      t.equal(refused.json().error, 'invalid_grant')
      t.equal((await listApplications(sandbox, tokens.access_token)).statusCode, 401)
    },
  )

  t.test(
    `RF-12: if a user signs out everywhere or changes the password, a login that begins at the same moment also fails (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { store } = sandbox
      const { transaction } = store
      t.teardown(() => Object.assign(store, { transaction }))
      let password = seeded.password
      const open = async () => {
        const browser = openBrowser(sandbox)
        await signIn(browser, {}, { ...seeded, password })
        return browser
      }
      const allow = async (browser: Browser) => {
        const page = await browser.get(startUrl())
        return page.statusCode === 303 ? page : browser.submit(page, { decision: 'allow' })
      }
      const signOutEverywhere = async (browser: Browser) =>
        submitForm(browser, await browser.get('/account/sign-out-everywhere'), '/account')
      const changePassword = async (browser: Browser) => {
        const [present, newPassword] = [password, `${password} again`]
        password = newPassword
        const page = await browser.get('/account/password')
        return submitForm(browser, page, '/account/password', { password: present, newPassword })
      }
      const submitToken = async (browser: Browser) =>
        submitForm(browser, await browser.get('/account/token'), '/account/token')
      const submitPassword = async () => {
        const browser = openBrowser(sandbox)
        return browser.submit(await browser.get(startUrl()), { ...seeded, password })
      }
      const callWithPassword = async () => {
        const fields = new URL(startUrl(), portalUrl).searchParams
        for (const [name, value] of Object.entries({ email: seeded.email, password })) fields.set(name, value)
        const headers = { 'content-type': 'application/x-www-form-urlencoded' }
        return sandbox.portal.inject({ method: 'POST', url: '/api/authorize', headers, payload: fields.toString() })
      }
      const cases: [string, (browser: Browser) => Promise<LightMyRequestResponse>, typeof signOutEverywhere][] = [
        ['a login', browser => browser.get(startUrl()), signOutEverywhere],
        ['a consent', allow, signOutEverywhere],
        ['a token of the portal’s page', submitToken, signOutEverywhere],
        ['signing in', submitPassword, changePassword],
        ['a script’s login', callWithPassword, changePassword],
      ]
      for (const [what, begin, end] of cases) {
        const [here, elsewhere] = [await open(), await open()]
        if (what === 'a consent') await store.write(db => db.deleteFrom('consents').execute())
        else await allow(elsewhere)
        // This function runs when the portal has read everything, but has not yet written anything.
        store.transaction = async work => {
          store.transaction = transaction
          t.match((await end(elsewhere)).statusCode, /200|303/)
          return transaction(work)
        }
        const answer = await begin(here)
        t.equal(answer.statusCode, 403, what)
        t.notMatch(`${answer.headers.location} ${answer.body}`, /[?&]code=|Bearer [\w-]+\./, what)
        t.equal(answer.cookies.length, 0, what)
        if (begin !== callWithPassword)
          t.match(answer.body, /in the meantime\. Sign in again|password is incorrect/, what)
      }

      /**
       * Sends a request before the next transaction ends, when the rows of this transaction are already written. The
       * request must wait for the end of the transaction.
       */
      const beginDuringTransaction = (send: () => Promise<LightMyRequestResponse>) =>
        new Promise<LightMyRequestResponse>((resolve, reject) => {
          store.transaction = work =>
            transaction(async db => {
              const result = await work(db)
              store.transaction = transaction
              send().then(resolve, reject)
              if (database.name === 'PostgreSQL') await untilSomebodyWaits(store)
              return result
            })
        })
      for (const end of [signOutEverywhere, changePassword]) {
        const [here, elsewhere] = [await open(), await open()]
        await allow(here)
        const ended = beginDuringTransaction(() => end(elsewhere))
        const code = new URL(locationOf(await here.get(startUrl()))).searchParams.get('code') ?? ''
        t.match((await ended).statusCode, /200|303/)
        t.match((await exchange(sandbox, { code })).json(), { error: 'invalid_grant' })
      }

      // The same for a sign-in: its session is stored, but its transaction has not ended yet.
      const [here, elsewhere] = [openBrowser(sandbox), await open()]
      const form = await here.get(startUrl())
      const ended = beginDuringTransaction(() => signOutEverywhere(elsewhere))
      await here.submit(form, { ...seeded, password })
      await ended
      t.match((await here.get('/account')).body, '<h1>Sign in</h1>')
    },
  )

  t.test(
    `RF-12: if the settings contain a new seeded password at a restart, sessions and tokens from the old password become invalid (${database.name})`,
    async t => {
      const databaseUrl = await database.make(t)
      const before = await buildTestSandbox(t, { databaseUrl })
      const tokens = (await exchange(before, { code: (await logIn(before)).get('code') ?? '' })).json()
      const earlier = await openAsDeveloper(before)
      await before.close()
      const unchanged = await buildTestSandbox(t, { databaseUrl })
      const { refresh_token: refreshToken } = (await refresh(unchanged, tokens.refresh_token)).json()
      t.type(refreshToken, 'string', 'a restart with the same password must not end anything')
      await unchanged.close()
      const after = await buildTestSandbox(t, { databaseUrl, password: 'another correct horse' })
      t.equal((await refresh(after, refreshToken)).json().error, 'invalid_grant')
      const browser = earlier.copy(after.portal)
      t.match((await browser.get('/account')).body, '<h1>Sign in</h1>')
    },
  )
}
