// Faults that change the content of answers: token responses, the redirect to the client, and the API's lists and
// records. Also tests the traps to which a fault can redirect a client.
import { once } from 'node:events'
import { connect } from 'node:net'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { catalogue } from '../../../src/sandbox/lab/faults/catalogue.ts'
import { openSocket } from '../../support/raw-socket.ts'
import { exchange, locationOf, openBrowser, signIn, startUrl } from '../support/browser.ts'
import { seeded } from '../support/build-test-sandbox.ts'
import { getCode, getTokens, refresh } from '../support/tokens.ts'
import { buildFaultLab } from './support/fault-lab.ts'
import { type PlatformCall, platformCalls } from './support/platform-calls.ts'
import { askRaw } from './support/raw-client.ts'

const namesOf = (pattern: RegExp) => [...catalogue.keys()].filter(name => pattern.test(name))

async function signInOnce(sandbox: Parameters<typeof openBrowser>[0]) {
  const browser = openBrowser(sandbox)
  await browser.submit(await signIn(browser), { decision: 'allow' })
  return async () => new URL(locationOf(await browser.get(startUrl())))
}

t.test(
  'at an exchange and at a renewal, each fault of the token response changes only the field that its name mentions',
  async t => {
    const { sandbox, order } = await buildFaultLab(t)
    const goBack = await signInOnce(sandbox)
    const makeTokens = async () =>
      (await exchange(sandbox, { code: (await goBack()).searchParams.get('code') ?? '' })).json()
    const usual = {
      access_token: 'string',
      expires_in: 'number',
      token_type: 'string',
      scope: 'string',
      refresh_token: 'string',
      state: 'string',
    }
    const typesOf = (tokens: object) =>
      Object.fromEntries(Object.entries(tokens).map(([name, value]) => [name, typeof value]))
    const names = namesOf(/^exchange-(access-token|token-type|expires-in|refresh-token|state)(-|$)/)
    t.ok(names.length > 35, `${names.length}`)
    for (const name of names) {
      const own = name.match(/^exchange-(access-token|token-type|expires-in|refresh-token|state)$/)
      await order(name, own ? { options: { value: { own: [1] } } } : {})
      const tokens = await makeTokens()
      const [, field = '', variant] = /^exchange-(access-token|token-type|expires-in|refresh-token|state)-?(.*)$/.exec(
        name,
      )!
      const key = field.replace('-', '_')
      const { [key]: changed, ...others } = tokens
      const { [key as 'state']: _, ...usualOthers } = usual
      t.same(typesOf(others), usualOthers, name)
      const said = / is (.*)\.$/.exec(catalogue.get(name)!.does)?.[1] ?? ''
      if (variant === 'missing') t.notOk(key in tokens, name)
      else if (own) t.same(changed, { own: [1] }, name)
      else if (variant === 'other') t.ok(typeof changed === 'string' && changed !== 'a-state', name)
      else if (variant?.endsWith('-kb'))
        t.ok(Math.abs(changed.length - Number(variant[0]) * 1024) < 8, `${name}: ${changed.length}`)
      else t.same(changed, JSON.parse(said), name)
    }
    const { refresh_token: token } = await makeTokens()
    await order('refresh-refresh-token-missing')
    const renewed = (await refresh(sandbox, token)).json()
    t.ok(renewed.access_token)
    t.notOk('refresh_token' in renewed)
  },
)

t.test('the API accepts the large access token that a fault makes', async t => {
  const { sandbox, order } = await buildFaultLab(t)
  await order('exchange-access-token-9-kb')
  const { access_token: token } = await getTokens(sandbox)
  t.ok(token.length > 9000)
  t.equal(
    (await sandbox.api.inject({ url: '/apps/v1', headers: { authorization: `Bearer ${token}` } })).statusCode,
    200,
  )
})

