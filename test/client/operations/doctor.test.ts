// Tests that the doctor names each problem in a configuration, and prints no secret. The portal and the API are
// scripted.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { diagnose } from '../../../src/client/operations/doctor.ts'
import { defineSettings } from '../../../src/client/read-settings.ts'
import { buildTestClient, clientId, clientSecret } from '../support/build-test-client.ts'
import { nowhere } from '../support/nowhere.ts'
import { type Script, startScriptedPlatform } from '../support/scripted-platform.ts'
import { noSettings } from '../support/test-product.ts'

/**
 * Starts a platform with which this client is registered, and returns settings with the addresses of the platform.
 * `scripts` replaces some of the platform's answers.
 */
async function setUp(t: Test, scripts: Record<string, Script> = {}) {
  const platform = await startScriptedPlatform(t, {
    'GET /': { status: 200, headers: { 'content-type': 'text/html' }, body: '<h1>Sign in</h1>' },
    'GET /apps/v1': { status: 401, body: { error: { status: 401, message: 'Unauthorized' } } },
    'POST /api/exchangeToken': { status: 401, body: { error: 'invalid_grant' } },
    ...scripts,
  })
  const environment: Record<string, string> = {
    LOGIN_URL: platform.url,
    API_URL: platform.url,
    CLIENT_ID: clientId,
    CLIENT_SECRET: clientSecret,
    COOKIE_KEYS: randomBytes(32).toString('base64url'),
    // Nothing listens on this port.
    PORT: '1',
  }
  return { platform, environment }
}

/** Returns the finding whose text starts with `begin`. */
async function ask(environment: Record<string, string>, begin: string): Promise<string | undefined> {
  const finding = (await diagnose(environment, noSettings)).find(({ text }) => text.startsWith(begin))
  return finding && `${finding.answer}: ${finding.text}`
}

t.test('the doctor finds no problem in a good configuration, and prints no secret', async t => {
  const { environment } = await setUp(t)
  const findings = await diagnose(environment, noSettings)
  t.same(
    findings.filter(({ answer }) => answer === 'no'),
    [],
  )
  t.ok(findings.filter(({ answer }) => answer === 'yes').length >= 6)
  const said = JSON.stringify(findings)
  for (const secret of [clientSecret, environment.COOKIE_KEYS!]) t.notMatch(said, secret)
})

t.test('the doctor names missing settings, and checks nothing else', async t => {
  const findings = await diagnose({ LOGIN_URL: 'http://127.0.0.1:1' }, noSettings)
  t.ok(findings.every(({ answer, text }) => answer === 'no' && text.startsWith('settings: ')))
  for (const name of ['API_URL', 'CLIENT_ID', 'CLIENT_SECRET', 'COOKIE_KEYS'])
    t.ok(
      findings.some(({ text }) => text.includes(`${name} is missing`)),
      name,
    )
})

t.test(
  'the doctor names the missing settings of the product together with the missing settings of the client',
  async t => {
    const product = defineSettings({
      list: [{ name: 'NOTES_FILE', about: 'Where the notes are.' }],
      read: ({ text }) => ({ file: text('NOTES_FILE') }),
    })
    const { environment } = await setUp(t)
    const findings = await diagnose({ ...environment, CLIENT_ID: '' }, product)
    t.same(
      findings.map(({ answer, text }) => `${answer}: ${text}`),
      ['no: settings: CLIENT_ID is missing.', 'no: settings: NOTES_FILE is missing.'],
    )
  },
)

t.test('if the portal or the API does not answer, the doctor says which of the two does not answer', async t => {
  const { environment } = await setUp(t)
  t.match(await ask({ ...environment, LOGIN_URL: nowhere }, 'portal:'), /^no: .*does not answer \(ECONNREFUSED\)/)
  t.match(await ask({ ...environment, LOGIN_URL: nowhere }, 'API:'), /^yes/)
  t.match(await ask({ ...environment, API_URL: nowhere }, 'API:'), /^no: .*does not answer \(ECONNREFUSED\)/)
  t.equal(
    await ask({ ...environment, LOGIN_URL: nowhere }, 'credentials:'),
    'cannot tell: credentials: the call to the portal failed (portal_unreachable)',
  )
})

t.test('if this machine cannot reach the address for browsers, the doctor says "cannot tell"', async t => {
  const { environment, platform } = await setUp(t)
  const split = { ...environment, LOGIN_URL: 'https://login.invalid', LOGIN_INTERNAL_URL: platform.url }
  const findings = await diagnose(split, noSettings)
  t.ok(findings.some(({ answer, text }) => answer === 'cannot tell' && text.includes('https://login.invalid')))
  t.same(
    findings.filter(({ answer }) => answer === 'no'),
    [],
  )
})

t.test('the doctor reports an API_URL that is not the address of the API', async t => {
  const { environment } = await setUp(t, { 'GET /apps/v1': { status: 404, body: {} } })
  t.match(await ask(environment, 'API:'), /^no: .*answers 404/)
})

