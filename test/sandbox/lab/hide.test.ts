// Tests that the laboratory keeps no secret, but still shows which values are equal.
import { randomBytes, randomUUID } from 'node:crypto'
import t from 'tap'
import { explainRefusal } from '../../../src/sandbox/lab/explain/explain-refusal.ts'
import { mostStepBytes, mostStepValues } from '../../../src/sandbox/lab/record/allowance.ts'
import { createHide } from '../../../src/sandbox/lab/record/hide.ts'
import { createLogins } from '../../../src/sandbox/lab/record/logins.ts'
import { recordStep } from '../../../src/sandbox/lab/record/record.ts'
import { type HiddenState, identityOf, type Values } from '../../../src/sandbox/lab/record/recorded.ts'
import type { Step } from '../../../src/sandbox/observe/steps.ts'

const at = new Date('2026-03-01T12:00:00Z')
const hidden = (text: string) => createHide(Buffer.alloc(32)).value('state', text, at) as HiddenState

t.test(
  'the laboratory replaces a secret with a hash, so that a developer can see which secrets are equal, but not their values',
  async t => {
    const hide = createHide()
    const secret = randomBytes(32).toString('base64url')
    const value = hide.value('client_secret', secret, at)
    t.equal(identityOf(value), identityOf(hide.value('client_secret', secret, at)))
    t.not(identityOf(value), identityOf(hide.value('client_secret', `${secret}x`, at)))
    t.not(
      identityOf(value),
      identityOf(createHide().value('client_secret', secret, at)),
      'another process must make another hash',
    )
    t.notMatch(JSON.stringify(value), secret.slice(0, 6))
  },
)

t.test(
  'the laboratory shows a value only if the name of the value is on the list of names whose values are not secret',
  async t => {
    const hide = createHide()
    const values = hide.values(
      Object.entries({ client_id: 'app-1', clientsecret: 'misspelled', Authorization: 'Basic abc', cookie: 'a=b' }),
      at,
    )
    t.equal(values.client_id, 'app-1')
    for (const name of ['clientsecret', 'Authorization', 'cookie']) t.type(values[name], 'object', name)
  },
)

t.test(
  'if a request contains a field twice, the laboratory keeps both values; any string can be the name of a field',
  async t => {
    const values = createHide().values(
      [
        ['client_id', 'one'],
        ['client_id', 'two'],
        ['__proto__', 'x'],
        ['data', { name: 'Weather', clientSecret: 's', list: ['a', 'b'] }],
      ],
      at,
    )
    t.same(values.client_id, ['one', 'two'])
    t.ok(Object.hasOwn(values, '__proto__'))
    t.equal(values['data.name'], 'Weather')
    t.type(values['data.clientSecret'], 'object')
    t.equal([values['data.list']].flat().length, 2)
  },
)

t.test('the laboratory calculates an upper limit for the number of random bits in a state value', async t => {
  const rows: [string, number, number][] = [
    [randomBytes(16).toString('base64url'), 128, 132],
    [randomBytes(16).toString('hex'), 128, 128],
    [randomUUID(), 122, 122],
    ['123456', 19, 19],
    ['a'.repeat(40), 0, 0],
    ['abab'.repeat(10), 40, 40],
    ['', 0, 0],
  ]
  for (const [text, least, most] of rows) {
    const { bits } = hidden(text)
    t.ok(bits >= least && bits <= most, `${text}: ${bits} bits`)
  }
})

t.test('if a secret is not a state value, the laboratory keeps only its hash and its length', async t => {
  const value = createHide().value('code_verifier', randomBytes(32).toString('base64url'), at)
  t.same(Object.keys(value), ['hash', 'length'])
})

t.test(
  'the laboratory recognises a state value that is just the current time, in seconds or in milliseconds',
  async t => {
    for (const text of [`${at.getTime()}`, `${at.getTime() / 1000}`, `${at.getTime() - 5000}`])
      t.ok(hidden(text).isTime, text)
    for (const text of ['1234567890', '20260301120000', 'abc', '']) t.notOk(hidden(text).isTime, text)
  },
)

