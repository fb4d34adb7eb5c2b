// Tests the whole sandbox with and without a laboratory: what the laboratory records about a correct client, and that
// no page shows a secret.
import { createHash, randomBytes } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import type { LabStep } from '../../../src/sandbox/lab/record/recorded.ts'
import { observeRequests } from '../../../src/sandbox/observe/observe.ts'
import { exchange, locationOf, openBrowser, signIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { makeOtherClient, refresh } from '../support/tokens.ts'

const random = () => randomBytes(32).toString('base64url')
const headers = { host: '127.0.0.1:4002' }
const lab = { host: '127.0.0.1', port: 0, urls: ['http://127.0.0.1:4002'], token: undefined }

const readLab = ({ lab }: TestSandbox, url: string) => lab!.inject({ url, headers })

const post = ({ portal }: TestSandbox, url: string, fields: Record<string, string>) =>
  portal.inject({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(fields).toString(),
  })

/**
 * Does everything that a correct client and its visitor do during a login. Returns every secret that was sent or
 * received.
 */
async function goAllTheWay(sandbox: TestSandbox): Promise<{ secrets: Record<string, string> }> {
  const [state, verifier] = [random(), random()]
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  const browser = openBrowser(sandbox)
  const page = await signIn(browser, { state, code_challenge: challenge, code_challenge_method: 'S256' })
  const formToken = /name="formToken" value="([^"]+)"/.exec(page.body)?.[1] ?? ''
  const arrived = new URL(locationOf(await browser.submit(page, { decision: 'allow' }))).searchParams
  const code = arrived.get('code') ?? ''
  const tokens = (await exchange(sandbox, { code, state, code_verifier: verifier })).json()
  const authorization = `Bearer ${tokens.access_token}`
  const links = await sandbox.api.inject({
    url: `/identities/v1/${arrived.get('subject')}/links?type=MemberOf`,
    headers: { authorization },
  })
  const created = await sandbox.api.inject({
    method: 'POST',
    url: '/apps/v1',
    headers: { authorization, 'content-type': 'application/json' },
    payload: JSON.stringify(makeCreateBody(links.json().ItemList[0].to)),
  })
  await sandbox.portal.inject({ url: '/api/me', headers: { authorization } })
  const newer = (await refresh(sandbox, tokens.refresh_token)).json()
  const credentials = { client_id: seeded.clientId, client_secret: seeded.clientSecret }
  await post(sandbox, '/api/revokeToken', { token: newer.refresh_token, ...credentials })
  return {
    secrets: {
      state,
      verifier,
      challenge,
      code,
      formToken,
      password: seeded.password,
      email: seeded.email,
      clientSecret: seeded.clientSecret,
      accessToken: tokens.access_token,
      refreshToken: tokens.refresh_token,
      newAccessToken: newer.access_token,
      newRefreshToken: newer.refresh_token,
      madeSecret: created.json().client.clientSecrets[0],
      madeToken: created.json().tokens[0].token,
      session: browser.cookie('__Host-portal-session') ?? '',
    },
  }
}

/** Returns all pages and answers of the laboratory, keyed by their addresses. */
async function readEverything(sandbox: TestSandbox): Promise<Record<string, string>> {
  const { logins } = (await readLab(sandbox, '/lab/v1/logins')).json() as { logins: { id: string }[] }
  const paths = logins.flatMap(({ id }) => [`/lab/v1/logins/${id}`, `/lab/v1/logins/${id}/har`, `/logins/${id}`])
  const found = ['/', '/lab/v1/logins', ...paths].map(async path => [path, (await readLab(sandbox, path)).body])
  return Object.fromEntries(await Promise.all(found))
}