t.test('the API accepts the opaque access token that a fault makes, and refuses a made-up opaque token', async t => {
  const { sandbox, order } = await buildFaultLab(t)
  const statusOf = async (authorization: string) =>
    (await sandbox.api.inject({ url: '/apps/v1', headers: { authorization } })).statusCode
  const statusWith = (token: string) => statusOf(`Bearer ${token}`)
  const claims = (text: string) => new RegExp(`^[\\w-]+\\.${Buffer.from(text).toString('base64url').slice(0, -2)}`)
  for (const [name, form, options] of [
    ['exchange-opaque-access-token', /^[\w-]{43}$/, {}],
    ['exchange-dotted-access-token', /^[\w-]{16}\.[\w-]{32}\.[\w-]{32}$/, {}],
    ['exchange-opaque-access-token', /\+.*\/.*~.*==$/, { form: 'characters' }],
    ['exchange-opaque-access-token', claims('{"sub":5,"exp":1,'), { form: 'past-claims' }],
    ['exchange-opaque-access-token', claims('{"sub":{"id":5},'), { form: 'future-claims' }],
    ['exchange-opaque-access-token', claims('{}'), { form: 'no-claims' }],
    ['exchange-opaque-access-token', claims('null'), { form: 'null-claims' }],
  ] as const) {
    await order(name, { options })
    const { access_token: token } = await getTokens(sandbox)
    t.match(token, form)
    t.equal(await statusWith(token), 200)
    t.equal(await statusWith(`${token.slice(0, -1)}!`), 401)
    t.equal(await statusOf(token), 401, 'the header lacks “Bearer”')
  }
})

t.test('a revocation ends the grant of an opaque access token that a fault made', async t => {
  const { sandbox, order, steps } = await buildFaultLab(t)
  const calls = await platformCalls(sandbox)
  await order('exchange-opaque-access-token')
  const { access_token: token, refresh_token: refreshToken } = await getTokens(sandbox)
  const revocation = await calls.revoke()
  const body = new URLSearchParams(revocation.body)
  body.set('token', token)
  const revoke = async () => (await askRaw(sandbox.portal, { ...revocation, body: body.toString() })).status
  await order('revoke-503', { state: 'a-state' })
  t.equal(await revoke(), 503, 'a fault for one login must recognise the token')
  t.equal(await revoke(), 200)
  const headers = { authorization: `Bearer ${token}` }
  t.equal((await sandbox.api.inject({ url: '/apps/v1', headers })).statusCode, 401)
  t.equal((await refresh(sandbox, refreshToken)).statusCode, 401)
  const kinds = (await steps()).map(({ kind }) => kind)
  const begin = kinds.indexOf('exchange')
  const ofLogin = kinds.slice(begin, begin + 5)
  t.same(ofLogin, ['exchange', 'revoke', 'revoke', 'api', 'refresh'], 'the revocation must be a step of the login')
})

t.test('a fault can issue an access token that expires earlier than its expires_in says', async t => {
  const { sandbox, order } = await buildFaultLab(t)
  await order('exchange-early-end-of-access-token', { options: { seconds: 60 } })
  const { access_token: token, expires_in } = (await getTokens(sandbox)) as {
    access_token: string
    expires_in?: number
  }
  const { exp, iat } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
  t.equal(exp - iat, 60)
  t.equal(expires_in, 86_400)
})

t.test('a fault cannot make an access token expire later than without the fault', async t => {
  const { sandbox, call, order } = await buildFaultLab(t)
  const lifetimes = { accessTokenSeconds: 60 }
  t.equal((await call('PUT', `/lab/v1/applications/${seeded.clientId}/lifetimes`, lifetimes)).statusCode, 200)
  await order('exchange-early-end-of-access-token', { options: { seconds: 3600 } })
  const { access_token: token } = await getTokens(sandbox)
  const { exp, iat } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
  t.equal(exp - iat, 60)
})

t.test('a fault can make a session short: the access token expires soon, and there is no refresh token', async t => {
  const { sandbox, order } = await buildFaultLab(t)
  await order('exchange-short-session', { options: { seconds: 2 } })
  const tokens = (await getTokens(sandbox)) as unknown as Record<string, unknown>
  t.equal(tokens.expires_in, 2)
  t.notOk('refresh_token' in tokens)
})