t.test(
  'whichever part of a request or an answer contains a secret, the laboratory does not keep the secret',
  async t => {
    const secrets = {
      code: 'SECRETcode0123456789012345678',
      state: 'SECRETstate345678901234567890',
      client_secret: 'SECRETclient5678901234567890123456789012345',
      refresh_token: 'SECRETrefresh89012345678901234',
      access_token: 'SECRETheader.payload.signature',
    }
    const step: Step = {
      id: 'step-1',
      requestId: 'request-1',
      at,
      listener: 'portal',
      kind: 'exchange',
      route: '/api/exchangeToken',
      durationMs: 3,
      request: {
        method: 'POST',
        url: `/api/exchangeToken?${new URLSearchParams({ code: secrets.code })}`,
        headers: {
          authorization: `Bearer ${secrets.access_token}`,
          cookie: `a=${secrets.state}`,
          host: '127.0.0.1:4000',
        },
        body: { ...secrets, nested: [{ deep: { token: secrets.access_token } }] },
      },
      response: {
        status: 200,
        headers: {
          'content-type': 'application/json',
          'set-cookie': `session=${secrets.state}`,
          location: `http://localhost:3000/exchangeToken?${new URLSearchParams({ code: secrets.code, client_id: 'app-1' })}`,
        },
        body: JSON.stringify({ ...secrets, clientSecrets: [secrets.client_secret], token_type: 'Bearer' }),
      },
      about: { claimedClientId: 'app-1' },
      checks: [{ name: 'state', passed: false, expected: secrets.state, received: secrets.code }],
      reason: 'state-differs',
    }
    const recorded = recordStep(step, createHide())
    t.notMatch(JSON.stringify(recorded), /SECRET/)
    t.match(recorded, {
      request: { path: '/api/exchangeToken', headers: { host: '127.0.0.1:4000' } },
      response: {
        body: { token_type: 'Bearer' },
        location: { client_id: 'app-1', redirect_uri: 'http://localhost:3000/exchangeToken' },
      },
      checks: [{ name: 'state', passed: false }],
    })
    t.equal(
      identityOf([recorded.request.body.code].flat()[0]),
      identityOf([recorded.response.location.code].flat()[0]),
      'equal codes must have equal hashes, in a request and in an answer',
    )
    t.notMatch(
      JSON.stringify(
        recordStep({ ...step, route: '(none)', request: { ...step.request, url: '/SECRETpath' } }, createHide()),
      ),
      /SECRET/,
      'the path of an unknown address may contain a secret',
    )
  },
)

t.test(
  'if a client sends a whole callback address, the laboratory shows the address, but hides the values of its parameters',
  async t => {
    const hide = createHide()
    const show = (name: string, text: string) => hide.value(name, text, at)
    const callback = 'http://localhost:3000/exchangeToken'
    const sent = `${callback}?code=SECRETcode&state=SECRETstate=1`
    const shown = `${callback}?code=hidden-${hide.hash('SECRETcode')}&state=hidden-${hide.hash('SECRETstate=1')}`
    const { request, checks } = recordStep(
      {
        id: 'step-1',
        requestId: 'request-1',
        at,
        listener: 'portal',
        kind: 'exchange',
        route: '/',
        durationMs: 1,
        request: {
          method: 'POST',
          url: `/?${new URLSearchParams({ redirect_uri: sent })}`,
          headers: {},
          body: { redirect_uri: sent },
        },
        response: { status: 400, headers: {}, body: undefined },
        about: {},
        checks: [{ name: 'redirect_uri', passed: false, expected: callback, received: sent }],
        reason: 'redirect-uri-differs',
      },
      hide,
    )
    t.same([request.query.redirect_uri, request.body.redirect_uri], [shown, shown])
    t.match(checks, [{ expected: callback, received: shown }])
    t.equal(
      show('cancel_url', `${callback}?a=&b#access_token=SECRET`),
      `${callback}?a=&b#access_token=hidden-${hide.hash('SECRET')}`,
    )
    t.equal(show('redirect_uri', `${callback}?${randomUUID()}`), `${callback}?(other name)`)
    t.equal(show('webPageUrl', 'https://me:SECRET@client.example/a@b'), 'https://(hidden)@client.example/a@b')
    t.equal(
      show('redirectUris', `${callback},${callback}?code=SECRET,https://me:SECRET@client.example/`),
      `${callback},${callback}?code=hidden-${hide.hash('SECRET')},https://(hidden)@client.example/`,
    )
    t.equal(
      show('redirectUris', `https://me:SEC,RET@client.example/,\n https://me:SECRET@client.example/`),
      'https://(hidden)@client.example/,\n https://(hidden)@client.example/',
    )
    t.equal(show('redirectUris', `${callback}?code=SEC,RET`), `${callback}?code=hidden-${hide.hash('SEC,RET')}`)
    t.equal(show('name', 'Is this shown? a=b'), 'Is this shown? a=b')
  },
)