t.test('the laboratory records the whole login of a correct client, and adds no notice', async t => {
  const sandbox = await buildTestSandbox(t, { lab })
  await goAllTheWay(sandbox)
  const { logins } = (await readLab(sandbox, `/lab/v1/logins?clientId=${seeded.clientId}`)).json()
  t.equal(logins.length, 1)
  const login = (await readLab(sandbox, `/lab/v1/logins/${logins[0].id}`)).json()
  t.same(
    login.steps.map(({ kind }: { kind: string }) => kind),
    ['authorize', 'sign-in', 'authorize', 'consent', 'exchange', 'api', 'api', 'me', 'refresh', 'revoke'],
  )
  t.same(login.noticed, [])
  t.match(login, { outcome: 'signed in', reasons: [] })
  t.match(login.steps[4], {
    about: { claimedClientId: seeded.clientId, provenClientId: seeded.clientId },
    checks: ['client_secret', 'code', 'redirect_uri', 'state', 'code_verifier'].map(name => ({ name, passed: true })),
    response: { status: 200, body: { expires_in: '86400' } },
  })
})

t.test('LG-02: neither the laboratory nor the log shows any secret', async t => {
  const sandbox = await buildTestSandbox(t, { lab })
  const { secrets } = await goAllTheWay(sandbox)
  const refused = random()
  await exchange(sandbox, { code: refused, state: refused, code_verifier: refused, client_secret: refused })
  await exchange(sandbox, { code: refused, state: refused, code_verifier: refused })
  await refresh(sandbox, refused)
  await sandbox.api.inject({ url: `/apps/v1?access_token=${refused}`, headers: { authorization: `Bearer ${refused}` } })
  await sandbox.api.inject({ url: `/apps/v1/${refused}`, headers: { authorization: `Bearer ${refused}` } })
  await sandbox.portal.inject(`/nowhere/${refused}`)
  await sandbox.portal.inject(startUrl({ client_id: undefined, state: refused }))
  const stranger = openBrowser(sandbox)
  await stranger.submit(await stranger.get('/account'), { email: refused, password: refused })
  const shown = await readEverything(sandbox)
  t.ok(Object.keys(shown).length > 10)
  const log = sandbox.logLines.join('')
  for (const [name, secret] of Object.entries({ ...secrets, refused })) {
    t.ok(secret.length > 10, name)
    for (const form of [secret, encodeURIComponent(secret)]) {
      for (const [path, text] of Object.entries(shown)) t.notOk(text.includes(form), `${name} in ${path}`)
      t.notOk(log.includes(form), `${name} in the log`)
    }
  }
})

t.test(
  'if the sandbox has a laboratory, refused exchanges and error pages link to their login in the laboratory',
  async t => {
    const sandbox = await buildTestSandbox(t, { lab })
    const off = await buildTestSandbox(t)
    const { error_uri: uri } = (await exchange(sandbox, { code: 'none' })).json()
    t.match(uri, /^http:\/\/127\.0\.0\.1:4002\/requests\/[\w-]+$/)
    const pages = [startUrl({ client_id: 'nobody' }), startUrl({ response_type: 'token' })]
    for (const start of pages) {
      const link = /href="(http:\/\/127\.0\.0\.1:4002\/requests\/[\w-]+)"/.exec(
        (await sandbox.portal.inject(start)).body,
      )
      for (const address of [uri, link?.[1]]) {
        const answer = await readLab(sandbox, new URL(address).pathname)
        t.match((await readLab(sandbox, locationOf(answer))).body, 'To fix it: ')
      }
      t.notMatch((await off.portal.inject(start)).body, '/requests/')
    }
    t.same(Object.keys((await exchange(off, { code: 'none', state: undefined })).json()), [
      'error',
      'error_description',
    ])
  },
)

t.test('if the sandbox has no observer, it does not add a hook that records requests', async t => {
  const server = { addHook: () => t.fail('a hook was added') } as unknown as FastifyInstance
  observeRequests(server, { listener: 'portal', observer: undefined, clock: () => new Date() })
  const off = await buildTestSandbox(t)
  t.equal(off.lab, undefined)
  t.match(await exchange(off, { code: 'none' }), { statusCode: 401 })
})

