// Too many wrong passwords lock an account or a network address for a while. These tests check which browsers are
// locked out, and how the portal counts senders.
import t, { type Test } from 'tap'
import { setPasswordHash } from '../../../src/sandbox/store/users.ts'
import { type Browser, openBrowser, startUrl } from '../support/browser.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { openDatabases } from '../support/each-database.ts'
import { newcomer, openAsDeveloper, openAsNewcomer, submitForm } from '../support/forms.ts'

const { email, password } = seeded
const quarterMs = 15 * 60_000

/** Tries to sign in from a browser without a session. Returns the status of the answer. */
async function attempt(browser: Browser, fields = { email, password }, headers = {}): Promise<number> {
  browser.cookies.delete('__Host-portal-session')
  const page = await browser.get('/account')
  const hidden = /name="formToken" value="([^"]+)"/.exec(page.body)?.[1] ?? ''
  return (await browser.post('/sign-in', { ...fields, formToken: hidden }, { headers })).statusCode
}

/** Sends eleven wrong passwords from an unknown browser. After that, no unknown browser can sign in to the account. */
async function lockOut(t: Test, sandbox: TestSandbox): Promise<void> {
  const stranger = openBrowser(sandbox)
  for (let count = 0; count < 10; count += 1) t.equal(await attempt(stranger, { email, password: 'wrong' }), 403)
  t.equal(await attempt(stranger), 429)
}

