// Tests the portal's calls with which a script registers a user and signs in without a browser.
import t from 'tap'
import { exchange, openBrowser, signIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, portalUrl, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { openDatabases } from '../support/each-database.ts'
import { getTokens } from '../support/tokens.ts'

const ada = {
  email: 'Ada@example.test',
  password: 'correct horse',
  firstName: 'Ada',
  lastName: 'Lovelace',
  termsAccepted: 'true',
}
const credentials = { email: seeded.email, password: seeded.password }
const startFields = Object.fromEntries(new URLSearchParams(startUrl().slice(2)))

function post({ portal }: Pick<TestSandbox, 'portal'>, path: string, fields: object, headers = {}) {
  return portal.inject({
    method: 'POST',
    url: `/api/${path}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: new URLSearchParams(fields as Record<string, string>).toString(),
  })
}

function getMe({ portal }: TestSandbox, authorization?: string) {
  return portal.inject({ url: '/api/me', headers: authorization === undefined ? {} : { authorization } })
}

for (const database of await openDatabases(t)) {
  t.test(
    `calls-without-browser, name-call: without a browser, a script can register a user, allow an application and sign in (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const registered = await post(sandbox, 'register', ada)
      t.equal(registered.statusCode, 201)
      const { '@id': userId, ...person } = registered.json()
      t.strictSame(person, {
        '@context': 'https://standards.oftrust.net/v2/Context/Identity/LegalParty/Person/',
        '@type': 'Person',
        email: 'ada@example.test',
        role: 'developer',
        firstName: 'Ada',
        lastName: 'Lovelace',
      })
      const login = { ...startFields, email: ada.email, password: ada.password }
      const asked = await post(sandbox, 'authorize', login)
      t.equal(asked.statusCode, 403)
      t.strictSame(asked.json(), { message: 'App authorization required', userId })

      const allowed = await post(sandbox, 'authorizeApplication', {
        userId,
        clientId: seeded.clientId,
        email: ada.email,
        password: ada.password,
      })
      t.equal(allowed.statusCode, 200)

      const answer = await post(sandbox, 'authorize', login)
      t.match(answer, { statusCode: 200, headers: { 'cache-control': 'no-store' } })
      t.strictSame(Object.keys(answer.json()).sort(), ['redirectUrl', 'userId'])
      const redirect = new URL(answer.json().redirectUrl)
      t.equal(redirect.origin + redirect.pathname, seeded.redirectUri)
      const { code, ...parameters } = Object.fromEntries(redirect.searchParams)
      t.strictSame(parameters, {
        redirect_uri: seeded.redirectUri,
        subject: userId,
        client_id: seeded.clientId,
        state: 'a-state',
        iss: portalUrl,
      })
      const tokens = await exchange(sandbox, { code })
      t.equal(tokens.statusCode, 200)
      const me = await getMe(sandbox, `Bearer ${tokens.json().access_token}`)
      t.equal(me.statusCode, 200)
      t.strictSame(me.json(), registered.json())
      const log = sandbox.logLines.join('')
      for (const secret of [ada.password, 'ada@example.test', code ?? '', tokens.json().access_token])
        t.notOk(log.includes(secret), 'LG-01: the log must not contain the secret')
    },
  )
}

t.test('if several fields of /api/register are wrong, one 422 answer names all of them', async t => {
  const sandbox = await buildTestSandbox(t)
  const answer = await post(sandbox, 'register', { email: 'nobody', password: '1234567' })
  t.equal(answer.statusCode, 422)
  const { message } = answer.json()
  t.strictSame(Object.keys(message).sort(), ['email', 'firstName', 'lastName', 'password', 'termsAccepted'])
  for (const problems of Object.values(message)) t.match(problems, [String])
  t.equal((await post(sandbox, 'register', { ...ada, email: seeded.email })).statusCode, 422, 'an address in use')
  t.equal((await post(sandbox, 'register', { ...ada, firstName: 'nul\0' })).statusCode, 422)
  const url = '/api/register'
  const json = { ...ada, termsAccepted: true }
  t.equal(
    (await sandbox.portal.inject({ method: 'POST', url, payload: json })).statusCode,
    201,
    'a JSON body must be accepted',
  )
  t.equal((await sandbox.portal.inject({ method: 'POST', url })).statusCode, 400)
  const half = '\ud800 is half a surrogate pair'
  const halves = { ...json, email: `${half}@example.test`, password: `not ${half}`, firstName: half, lastName: half }
  const refused = await sandbox.portal.inject({ method: 'POST', url, payload: halves })
  t.strictSame(Object.keys(refused.json().message).sort(), ['email', 'firstName', 'lastName', 'password'])
  t.match(await sandbox.portal.inject({ url }), { statusCode: 405, headers: { allow: 'POST' } })
})

t.test('PS-06: from one network address, at most 100 accounts can be made in an hour', async t => {
  const sandbox = await buildTestSandbox(t)
  const at = sandbox.now().getTime() + 3_600_000
  await sandbox.store.write(db =>
    db.insertInto('failures').values({ bucket: 'sign-ups 127.0.0.1', count: 99, window_ends_at: at }).execute(),
  )
  t.equal((await post(sandbox, 'register', ada)).statusCode, 201, 'the hundredth account must be created')
  const refused = await post(sandbox, 'register', { ...ada, email: 'next@example.test' })
  t.equal(refused.statusCode, 429)
  t.match(refused.headers['retry-after'], /^\d+$/)
  t.strictSame(refused.json(), { message: 'Too Many Requests' })
  sandbox.passTime(3_600_000)
  t.equal((await post(sandbox, 'register', { ...ada, email: 'next@example.test' })).statusCode, 201)
})

t.test(
  'PS-05, PS-06: at /api/authorize a wrong password and an unknown e-mail address get a 403 answer, and after ten failures a 429 answer',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const unknown = await post(sandbox, 'authorize', { ...startFields, email: 'x@example.test', password: 'wrong' })
    for (let attempt = 0; attempt < 10; attempt += 1) {
      const wrong = await post(sandbox, 'authorize', { ...startFields, email: seeded.email, password: 'wrong' })
      t.equal(wrong.statusCode, 403)
      t.strictSame(wrong.json(), { message: 'Permission denied' })
      t.equal(wrong.body, unknown.body)
    }
    const refused = await post(sandbox, 'authorize', { ...startFields, ...credentials })
    t.match(refused, { statusCode: 429, headers: { 'retry-after': /^\d+$/ } })
    t.strictSame(refused.json(), { message: 'Too Many Requests' })
    const url = { userId: 'x', clientId: seeded.clientId, ...credentials }
    t.equal(
      (await post(sandbox, 'authorizeApplication', url)).statusCode,
      429,
      'the failures of all calls that sign in must be counted together',
    )
  },
)

t.test(
  'AZ-01, AZ-02, AZ-03: /api/authorize checks a login request in the same way as the portal’s page, and a wrong request does not get a code',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const [user] = await sandbox.store.read.selectFrom('users').select('id').execute()
    const allowed = { userId: user?.id, clientId: seeded.clientId, ...credentials }
    t.equal((await post(sandbox, 'authorizeApplication', allowed)).statusCode, 200)
    const faults = [
      { client_id: 'nobody' },
      { client_id: '' },
      { redirect_uri: `${seeded.redirectUri}/` },
      { redirect_uri: '' },
      { response_type: 'token' },
      { grant_type: 'password' },
      { cancel_url: 'https://evil.test/' },
      { code_challenge: 'x'.repeat(43), code_challenge_method: 'plain' },
      { email: '' },
      { password: '' },
    ]
    for (const fault of faults) {
      const answer = await post(sandbox, 'authorize', { ...startFields, ...credentials, ...fault })
      t.equal(answer.statusCode, 400, JSON.stringify(fault))
      t.match(answer.json(), { message: /^[A-Z\w].*\.$/ })
      t.equal(answer.headers.location, undefined)
    }
    for (const name of Object.keys({ ...startFields, ...credentials })) {
      const payload = { ...startFields, ...credentials, [name]: 'half a surrogate pair: \ud800' }
      const answer = await sandbox.portal.inject({ method: 'POST', url: '/api/authorize', payload })
      t.equal(answer.statusCode, 400, name)
      t.strictSame(answer.json(), { message: `${name} must be a string.` })
    }
    t.strictSame(await sandbox.store.read.selectFrom('grants').selectAll().execute(), [])
  },
)