t.test(
  'the laboratory records a login request without parameters as a step, but not requests for the portal’s own pages, for files or for health checks',
  async t => {
    const steps: LabStep[] = []
    const { portal, api } = await buildTestSandbox(t, { onStep: step => void steps.push(step) })
    const assets = /href="(\/assets\/[^"]+)"/.exec((await portal.inject('/terms')).body)?.[1] ?? ''
    for (const url of ['/health/ready', '/health/live', '/account', '/signed-out', assets]) await portal.inject(url)
    for (const url of ['/health/ready', '/', '/apps/v1/openapi.json']) await api.inject(url)
    t.same(steps, [])
    await portal.inject('/')
    t.match(steps, [{ kind: 'page', route: '/', response: { status: 303 } }])
  },
)

t.test('the log line of a refused request names the reason, and also the client if the client is known', async t => {
  const sandbox = await buildTestSandbox(t)
  await exchange(sandbox, { code: 'none' })
  await exchange(sandbox, { code: 'none', client_id: 'a-stranger-s-text' })
  const lines = sandbox.logLines.map(line => JSON.parse(line))
  const wanted = [
    { clientId: seeded.clientId, reason: 'code-unknown' },
    { clientId: undefined, reason: 'client-unknown' },
  ]
  for (const { clientId, reason } of wanted)
    for (const msg of ['a request was refused', 'request'])
      t.ok(
        lines.some(line => line.msg === msg && line.reason === reason && line.clientId === clientId),
        `${msg}, ${reason}`,
      )
  t.notMatch(sandbox.logLines.join(''), 'a-stranger-s-text')
})

const watchReasons = async (t: Test, databaseUrl: string) => {
  const reasons: (LabStep['reason'] | undefined)[] = []
  const onStep = (step: LabStep) => void reasons.push(step.reason)
  const sandbox = await buildTestSandbox(t, { databaseUrl, onStep })
  return { sandbox, last: () => reasons.at(-1) }
}

for (const database of await openDatabases(t))
  t.test(`a recorded step says why a code or a refresh token was refused (${database.name})`, async t => {
    const { sandbox, last } = await watchReasons(t, await database.make(t))
    const other = await makeOtherClient(sandbox)
    const begin = async () => {
      const browser = openBrowser(sandbox)
      const page = await signIn(browser, { state: 'a-state' })
      const answer = page.statusCode === 303 ? page : await browser.submit(page, { decision: 'allow' })
      return new URL(locationOf(answer)).searchParams.get('code') ?? ''
    }
    const code = await begin()
    const tries: [Record<string, string | undefined>, string][] = [
      [{ code: 'none' }, 'code-unknown'],
      [{ code, ...other }, 'code-of-another-client'],
      [{ code, state: undefined }, 'state-missing'],
      [{ code, state: 'other' }, 'state-differs'],
      [{ code, code_verifier: random() }, 'verifier-unexpected'],
      [{ code, redirect_uri: 'http://localhost:3000/' }, 'redirect-uri-differs'],
      [{ code, redirect_uri: 'http://localhost:3000/\0' }, 'redirect-uri-differs'],
    ]
    for (const [fields, reason] of tries) {
      await exchange(sandbox, fields)
      t.equal(last(), reason)
    }
    const tokens = (await exchange(sandbox, { code })).json()
    t.equal(last(), undefined)
    await exchange(sandbox, { code })
    t.equal(last(), 'code-used')
    await refresh(sandbox, tokens.refresh_token, other)
    t.equal(last(), 'refresh-token-of-another-client')
    await refresh(sandbox, tokens.refresh_token)
    t.equal(last(), undefined)
    sandbox.passTime(11_000)
    for (const again of [1, 2]) {
      await refresh(sandbox, tokens.refresh_token)
      t.equal(last(), 'refresh-token-used', `${again}`)
    }
    await refresh(sandbox, 'none')
    t.equal(last(), 'refresh-token-unknown')
    const old = await begin()
    sandbox.passTime(61_000)
    await exchange(sandbox, { code: old })
    t.equal(last(), 'code-expired')
  })