t.test('each fault in the redirect to the client does exactly what its name says', async t => {
  const { sandbox, order } = await buildFaultLab(t)
  const goBack = await signInOnce(sandbox)
  const usual = await goBack()
  // The faults in the redirect that have no required option.
  const names = namesOf(/^redirect-/).filter(
    name => !Object.values(catalogue.get(name)!.options).some(one => one.isRequired),
  )
  t.ok(names.length > 20, `${names.length}`)
  for (const name of names) {
    await order(name)
    const url = await goBack()
    t.equal(url.origin + url.pathname, usual.origin + usual.pathname, name)
    const [, field = '', how] = /^redirect-(.+)-(missing|other|twice|empty)$/.exec(name) ?? []
    const key = field.replaceAll('-', '_')
    const values = url.searchParams.getAll(key)
    const before = usual.searchParams.get(key)
    if (how === 'missing') t.same(values, [], name)
    if (how === 'empty') t.same(values, [''], name)
    if (how === 'other') t.ok(values.length === 1 && values[0] !== before && values[0] !== '', name)
    if (how === 'twice') t.equal(new Set(values).size, 2, name)
    const error = /^redirect-error-(.+)$/.exec(name)?.[1]?.replaceAll('-', '_')
    if (error)
      t.match(Object.fromEntries(url.searchParams), { error, state: 'a-state', error_description: /laboratory/ }, name)
    if (!how) t.same([url.searchParams.get('code'), url.searchParams.get('subject')], [null, null], name)
  }
  const errors = ['invalid_request', 'unauthorized_client', 'access_denied', 'unsupported_response_type']
  for (const error of [...errors, 'invalid_scope', 'server_error', 'temporarily_unavailable'])
    t.ok(names.includes(`redirect-error-${error.replaceAll('_', '-')}`), `RFC 6749 4.1.2.1: ${error}`)
  await order('redirect-hostile-description')
  t.match((await goBack()).searchParams.get('error_description'), /<script>.*\r\nSet-Cookie/s)
})

t.test(
  'if a script signs in without a browser, it gets the redirect address in an answer, and a fault of the redirect changes this address',
  async t => {
    const { sandbox, order } = await buildFaultLab(t)
    await signInOnce(sandbox)
    await order('redirect-state-other')
    const { email, password, clientId, redirectUri, cancelUrl } = seeded
    const start = {
      grant_type: 'authorization',
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      cancel_url: cancelUrl,
      state: 's',
    }
    const answer = await sandbox.portal.inject({
      method: 'POST',
      url: '/api/authorize',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ email, password, ...start }).toString(),
    })
    const { searchParams } = new URL(answer.json().redirectUrl)
    t.ok(searchParams.get('code'))
    t.not(searchParams.get('state'), 's')
  },
)

t.test(
  'faults can put hostile text, unknown fields or too many entries into the API’s lists and records, or leave out fields',
  async t => {
    const { sandbox, order } = await buildFaultLab(t)
    const calls = await platformCalls(sandbox)
    const ask = async (place: 'list' | 'get' | 'groups' | 'create', fault: string, options = {}) => {
      await order(`${place}-${fault}`, { options })
      const raw = await askRaw(sandbox.api, await calls[place]())
      return { status: raw.status, bytes: raw.body.length, ...JSON.parse(raw.body) }
    }
    const many = await ask('list', '5000')
    t.equal(many.ItemList.length, 5000)
    t.ok(many.bytes < 8 * 1024 * 1024)
    t.match(many.ItemList[4999], { '@type': 'App', data: { name: 'Application 5000' } })
    t.equal(new Set(many.ItemList.map((one: Record<string, string>) => one['@id'])).size, 5000)

    const usual = await sandbox.api.inject({ url: '/apps/v1', headers: (await calls.list()).headers })
    const hostile = await ask('list', 'hostile-texts')
    t.match(hostile.ItemList[0].data.name, '<script>')
    t.match(hostile.ItemList[0]['@id'], /^[\w-]{36}$/)
    t.equal(hostile.ItemList.length, usual.json().ItemList.length)
    t.notOk(JSON.stringify(hostile).includes('Weather'), 'every field must have the hostile text')
    t.ok((await ask('get', 'hostile-texts')).data.description.length > 20)
    t.match((await ask('groups', 'hostile-texts')).ItemList[0].data.name, '<script>')

    const unknown = await ask('get', 'unknown-members')
    for (const object of [unknown, unknown.data, unknown.client])
      t.match(object, { nobodyKnows: { deep: [1, null, {}] } })
    t.equal(unknown.data.name, 'Weather')

    t.same(Object.keys((await ask('list', 'members-missing')).ItemList[0]), ['@context', '@type', '@id'])
    const nameless = await ask('get', 'members-missing', { member: 'data.name' })
    t.notOk('name' in nameless.data)
    t.ok('description' in nameless.data)
    t.notOk('client' in (await ask('create', 'members-missing', { member: 'client' })))
    t.same((await ask('list', 'not-a-list')).ItemList, { first: {} })
    const { headers } = await calls.list()
    await order('list-large')
    const large = await sandbox.api.inject({ url: '/apps/v1', headers })
    t.ok(large.payload.length > 32 * 1024 * 1024)
    t.same(large.json(), (await sandbox.api.inject({ url: '/apps/v1', headers })).json())

    const shapes = [
      await ask('create', '422-sentence'),
      await ask('create', '422-fields'),
      await ask('create', '422-oauth'),
    ]
    t.match(shapes, [
      { status: 422, error: { status: 422, message: 'The name is taken.' } },
      { status: 422, error: { message: { name: [/Longer/, 'Taken.'], planet: [/planet/] } } },
      { status: 422, error: 'invalid_request' },
    ])
  },
)