t.test(
  '/api/authorizeApplication accepts the cookie of a portal session, but not if another site sends the call',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const browser = openBrowser(sandbox)
    await signIn(browser)
    const cookie = browser.cookieHeader()
    const [user] = await sandbox.store.read.selectFrom('users').select('id').execute()
    const fields = { userId: user?.id, clientId: seeded.clientId }
    const foreign = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'http://127.0.0.1:4001' },
      { origin: 'null' },
    ]
    for (const headers of foreign)
      t.equal((await post(sandbox, 'authorizeApplication', fields, { cookie, ...headers })).statusCode, 403)
    t.match((await browser.get(startUrl())).body, /wants to sign you in/, 'the portal must not store a consent')
    const answer = await post(sandbox, 'authorizeApplication', fields, { cookie })
    t.equal(answer.statusCode, 200)
    t.strictSame(answer.json(), fields)
    t.equal((await browser.get(startUrl())).statusCode, 303, 'the portal must not ask for consent again')
  },
)

t.test(
  '/api/authorizeApplication stores consent only for the user who sends the call, and only for an application that exists',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const { '@id': other } = (await post(sandbox, 'register', ada)).json()
    const [user] = await sandbox.store.read.selectFrom('users').select('id').where('email', '=', seeded.email).execute()
    const own = { userId: user?.id, clientId: seeded.clientId, ...credentials }
    const cases: [object, number, unknown][] = [
      [{ ...own, userId: other }, 403, { message: 'Permission denied' }],
      [{ ...own, password: 'wrong' }, 403, { message: 'Permission denied' }],
      [{ ...own, email: '', password: '' }, 403, { message: 'Permission denied' }],
      [{ ...own, clientId: 'a6b43b9e-0a4e-4f7d-9b52-2a0a4cf2b0d1' }, 404, { message: 'App not found.' }],
      [{ ...own, clientId: 'nul\0' }, 404, { message: 'App not found.' }],
      [{ ...own, clientId: '' }, 400, { message: 'clientId is missing.' }],
      [{ ...own, userId: '' }, 400, { message: 'userId is missing.' }],
    ]
    for (const [fields, statusCode, body] of cases) {
      const answer = await post(sandbox, 'authorizeApplication', fields)
      t.equal(answer.statusCode, statusCode, JSON.stringify(fields))
      t.strictSame(answer.json(), body)
    }
    t.strictSame(await sandbox.store.read.selectFrom('consents').selectAll().execute(), [])
  },
)

t.test('AP-01, AP-02, name-call: /api/me answers 403 without a valid bearer token', async t => {
  const sandbox = await buildTestSandbox(t)
  const { access_token: token } = await getTokens(sandbox)
  for (const authorization of [
    undefined,
    '',
    'Bearer',
    `Basic ${token}`,
    `Bearer  ${token}`,
    `Bearer ${token}x`,
    `Bearer ${token}, Bearer ${token}`,
    'Bearer é',
  ]) {
    const answer = await getMe(sandbox, authorization)
    t.equal(answer.statusCode, 403, `${authorization}`)
    t.strictSame(answer.json(), { message: 'Permission denied' })
  }
  t.equal((await getMe(sandbox, `bearer ${token}`)).statusCode, 200, 'the scheme is compared without case')
  const inAddress = await sandbox.portal.inject({ url: `/api/me?access_token=${token}` })
  t.equal(inAddress.statusCode, 403)
  sandbox.passTime(86_400_000 + 61_000)
  t.equal((await getMe(sandbox, `Bearer ${token}`)).statusCode, 403, 'expired')
})