t.test(
  'if a client sends a secret as the name of a field, the laboratory does not keep the name; it shows short names and the names in metadata',
  async t => {
    const secret = randomBytes(32).toString('base64url')
    const json = `{"grant_type":"authorization_code","code":"${secret}","redirect_uri":"http://localhost/?name`
    const names = [json, secret, 'A1b2C3d4E5f6G7h8I9j0K1', `a.${secret}`, 'two words']
    const values = createHide().values(
      [...names.map((name): [string, string] => [name, '1']), ['data', { [secret]: 'x', name: 'Weather' }]],
      at,
    )
    t.same(Object.keys(values), ['(other name)', 'data.(other name)', 'data.name'])
    t.equal([values['(other name)']].flat().length, names.length)
    for (const value of [values['(other name)']].flat()) t.type(value, 'object')
    const shown = ['client-id', 'client_secrett', 'redirectUris[]', '@type', 'code_challenge_method', '']
    const metadata = ['authorization_response_iss_parameter_supported', 'revocation_endpoint']
    t.same(
      Object.keys(
        createHide().values(
          [...shown, ...metadata].map((name): [string, string] => [name, '1']),
          at,
        ),
      ),
      [...shown, ...metadata],
    )
  },
)

t.test('the laboratory hides a client ID that may be a secret, unless a client has this ID', async t => {
  const secret = randomBytes(32).toString('base64url')
  const hide = createHide()
  const record = (clientId: string, knownClientId?: string) =>
    recordStep(
      {
        id: 'step-1',
        requestId: 'request-1',
        at,
        listener: 'portal',
        kind: 'authorize',
        route: '/',
        durationMs: 1,
        request: { method: 'GET', url: `/?client_id=${clientId}&state=a`, headers: {}, body: { clientId } },
        response: { status: 400, headers: {}, body: undefined },
        about: { claimedClientId: clientId, knownClientId },
        checks: [],
        reason: knownClientId ? undefined : 'client-unknown',
      },
      hide,
    )
  const swapped = record(secret)
  t.notMatch(JSON.stringify(swapped), secret.slice(0, 6))
  t.equal(swapped.about.claimedClientId, `#${hide.hash(secret)}`)
  t.match(explainRefusal(swapped, { steps: [swapped] }).fix, /swapped/)
  const logins = createLogins()
  const login = logins.record(swapped)
  t.equal(
    logins.record(record(secret)),
    login,
    'a later step with the same hidden client ID must belong to the same login',
  )
  t.same(logins.list({ state: hide.hash('a') }), [login])
  for (const readable of ['nobody', randomUUID()]) {
    t.equal(record(readable).request.query.client_id, readable)
    t.equal(record(readable).about.claimedClientId, readable)
  }
  const chosen = 'the-client-that-the-operator-has-chosen'
  t.equal(record(chosen, chosen).request.query.client_id, chosen)
  t.equal(record(chosen).request.body.clientId, chosen, 'the laboratory must remember that a client has this ID')
})