t.test('a fault can answer any API call with 401, either once or always', async t => {
  const { sandbox, order, show } = await buildFaultLab(t)
  const calls = await platformCalls(sandbox)
  const always = await order('api-401', { times: 'always', clientId: seeded.clientId })
  for (const place of ['list', 'get', 'groups', 'list'] as const) {
    const raw = await askRaw(sandbox.api, await calls[place]())
    t.match(raw, { status: 401, headers: { 'www-authenticate': /Bearer .*error="invalid_token"/ } }, place)
  }
  t.match(await show(always.id), { status: 'waiting', consumed: 4 })
})

t.test(
  'if a client follows the redirect that a fault sends, the request to the trap is a step of the login, and the login gets a notice',
  async t => {
    const { sandbox, order, call, steps } = await buildFaultLab(t)
    for (const status of [302, 307]) {
      const { id } = await order(`exchange-redirect-${status}`)
      const code = await getCode(sandbox, { state: `the-state-of-${status}` })
      const sent = { code, state: `the-state-of-${status}` }
      const { location } = (await exchange(sandbox, sent)).headers
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const payload = new URLSearchParams({ ...sent, client_secret: seeded.clientSecret }).toString()
      const url = String(location)
      const trapped = await sandbox.portal.inject(status === 302 ? { url } : { method: 'POST', url, headers, payload })
      t.equal(trapped.statusCode, 400)
      const query = `clientId=${seeded.clientId}&state=the-state-of-${status}`
      const { logins } = (await call('GET', `/lab/v1/logins?${query}`)).json()
      const login = (await call('GET', `/lab/v1/logins/${logins[0].id}`)).json()
      t.match(login.steps.slice(-2), [
        { kind: 'exchange', response: { status }, fault: { id, name: `exchange-redirect-${status}` } },
        { kind: 'trap', reason: 'redirect-followed', fault: { id }, explanation: { mend: /Turn off redirects/ } },
      ])
      t.match(
        login.noticed.find(({ id }: { id: string }) => id === 'followed-redirect'),
        { why: /client secret/, mend: /Turn off redirects/ },
      )
      t.equal(typeof login.steps.at(-1).request.body.client_secret, status === 302 ? 'undefined' : 'object', 'hidden')
      t.match(
        (await call('GET', `/logins/${login.id}`)).body,
        /<li [^>]*class="step failed">(?:(?!<li).)*Follows a redirect to a trap.*redirected the client to this address/s,
      )
    }
    t.equal((await sandbox.portal.inject('/trap/00000000-0000-4000-8000-000000000000')).statusCode, 404)
    t.equal((await steps()).filter(({ kind }) => kind === 'trap').length, 2)
  },
)

t.test('a fault can answer with any other status from 400 to 599', async t => {
  const { sandbox, order, call } = await buildFaultLab(t)
  const calls = await platformCalls(sandbox)
  for (const status of [402, 418, 599]) {
    await order('list-status', { options: { status, retryAfter: 1 } })
    const raw = await askRaw(sandbox.api, await calls.list())
    t.match(raw, { status, headers: { 'retry-after': '1' } })
    t.equal(JSON.parse(raw.body).error.status, status)
  }
  const { error } = (await call('POST', '/lab/v1/faults', { fault: 'list-status', options: { status: 200 } })).json()
  t.same(error.message, { 'options.status': ['This must be a whole number from 400 to 599.'] })
})