t.test(
  'the doctor reports a redirect URI that is not registered, and a cancel_url that the portal refuses',
  async t => {
    const { environment, platform } = await setUp(t, { 'GET /': { status: 400, body: 'no' } })
    t.match(await ask(environment, 'redirect URI:'), /^no: .*Register exactly/)
    t.match(
      platform
        .received('GET /')
        .map(({ url }) => url)
        .join(),
      encodeURIComponent(`http://localhost:${environment.PORT}/exchangeToken`),
    )
    platform.answer('GET /', (_request, response) =>
      response
        .writeHead(303, { location: `http://localhost:${environment.PORT}/exchangeToken?error=invalid_request` })
        .end(),
    )
    t.match(await ask(environment, 'redirect URI:'), /^no: .*invalid_request.*CANCEL_URL/)
    platform.answer('GET /', (_request, response) => response.writeHead(303, { location: '/sign-in' }).end())
    t.match(await ask(environment, 'redirect URI:'), /^yes/)
  },
)

t.test('with --redirect-uri the doctor checks another client, and does not need COOKIE_KEYS and PORT', async t => {
  const { environment, platform } = await setUp(t)
  const { COOKIE_KEYS: _, PORT: __, ...ofPlatform } = environment
  const redirectUri = 'http://localhost:5000/oauth/callback?x=1'
  const texts = (await diagnose(ofPlatform, noSettings, redirectUri)).map(({ answer, text }) => `${answer}: ${text}`)
  t.ok(texts.includes(`yes: redirect URI: ${redirectUri} is registered`), texts.join('\n'))
  t.ok(texts.includes('yes: credentials: the portal accepts CLIENT_ID and CLIENT_SECRET'))
  t.notOk(texts.some(text => /^no|proxy:|cookies:/.test(text)))
  const asked = platform.received('GET /').map(({ url }) => new URL(url, platform.url).searchParams)
  t.ok(asked.some(query => query.get('redirect_uri') === redirectUri))
  t.ok(
    asked.some(query => query.get('cancel_url') === 'http://localhost:5000/cancelled'),
    'the doctor must send a cancel_url of the same origin',
  )
  t.equal(platform.received('POST /api/exchangeToken')[0]?.form.get('redirect_uri'), redirectUri)

  platform.answer('GET /', { status: 400, body: 'no' })
  for (const more of [{ COOKIE_KEYS: '' }, { COOKIE_KEYS_FILE: '/run/secrets/cookie-keys' }]) {
    const found = await diagnose({ ...ofPlatform, ...more }, noSettings, redirectUri)
    t.notOk(
      found.some(({ text }) => text.includes('COOKIE_KEYS')),
      JSON.stringify(more),
    )
  }
  const refused = await diagnose(ofPlatform, noSettings, redirectUri)
  t.ok(refused.some(({ answer, text }) => answer === 'no' && text.includes(`the portal refuses ${redirectUri}`)))
  t.match(await diagnose(ofPlatform, noSettings, 'callback'), [
    { answer: 'no', text: /--redirect-uri must be an address/ },
  ])
})

t.test('if the portal answers invalid_client, the doctor reports wrong credentials', async t => {
  const { environment, platform } = await setUp(t, {
    'POST /api/exchangeToken': { status: 401, body: { error: 'invalid_client' } },
  })
  t.match(await ask(environment, 'credentials:'), /^no/)
  t.equal(platform.received('POST /api/exchangeToken')[0]?.form.get('client_id'), clientId)
  platform.answer('POST /api/exchangeToken', { status: 503, body: {} })
  t.match(await ask(environment, 'credentials:'), /^cannot tell: .*503/)
})

t.test('if the clock of this machine is wrong, the doctor reports this problem', async t => {
  const late = new Date(Date.now() - 600_000).toUTCString()
  const { environment } = await setUp(t, { 'GET /': { headers: { date: late }, body: '' } })
  const said = await ask(environment, 'clocks:')
  t.match(said, /^no: .* \d+ seconds/)
  const most = (Date.now() - Date.parse(late)) / 1000
  const seconds = Number(/(\d+) seconds/.exec(said!)![1])
  t.ok(seconds >= 600 && seconds <= Math.ceil(most), `${seconds} s`)
})

t.test('if the client and the portal have the same host name, the doctor reports this problem', async t => {
  const { environment } = await setUp(t)
  t.match(await ask(environment, 'sites:'), /^yes/)
  t.match(await ask({ ...environment, PUBLIC_URL: 'http://127.0.0.1:3000' }, 'sites:'), /^no/)
})

t.test(
  'the doctor sends requests to the public address of the running client, and notices a proxy that changes cookies',
  async t => {
    const { environment, platform } = await setUp(t)
    t.match(await ask(environment, 'proxy:'), /^cannot tell: .*not running/)
    const proxy = createServer().listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    t.teardown(() => proxy.close())
    const PUBLIC_URL = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    const { client } = await buildTestClient(t, { platform, environment: { ...environment, PUBLIC_URL } })
    proxy.on('request', client.routing)
    t.match(await ask({ ...environment, PUBLIC_URL }, 'proxy:'), /^yes/)

    const another = await buildTestClient(t, { platform, environment })
    proxy.removeAllListeners('request').on('request', another.client.routing)
    t.match(await ask({ ...environment, PUBLIC_URL }, 'proxy:'), /^no: .*another PUBLIC_URL/)

    proxy.removeAllListeners('request').on('request', async (_request, response) => {
      const { headers, statusCode } = await client.inject('/login')
      response.writeHead(statusCode, { location: String(headers.location), 'set-cookie': 'login=1' }).end()
    })
    t.match(await ask({ ...environment, PUBLIC_URL }, 'proxy:'), /^no: .*login cookie arrives changed/)
  },
)