/** Returns all values that the laboratory keeps, whatever their names are. */
const valuesOf = (values: Values) => Object.values(values).flat()

t.test('whatever a client sends, the laboratory keeps at most 200 values and 8 KiB of one step', async t => {
  const list = (length: number, text = '1') => Array.from({ length }, () => text)
  const fields = (length: number, value: unknown) =>
    Object.fromEntries(list(length).map((_, index) => [`field-${index}`, value]))
  // In JSON, these characters take one byte, four bytes and six bytes.
  const texts = ['x', '\u{1f600}', '\u0001']
  const bodies = [
    fields(100, list(100)),
    fields(5_000, 1),
    { scopes: list(5_000, 'a') },
    { data: fields(30, fields(30, list(9))) },
    ...texts.map(text => ({ name: text.repeat(9_000) })),
    ...texts.map(text => fields(30, { name: list(2, text.repeat(2_000)) })),
    ...texts.map(text => ({ [text.repeat(9_000)]: { [text.repeat(9_000)]: text } })),
    fields(5, { redirectUris: list(20, 'https://client.example.test/'.padEnd(2_048, 'a')) }),
  ]
  for (const [index, body] of bodies.entries())
    for (const text of texts) {
      const long = text.repeat(3_000)
      const parameters = new URLSearchParams({ client_id: long, state: long, redirect_uri: long, [long]: long })
      const recorded = recordStep(
        {
          id: 'step-1',
          requestId: 'request-1',
          at,
          listener: 'portal',
          kind: 'consent',
          route: '/',
          durationMs: 1,
          request: { method: 'POST', url: `/?${parameters}`, headers: { 'user-agent': long, [long]: long }, body },
          response: {
            status: 200,
            headers: { location: `https://client.example.test/${'a'.repeat(9_000)}?${parameters}`, allow: long },
            body: JSON.stringify(body),
          },
          about: { claimedClientId: long, startPath: `/?${parameters}` },
          checks: list(7).map((_, check) => ({
            name: 'redirect_uri',
            passed: false,
            expected: [list(5_000, text), list(30, long)][check] ?? long,
            received: long,
          })),
          reason: 'redirect-uri-differs',
        },
        createHide(),
      )
      const { request, response, start = {}, checks } = recorded
      const kept = [start, request.headers, request.query, request.body]
      const size = Buffer.byteLength(JSON.stringify(recorded))
      const values = [...kept, response.headers, response.body, response.location].flatMap(valuesOf)
      t.ok(size <= mostStepBytes, `body ${index}: ${size} bytes`)
      values.push(...checks.flatMap(({ expected, received }) => [expected ?? [], received ?? []].flat()))
      t.ok(values.length <= mostStepValues, `body ${index}: ${values.length} values`)
      t.equal(recorded.isShortened, true)
    }
})

t.test(
  'if a step is too long, the laboratory shortens it and says so; the values that identify the login are kept',
  async t => {
    const record = (body: object) =>
      recordStep(
        {
          id: 'step-1',
          requestId: 'request-1',
          at,
          listener: 'portal',
          kind: 'exchange',
          route: '/',
          durationMs: 1,
          request: {
            method: 'POST',
            url: '/?access_token=a',
            headers: { other: 'b', authorization: 'Bearer c' },
            body,
          },
          response: { status: 200, headers: {}, body: '{"refresh_token":"d"}' },
          about: {},
          checks: [],
          reason: undefined,
        },
        createHide(),
      )
    t.equal(record({ code: 'e' }).isShortened, false)
    const { isShortened, request, response } = record({ code: 'e', long: Array.from({ length: 9_000 }, () => 'f') })
    t.equal(isShortened, true)
    const short = record({ scopes: Array.from({ length: 9_000 }, () => 'f') })
    const { headers, query, body } = short.request
    t.equal([headers, query, body, short.response.body].flatMap(valuesOf).length, mostStepValues)
    t.ok(
      request.query.access_token && request.headers.authorization && response.body.refresh_token && request.body.code,
    )
  },
)