t.test(
  'if a fault has changed a step, the login’s JSON, the HAR, the event stream and the page contain the name of the fault',
  async t => {
    const { sandbox, order, call } = await buildFaultLab(t)
    await sandbox.lab!.listen({ host: '127.0.0.1', port: 0 })
    const { port } = sandbox.lab!.server.address() as { port: number }
    const events = connect(port, '127.0.0.1').setEncoding('utf8')
    events.write(`GET /lab/v1/events HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`)
    await once(events, 'data')
    await order('exchange-503')
    const sent = new Promise<string>(resolve => {
      let text = ''
      events.on('data', piece => {
        text += piece
        if (text.includes('exchange-503')) resolve(text)
      })
    })
    await exchange(sandbox, { code: await getCode(sandbox) })
    t.match(await sent, /"fault":{"id":"[\w-]+","name":"exchange-503","acted":"before"}/)
    events.destroy()
    const { logins } = (await call('GET', '/lab/v1/logins')).json()
    t.match(logins[0], { outcome: 'under way', faults: ['exchange-503'] })
    const har = (await call('GET', `/lab/v1/logins/${logins[0].id}/har`)).json()
    t.equal(har.log.entries.at(-1).comment, 'fault exchange-503')
    t.match((await call('GET', `/logins/${logins[0].id}`)).body, /exchange-503.*before the platform had acted/s)
    t.match((await call('GET', '/')).body, /exchange-503/)
  },
)

t.test(
  'if a client closes the connection while a fault delays the answer, the platform does not act afterwards, and does not undo what it has already done',
  async t => {
    const { sandbox, order, steps, untilConsumed } = await buildFaultLab(t)
    const calls = await platformCalls(sandbox)
    for (const name of ['exchange-late', 'exchange-late-after']) {
      const { id } = await order(name, { options: { seconds: 30 } })
      const call = await calls.exchange()
      await askRaw(sandbox.portal, call, { untilThen: () => untilConsumed(id) })
      while (!(await steps()).some(({ fault }) => fault?.id === id)) await new Promise(setImmediate)
      // When this request is answered, the platform has finished all earlier work.
      await askRaw(sandbox.portal, await calls.exchange())
      t.equal(await call.hasActed?.(), name === 'exchange-late-after', name)
    }
  },
)

t.test(
  'the sandbox stops immediately, even if a fault is still sending an answer that the client does not read',
  async t => {
    const { sandbox, order, untilConsumed } = await buildFaultLab(t)
    const calls = await platformCalls(sandbox)
    const faults = [
      'list-never',
      'list-late',
      'list-drip',
      'list-endless-body',
      'list-endless-header',
      'list-slow-header',
    ]
    const sockets = []
    for (const fault of faults) {
      const { id } = await order(fault, fault === 'list-late' ? { options: { seconds: 30 } } : {})
      const { url, headers } = await calls.list()
      const socket = await openSocket(sandbox.api)
      // The client reads nothing, so the platform cannot write more than the start of an endless answer.
      socket.pause()
      socket.write(`GET ${url} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: ${headers.authorization}\r\n\r\n`)
      await untilConsumed(id)
      sockets.push(socket)
    }
    const begun = performance.now()
    await sandbox.close()
    t.ok(performance.now() - begun < 2000, `${performance.now() - begun} ms`)
    for (const socket of sockets) socket.destroy()
  },
)

t.test('a fault can change or remove any field of the portal’s metadata', async t => {
  const { sandbox, order } = await buildFaultLab(t)
  const ask = async () => (await sandbox.portal.inject('/.well-known/oauth-authorization-server')).json()
  const usual = await ask()
  await order('metadata-members', { options: { members: { token_endpoint: 'https://a.example/', jwks_uri: null } } })
  const { jwks_uri: _, ...others } = usual
  t.same(await ask(), { ...others, token_endpoint: 'https://a.example/' })
  await order('metadata-issuer-other')
  t.same(await ask(), { ...usual, issuer: 'https://portal.example' })
  await order('metadata-pkce-plain')
  t.same(await ask(), { ...usual, code_challenge_methods_supported: ['plain'] })
  await order('metadata-pkce-missing')
  t.notOk('code_challenge_methods_supported' in (await ask()))
  await order('metadata-iss-not-promised')
  t.notOk('authorization_response_iss_parameter_supported' in (await ask()))
  t.same(await ask(), usual)
  for (const members of [undefined, null, ['a'], 'a'])
    await t.rejects(order('metadata-members', { options: { members } }), /must be an object/)
})