for (const database of await openDatabases(t))
  t.test(
    `PS-06: if strangers enter wrong passwords, a browser that has signed in before is not locked out (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const [own, other] = [await openAsDeveloper(sandbox), await openAsNewcomer(sandbox)]
      await lockOut(t, sandbox)
      t.equal(await attempt(own), 303)
      t.equal(await attempt(other), 429, 'a browser that is known for another account must not count as known')
      t.equal(await attempt(other, newcomer), 303, 'a browser that has signed up must be known')
    },
  )

t.test(
  'PS-06: the first ten wrong passwords from a known browser count only for this browser; later ones count like wrong passwords from an unknown browser',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const [own, stranger] = [await openAsDeveloper(sandbox), openBrowser(sandbox)]
    const fail = (browser: Browser) => attempt(browser, { email, password: 'wrong' })
    for (let count = 0; count < 10; count += 1) t.equal(await fail(own), 403)
    for (let count = 0; count < 9; count += 1)
      t.equal(await fail(stranger), 403, 'failures from a known browser must not count for other browsers')
    t.equal(await fail(own), 403, 'the eleventh failure must count for other browsers')
    t.equal(await attempt(stranger), 429)
    t.equal(await attempt(own), 429)
    sandbox.passTime(quarterMs)
    t.equal(await attempt(own), 303)
  },
)

t.test(
  'PS-06: if a known browser sends many passwords at the same time, the portal checks only about ten of them',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const own = await openAsDeveloper(sandbox)
    const statuses = await Promise.all(
      Array.from({ length: 45 }, (_, index) => {
        const browser = openBrowser(sandbox)
        browser.cookies.set('__Host-portal-known', { value: own.cookie('__Host-portal-known') ?? '' })
        return attempt(browser, { email, password: index === 44 ? password : `wrong ${index}` })
      }),
    )
    t.ok(statuses.filter(status => status === 403).length <= 24, statuses.join())
    t.notOk(statuses.includes(303))
  },
)

t.test(
  'PS-06: the cookie of a known browser is valid for 180 days or until the password changes, and a forged cookie is never valid',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const own = await openAsDeveloper(sandbox)
    const known = own.cookie('__Host-portal-known') ?? ''
    t.notMatch(Buffer.from(known, 'base64url').toString(), email, 'the cookie must not contain the e-mail address')
    await lockOut(t, sandbox)
    own.cookies.set('__Host-portal-known', { value: `${known.slice(0, -1)}${known.endsWith('A') ? 'B' : 'A'}` })
    t.equal(await attempt(own), 429)
    own.cookies.set('__Host-portal-known', { value: known })
    t.equal(await attempt(own), 303)
    const { userId } = await sandbox.store.read
      .selectFrom('users')
      .select('id as userId')
      .where('email', '=', email)
      .executeTakeFirstOrThrow()
    const passwordHash = await sandbox.store.read.selectFrom('users').select('password_hash as hash').executeTakeFirst()
    // With a new salt, the same password has a new hash. The mark depends on the hash, so the mark is no longer valid.
    await sandbox.store.write(db => setPasswordHash(db, userId, passwordHash?.hash.replace(/.\$/, 'A$') ?? ''))
    t.equal(await attempt(own), 429)
  },
)

t.test(
  'PS-06: the mark of a known browser is a cookie that scripts cannot read and other hosts cannot set',
  async t => {
    const browser = openBrowser(await buildTestSandbox(t))
    const answer = await submitForm(browser, await browser.get('/account'), '/sign-in', { email, password })
    const cookie = answer.cookies.find(({ name }) => name === '__Host-portal-known')
    t.match(cookie, { secure: true, httpOnly: true, sameSite: 'Lax', path: '/', maxAge: 180 * 86_400 })
    t.equal(cookie?.domain, undefined)
  },
)

t.test(
  'PS-06: wrong passwords count for 15 minutes from the first one, and later wrong passwords do not extend this time',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const browser = openBrowser(sandbox)
    const fail = () => attempt(browser, { email, password: 'wrong' })
    t.equal(await fail(), 403)
    sandbox.passTime(quarterMs - 1000)
    for (let count = 0; count < 9; count += 1) t.equal(await fail(), 403)
    t.equal(await attempt(browser), 429)
    sandbox.passTime(1000)
    t.equal(await attempt(browser), 303, '15 minutes after the first failure')
  },
)

t.test('PS-06: behind a trusted proxy, the sender is the rightmost address that is not a trusted proxy', async t => {
  const sandbox = await buildTestSandbox(t, { trustedProxies: ['127.0.0.1', '10.9.0.0/16', '2001:db8:ffff::/48'] })
  const browser = openBrowser(sandbox)
  let count = 0
  const fail = (forwarded: string) => {
    count += 1
    return attempt(
      browser,
      { email: `${count}@example.test`, password: 'wrong' },
      { 'x-forwarded-for': forwarded, forwarded: `for=192.0.2.${count}`, 'x-real-ip': `192.0.2.${count}` },
    )
  }
  // Send 100 failures from one sender. The headers differ each time, but the sender stays the same.
  for (let index = 0; index < 20; index += 1) {
    const spoofed = `198.51.100.${index}`
    const same = ['203.0.113.7', `${spoofed}, 203.0.113.7`, `${spoofed},203.0.113.7,10.9.0.${index}`]
    for (const forwarded of [...same, '::ffff:203.0.113.7', `unknown, 203.0.113.7, 2001:db8:ffff::${index}`])
      t.equal(await fail(forwarded), 403, forwarded)
  }
  t.equal(await fail('203.0.113.7'), 429)
  t.equal(await fail('198.51.100.1, 203.0.113.7'), 429)
  t.equal(await fail('203.0.113.8'), 403, 'another address must not be locked')
  t.equal(await fail('203.0.113.7, 203.0.113.8'), 403)
})

t.test(
  'PS-06: the portal counts an IPv6 sender by its /64 network, and ignores X-Forwarded-For if the sender is not a trusted proxy',
  async t => {
    const sandbox = await buildTestSandbox(t, { trustedProxies: ['10.0.0.1'] })
    let count = 0
    const fail = async (remoteAddress: string, forwarded?: string) => {
      count += 1
      const fields = { grant_type: 'refresh_token', refresh_token: 'x', client_id: `c${count}`, client_secret: 'wrong' }
      const headers = forwarded ? { 'x-forwarded-for': forwarded } : {}
      const call = { method: 'POST', url: '/api/exchangeToken', payload: fields, headers, remoteAddress } as const
      return (await sandbox.portal.inject(call)).statusCode
    }
    for (let index = 0; index < 100; index += 1) t.equal(await fail(`2001:db8:1:2:${index}::1`), 401)
    for (const same of ['2001:db8:1:2::', '2001:0DB8:0001:0002:ffff::1', '2001:db8:1:2::9%eth0'])
      t.equal(await fail(same), 429, same)
    t.equal(await fail('10.0.0.1', '2001:db8:1:2::5'), 429)
    for (const other of ['2001:db8:1:3::1', '2001:db8::1:2', '::1', '2001:db8:1::2'])
      t.equal(await fail(other), 401, other)
    t.equal(await fail('10.0.0.2', '2001:db8:1:2::5'), 401, 'an untrusted proxy must count as a sender')
    t.equal(
      await fail('10.0.0.1', 'no address'),
      401,
      'a request without a forwarded address must count as a request from the proxy',
    )
  },
)

t.test(
  'if a browser sends a call to /api from another site, the portal refuses the call, and does not count it as a failure',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const strangers = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.test' },
      { origin: 'null' },
      { 'sec-fetch-site': 'same-origin', origin: 'https://evil.test' },
    ]
    const paths = ['authorize', 'authorizeApplication', 'register', 'exchangeToken', 'revokeToken', 'me'] as const
    const call = (path: string, headers: Record<string, string | undefined>) =>
      sandbox.portal.inject({
        method: path === 'me' ? 'GET' : 'POST',
        url: `/api/${path}`,
        headers: { ...(path !== 'me' && { 'content-type': 'application/x-www-form-urlencoded' }), ...headers },
        ...(path !== 'me' && {
          payload: `${startUrl().slice(2)}&email=${email}&password=wrong&userId=x&clientId=x&client_secret=x&token=x`,
        }),
      })
    for (const headers of strangers)
      for (let count = 0; count < 11; count += 1)
        for (const path of paths) t.match(await call(path, headers), { statusCode: 403, body: 'other sites' }, path)
    t.equal(await attempt(openBrowser(sandbox)), 303, 'the account must not be locked')
    for (const own of [{}, { 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'none' }])
      for (const path of paths) t.notMatch((await call(path, own)).body, 'other sites', path)
  },
)