t.test('a fault can add headers to an answer, replace the body of an answer, or replace the ids in it', async t => {
  const { sandbox, order } = await buildFaultLab(t)
  const calls = await platformCalls(sandbox)
  const send = async ({ method, url, headers, body }: PlatformCall) =>
    sandbox.api.inject({ method: method as 'GET', url, headers, ...(body && { payload: body }) })
  const list = async () => send(await calls.list())
  const create = async () => send(await calls.create())
  await order('list-headers', { options: { headers: { 'set-cookie': 'a=b; Path=/', 'x-other': 'one' } } })
  const answer = await list()
  t.match(answer.headers, { 'set-cookie': 'a=b; Path=/', 'x-other': 'one' })
  t.ok(answer.json().ItemList.length > 0)
  for (const headers of [{ 'content-length': '1' }, { a: 'one\r\ntwo' }, { a: 1 }, 'a', { 'a b': 'c' }])
    await t.rejects(order('list-headers', { options: { headers } }), /must be an object of at most 20 headers/)
  await order('list-answer', { options: { status: 502, body: '<h1>Bad gateway</h1>' } })
  t.match(await list(), {
    statusCode: 502,
    body: '<h1>Bad gateway</h1>',
    headers: { 'content-type': 'text/html; charset=utf-8' },
  })
  for (const id of ['../x', 7, null]) {
    await order('list-id', { options: { id } })
    const { ItemList: items } = (await list()).json()
    t.ok(items.length > 0 && items.every((item: Record<string, unknown>) => item['@id'] === id), `${id}`)
  }
  await order('create-id', { options: { id: '//elsewhere.example' } })
  t.match((await create()).json(), { '@id': '//elsewhere.example' })
  await order('list-deep')
  t.match((await list()).body, /^\{"ItemList":\[{100000}\]{100000}\}$/)
})

t.test('if the platform answers without a body, a fault does not say that the platform has not acted', async t => {
  const { sandbox, order } = await buildFaultLab(t)
  const calls = await platformCalls(sandbox)
  for (const [place, status] of [
    ['remove', 204],
    ['unlink', 204],
    ['revoke', 200],
  ] as const) {
    const call = await calls[place]()
    await order(`${place}-headers`, { options: { headers: { 'x-other': 'one' } } })
    const raw = await askRaw(sandbox[call.listener], call)
    t.match(raw, { status, body: '', headers: { 'x-other': 'one' } }, place)
    for (const kind of ['gzip', 'half-after', 'cut-after']) {
      const again = await calls[place]()
      await order(`${place}-${kind}`)
      const { body } = await askRaw(sandbox[again.listener], again)
      const text = kind === 'gzip' ? gunzipSync(Buffer.from(body, 'latin1')).toString() : body
      t.match(text, /^\{"answer":"The platform has acted\./, `${place}-${kind}`)
    }
  }
})

t.test('a fault can send a small compressed answer that decompresses to 32 MiB', async t => {
  const { sandbox, order } = await buildFaultLab(t)
  const { url, headers: sent } = await (await platformCalls(sandbox)).list()
  await order('list-gzip-bomb')
  const { rawPayload, headers } = await sandbox.api.inject({ url, headers: sent })
  t.equal(headers['content-encoding'], 'gzip')
  t.ok(rawPayload.length < 256 * 1024, `${rawPayload.length}`)
  const text = gunzipSync(rawPayload)
  t.ok(text.length > 32 * 1024 * 1024)
  // A gzip member ends with the length of its unpacked content (RFC 1952 2.3.1).
  t.equal(rawPayload.readUInt32LE(rawPayload.length - 4), text.length, 'the answer must be one gzip member')
  t.same(JSON.parse(text.subarray(-5000).toString().trim()).ItemList.length > 0, true)
})
