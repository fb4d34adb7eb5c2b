// How a developer orders faults: the catalogue of faults, refused orders, and the requests that consume a fault.
import { readFileSync } from 'node:fs'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { catalogue } from '../../../src/sandbox/lab/faults/catalogue.ts'
import { furtherHeaders } from '../../../src/sandbox/lab/faults/connection-kinds.ts'
import { isAllowedValue } from '../../../src/sandbox/lab/faults/kind.ts'
import { createOrderedFaults } from '../../../src/sandbox/lab/faults/orders.ts'
import { exchange } from '../support/browser.ts'
import { seeded } from '../support/build-test-sandbox.ts'
import { getCode, getTokens, makeOtherClient, refresh } from '../support/tokens.ts'
import { buildFaultLab } from './support/fault-lab.ts'

const own = { clientId: seeded.clientId }

t.test(
  'the catalogue lists the name, effect and options of each fault, and says whether the fault happens before or after the platform acts',
  async t => {
    const { call } = await buildFaultLab(t)
    const { faults } = (await call('GET', '/lab/v1/faults/catalogue')).json()
    t.ok(faults.length > 800, `${faults.length}`)
    t.equal(new Set(faults.map(({ fault }: { fault: string }) => fault)).size, faults.length)
    const find = (name: string) => faults.find(({ fault }: { fault: string }) => fault === name)
    for (const place of ['update', 'remove'])
      t.match(find(`${place}-412`), { place, acted: 'before', does: /412 Precondition Failed/ })
    t.match(find('exchange-503'), { place: 'exchange', acted: 'before', does: /503 Service Unavailable/ })
    t.match(find('exchange-503-after'), {
      acted: 'after',
      options: { retryAfter: { allowed: /whole number/, default: null } },
    })
    t.match(find('exchange-late'), { options: { seconds: { allowed: 'a number from 0 to 60', default: 5 } } })
    t.equal(find('list-503-after'), undefined, 'reading must not change the fault')
    t.match(find('list-cut'), { acted: 'after' })
    const ofList = (await call('GET', '/lab/v1/faults/catalogue?place=list')).json().faults
    t.ok(ofList.length > 20)
    t.ok(ofList.every(({ place }: { place: string }) => place === 'list'))
    t.match((await call('GET', '/lab/v1/faults/catalogue?place=toString')).json().error, {
      status: 422,
      message: { place: [/exchange, refresh/] },
    })
  },
)

t.test('if a fault order is wrong, the answer names each wrong field and its allowed values', async t => {
  const { call } = await buildFaultLab(t)
  const rows: [body: unknown, message: Record<string, RegExp>][] = [
    [[], { fault: /JSON object/ }],
    [{}, { fault: /Name a fault, such as exchange-503, or give place and kind/ }],
    [{ fault: 'exchange-504-befor' }, { fault: /Did you mean exchange-504-after or .*faults\/catalogue lists all/ }],
    [{ fault: 'echange-state-othr' }, { fault: /Did you mean exchange-state-other or / }],
    [{ fault: 'x'.repeat(20_000) }, { fault: /^There is no such fault. GET/ }],
    [{ fault: 7 }, { fault: /no such fault/ }],
    [{ fault: 'constructor' }, { fault: /no such fault/ }],
    [
      { fault: 'list-401', place: 'list', when: 'after' },
      { place: /already decides this/, when: /already decides this/ },
    ],
    [{ place: 'exchang', kind: 'reset' }, { place: /Did you mean exchange\?/ }],
    [{ place: 'constructor', kind: 'reset' }, { place: /no such place/ }],
    [{ place: 'list', kind: 'long-lst' }, { kind: /at this place. Did you mean long-list\?/ }],
    [{ place: 'list' }, { kind: /no such fault kind/ }],
    [{ kind: 'reset' }, { place: /no such place/ }],
    [{ place: 'list', kind: 'reset', when: 'after' }, { when: /must be "before", or be left out/ }],
    [{ place: 'exchange', kind: 'reset', when: 'often' }, { when: /must be "before" or "after"/ }],
    [{ place: 'exchange', kind: 'status' }, { 'options.status': /a whole number from 400 to 599/ }],
    [
      { place: 'exchange', kind: 'member', options: { member: 'x', value: 1 } },
      { 'options.member': /one of access_token/ },
    ],
    [
      { fault: 'exchange-503', options: { status: 500 } },
      { 'options.status': /The options of this fault are retryAfter, error\./ },
    ],
    [{ fault: 'list-401', client: 'x' }, { client: /The fields are fault, place, kind, when, clientId, state/ }],
    [
      { fault: 'list-401', clientId: 7, state: '' },
      { clientId: /a string of 1 to 200/, state: /a string of 1 to 200/ },
    ],
    [
      { fault: 'list-401', skip: -1, times: 0 },
      { skip: /from 0 to 1000/, times: /from 1 to 1000, or "always"/ },
    ],
    [
      { fault: 'list-401', skip: 1.5, times: 'often' },
      { skip: /whole/, times: /whole/ },
    ],
    [{ fault: 'list-401', options: [] }, { options: /object/ }],
    [
      { fault: 'lst-401', options: [] },
      { fault: /no such fault/, options: /object/ },
    ],
    [{ fault: 'list-401', clientId: 'x'.repeat(201) }, { clientId: /a string of 1 to 200/ }],
    [
      { fault: 'list-401', options: { seconds: 1 } },
      { 'options.seconds': /The options of this fault are retryAfter\./ },
    ],
    [{ fault: 'list-reset', options: { seconds: 1 } }, { 'options.seconds': /has no options/ }],
    [{ fault: 'list-late', options: { seconds: '5' } }, { 'options.seconds': /a number from 0 to 60/ }],
    [{ fault: 'list-late', options: { seconds: 61 } }, { 'options.seconds': /a number from 0 to 60/ }],
    [{ fault: 'list-429', options: { retryAfter: 'a\nb' } }, { 'options.retryAfter': /printable/ }],
    [{ fault: 'exchange-expires-in' }, { 'options.value': /any JSON/ }],
    [{ fault: 'exchange-expires-in', options: { value: 'x'.repeat(9999) } }, { 'options.value': /10,000 characters/ }],
    [
      { fault: 'metadata-members', options: { members: { issuer: 'x'.repeat(10_000) } } },
      { 'options.members': /10,000 characters of JSON/ },
    ],
    [{ fault: 'metadata-members', options: { members: [] } }, { 'options.members': /an object of/ }],
    [{ fault: 'metadata-503', clientId: 'x' }, { clientId: /do not name a client/ }],
  ]
  for (const [body, message] of rows) {
    const { error } = (await call('POST', '/lab/v1/faults', body as object)).json()
    const words = JSON.stringify(body).slice(0, 100)
    t.equal(error.status, 422, words)
    t.same(Object.keys(error.message).sort(), Object.keys(message).sort(), words)
    for (const [field, pattern] of Object.entries(message)) t.match(error.message[field]?.[0], pattern)
  }
  t.same((await call('GET', '/lab/v1/faults')).json(), { faults: [] })
})

t.test(
  'if the value of an option is nested too deeply, the laboratory refuses this option, and not the whole body',
  async t => {
    const { sandbox } = await buildFaultLab(t)
    for (const levels of [5_000, 100_000]) {
      const value = `${'['.repeat(levels)}1${']'.repeat(levels)}`
      const answer = await sandbox.lab!.inject({
        method: 'POST',
        url: '/lab/v1/faults',
        headers: { host: '127.0.0.1:4002', 'content-type': 'application/json' },
        payload: `{"fault":"exchange-expires-in","options":{"value":${value}}}`,
      })
      t.match(
        answer.json(),
        { error: { status: 422, message: { 'options.value': [/10,000 characters/] } } },
        `${levels}`,
      )
    }
  },
)

t.test(
  'a fault can add any header that Node can send, but no header that describes the body or the connection',
  async t => {
    const { call } = await buildFaultLab(t)
    // Node treats these names in its own way.
    const special = [
      'connection',
      'content-disposition',
      'content-length',
      'date',
      'expect',
      'keep-alive',
      'set-cookie',
    ]
    const names = [...special, 'te', 'trailer', 'transfer-encoding', 'upgrade', 'x-any', '__proto__', '-']
    const canBeSent = (name: string, value: string) => {
      const response = new ServerResponse(new IncomingMessage(new Socket()))
      try {
        response.setHeader('content-length', 0).setHeader(name, value).writeHead(200)
        return true
      } catch {
        return false
      }
    }
    for (const name of names)
      for (const value of ['', 'x', '100-continue', 'chunked'])
        t.ok(!isAllowedValue(furtherHeaders, { [name]: value }) || canBeSent(name, value), `${name}: ${value}`)
    const refused = names.filter(name => !isAllowedValue(furtherHeaders, { [name.toUpperCase()]: 'x' }))
    t.same(refused, ['connection', 'content-length', 'trailer', 'transfer-encoding'])
    for (const order of [
      { fault: 'exchange-headers', options: { headers: { Trailer: 'x' } } },
      { fault: 'exchange-answer', options: { status: 200, headers: { Trailer: 'x' } } },
    ])
      t.match((await call('POST', '/lab/v1/faults', order)).json().error.message, { 'options.headers': [/trailer/] })
  },
)

t.test('each option of a fault has limits', async t => {
  const headersOf = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, '']))
  const rows: [fault: string, option: string, allowed: unknown[], refused: unknown[]][] = [
    ['exchange-status', 'status', [400, 599], [399, 600, 400.5, '400']],
    ['exchange-status', 'retryAfter', [0, 86_400, 'x'.repeat(200)], [-1, 86_401, 'x'.repeat(201), 'é', 'a\nb']],
    ['exchange-status', 'error', ['x'.repeat(100), '😀'.repeat(100)], ['x'.repeat(101), '😀'.repeat(101), 5]],
    ['exchange-answer', 'body', ['x'.repeat(65_536)], ['x'.repeat(65_537), 'é'.repeat(32_769)]],
    ['exchange-answer', 'seconds', [0, 0.5, 60], [-1, 61, '1']],
    [
      'exchange-answer',
      'headers',
      [headersOf(20), { a: 'x'.repeat(2000) }],
      [headersOf(21), { a: 'x'.repeat(2001) }, []],
    ],
  ]
  for (const [fault, name, allowed, refused] of rows) {
    const option = catalogue.get(fault)!.options[name]!
    for (const value of allowed) t.ok(isAllowedValue(option, value), `${name}: ${JSON.stringify(value).slice(0, 60)}`)
    for (const value of refused)
      t.notOk(isAllowedValue(option, value), `${name}: ${JSON.stringify(value).slice(0, 60)}`)
  }
})

t.test(
  'the schema that the catalogue publishes for an option is JSON Schema 2020-12, and no other rule refuses one of these values',
  async t => {
    const ajv = new Ajv2020({ strict: false })
    const headers = Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`x-${index}`, '']))
    const objects = [{}, [], { a: 'b' }, { a: 'é' }, { a: 5 }, { 'a b': '' }, { trailer: 'x' }, headers]
    const values = [...objects, '', 'x', 'é', 'a\nb', 'x'.repeat(201), -1, 0, 1.5, 401, 86_401, true, null, '401']
    const options = new Set([...catalogue.values()].flatMap(fault => Object.values(fault.options)))
    for (const option of options)
      for (const value of values)
        t.equal(
          ajv.validate(option.schema, value),
          isAllowedValue(option, value),
          `${option.about} ${JSON.stringify(value).slice(0, 40)}`,
        )
  },
)

t.test('the laboratory accepts every fault name that was ever in the catalogue', async t => {
  const { order, call } = await buildFaultLab(t)
  const names = readFileSync('test/sandbox/lab/fault-names.txt', 'utf8').trim().split('\n')
  t.equal(names.length, 932)
  t.same(
    names.filter(name => !catalogue.has(name)),
    [],
  )
  // Order only one fault of each kind, because at most two hundred faults can wait.
  const kinds = new Map(names.map(name => [catalogue.get(name)?.kind, name]))
  for (const [kind, name] of kinds) {
    const { options } = catalogue.get(name)!
    const required = Object.entries(options).filter(([, { isRequired }]) => isRequired)
    const values: Record<string, unknown> = { status: 503, value: 1 }
    const given = Object.fromEntries(required.map(([option]) => [option, values[option]]))
    t.equal((await order(name, { options: given })).fault, name, kind ?? '')
  }
  await call('DELETE', '/lab/v1/faults')
})

t.test('an order can name a fault by its short name, or by the fields `place`, `kind` and `when`', async t => {
  const { call, order, sandbox } = await buildFaultLab(t)
  const data = { place: 'exchange', kind: 'status', when: 'after', options: { status: 418, retryAfter: 1 } }
  t.match((await call('POST', '/lab/v1/faults', data)).json(), { ...data, fault: 'exchange-status-after' })
  const { statusCode, headers } = await exchange(sandbox, { code: await getCode(sandbox) })
  t.match([statusCode, headers['retry-after']], [418, '1'])
  t.match(await order('list-503'), { place: 'list', kind: 'status', when: 'before', options: { status: 503 } })
  const usual = (await call('POST', '/lab/v1/faults', { place: 'create', kind: 'cut' })).json()
  t.match(usual, { fault: 'create-cut', when: 'before' })
  const later = (await call('POST', '/lab/v1/faults', { place: 'list', kind: 'cut' })).json()
  t.match(later, { fault: 'list-cut', when: 'after' })
})

t.test('after each request that a fault skips, the fault can wait for another ten minutes', async t => {
  const { order, show, sandbox } = await buildFaultLab(t)
  const { id } = await order('exchange-503', { ...own, skip: 2 })
  for (let count = 0; count < 2; count++) {
    sandbox.passTime(9 * 60_000)
    t.equal((await exchange(sandbox, { code: await getCode(sandbox) })).statusCode, 200)
  }
  sandbox.passTime(9 * 60_000)
  t.match(await show(id), { status: 'waiting' })
  t.equal((await exchange(sandbox, { code: await getCode(sandbox) })).statusCode, 503)
})

t.test(
  'a developer can list, show and remove faults: one fault by its id, all faults of a client, or all faults',
  async t => {
    const { call, order, sandbox } = await buildFaultLab(t)
    const first = await order('exchange-503', { ...own, state: 'a-state' })
    await order('exchange-503', { clientId: 'another' })
    await order('exchange-503')
    const list = async (query = '') => (await call('GET', `/lab/v1/faults${query}`)).json().faults
    t.match(await list(), [{ ...first, hasState: true, clientId: seeded.clientId, status: 'waiting' }, {}, {}])
    t.notMatch(JSON.stringify(await list()), 'a-state', 'a state is secret')
    t.equal((await list('?clientId=another')).length, 1)
    t.equal((await call('DELETE', `/lab/v1/faults/${first.id}`)).statusCode, 204)
    t.match((await call('GET', `/lab/v1/faults/${first.id}`)).json().error, { status: 404 })
    t.same((await call('DELETE', '/lab/v1/faults?clientId=another')).json(), { removed: 1 })
    t.same((await call('DELETE', '/lab/v1/faults')).json(), { removed: 1 })
    t.equal((await exchange(sandbox, { code: await getCode(sandbox) })).statusCode, 200)
  },
)

t.test(
  'if a parameter of a call is misspelled, the call does not remove any faults, and the answer lists the accepted parameters',
  async t => {
    const { order, call } = await buildFaultLab(t)
    await order('exchange-503', { clientId: 'mine' })
    await order('exchange-503', { clientId: 'yours' })
    const refused = async (method: 'GET' | 'DELETE', path: string, body?: object) => {
      const answer = await call(method, `/lab/v1/${path}`, body)
      t.equal(answer.statusCode, 422, `${method} ${path}`)
      return answer.json().error.message
    }
    t.same(await refused('DELETE', 'faults?client_id=mine'), {
      client_id: ['There is no such parameter. The parameters of this call are clientId.'],
    })
    t.match(await refused('DELETE', 'faults?clientId='), { clientId: [/^Send the id of a client/] })
    t.match(await refused('DELETE', 'faults?clientId=mine&clientId=yours'), {
      clientId: ['Send this parameter only once.'],
    })
    t.match(await refused('DELETE', 'faults', { clientId: 'mine' }), {
      body: [/does not read a body.*parameters of this call are clientId/],
    })
    t.equal((await call('GET', '/lab/v1/faults')).json().faults.length, 2, 'the refused calls must not remove a fault')
    t.same((await call('DELETE', '/lab/v1/faults?clientId=mine')).json(), { removed: 1 })
  },
)

t.test('every call of the laboratory refuses unknown parameters', async t => {
  const { call, order } = await buildFaultLab(t)
  const { id } = await order('exchange-503')
  const calls = [
    ['GET', 'faults', 'clientId'],
    ['GET', `faults/${id}`, undefined],
    ['DELETE', `faults/${id}`, undefined],
    ['GET', 'faults/catalogue', 'place'],
    ['GET', 'logins', 'clientId, state, after, wait, noClient, outcome, reason, minutes, page'],
    ['GET', 'logins/none', undefined],
    ['GET', 'events', 'clientId'],
    ['GET', 'mailbox', 'to'],
    ['POST', 'faults', undefined],
    ['POST', 'people', undefined],
    ['POST', 'reset', undefined],
  ] as const
  for (const [method, path, known] of calls) {
    const { statusCode, body } = await call(method, `/lab/v1/${path}?client_id=a`, method === 'POST' ? {} : undefined)
    t.equal(statusCode, 422, `${method} ${path}`)
    const parameters = known ? `The parameters of this call are ${known}.` : 'This call has no parameters.'
    t.same(JSON.parse(body).error.message, { client_id: [`There is no such parameter. ${parameters}`] })
  }
})

t.test(
  'the fields `skip` and `times` of an order say how many requests a fault skips, and how many times it then happens; each changed step names the fault',
  async t => {
    const { order, show, sandbox, steps } = await buildFaultLab(t)
    const { id } = await order('exchange-503', { ...own, skip: 1, times: 2, options: { retryAfter: 7 } })
    const statuses = []
    for (let count = 0; count < 5; count++) {
      const { statusCode, headers } = await exchange(sandbox, { code: await getCode(sandbox) })
      statuses.push([statusCode, headers['retry-after']])
    }
    const usual = [200, undefined]
    t.same(statuses, [usual, [503, '7'], [503, '7'], usual, usual])
    const used = await show(id)
    t.match(used, { status: 'used up', consumed: 2 })
    const consumers = (await steps()).filter(({ fault }) => fault)
    t.match(
      consumers,
      [1, 2].map(() => ({
        kind: 'exchange',
        response: { status: 503 },
        fault: { id, name: 'exchange-503', acted: 'before' },
      })),
    )
    t.same(consumers.map(({ id }) => id).sort(), used.requestIds.sort())
  },
)

t.test('if many requests arrive at the same time, each fault happens exactly as often as its order says', async t => {
  const { order, show, sandbox } = await buildFaultLab(t)
  const before = await order('exchange-503', { ...own, times: 3 })
  const after = await order('exchange-500-after', { ...own, times: 2 })
  const codes = []
  for (let count = 0; count < 12; count++) codes.push(await getCode(sandbox))
  const answers = await Promise.all(codes.map(code => exchange(sandbox, { code })))
  const count = (status: number) => answers.filter(({ statusCode }) => statusCode === status).length
  t.same([count(503), count(500), count(200)], [3, 2, 7])
  t.match(
    [await show(before.id), await show(after.id)],
    [
      { consumed: 3, status: 'used up' },
      { consumed: 2, status: 'used up' },
    ],
  )
})

t.test(
  'if an order is limited to one client, a request with this client’s ID but a wrong secret does not consume the fault',
  async t => {
    const { order, show, sandbox } = await buildFaultLab(t)
    const other = await makeOtherClient(sandbox)
    const mine = await order('exchange-503', own)
    const claims = { client_id: seeded.clientId, client_secret: other.client_secret }
    t.equal((await exchange(sandbox, { code: 'x', ...claims })).json().error, 'invalid_client')
    t.equal((await exchange(sandbox, { code: 'x', ...other })).json().error, 'invalid_grant')
    t.match(await show(mine.id), { consumed: 0 })
    t.equal((await exchange(sandbox, { code: 'x' })).statusCode, 503)

    const { refresh_token: token, access_token: accessToken } = await getTokens(sandbox)
    const others = await order('refresh-503', { clientId: other.client_id })
    const listed = await order('list-401', { clientId: other.client_id })
    t.equal((await refresh(sandbox, token)).statusCode, 200)
    const list = () => sandbox.api.inject({ url: '/apps/v1', headers: { authorization: `Bearer ${accessToken}` } })
    t.equal((await list()).statusCode, 200)
    t.match([await show(others.id), await show(listed.id)], [{ consumed: 0 }, { consumed: 0 }])
    await order('list-401', own)
    t.equal((await list()).statusCode, 401)
  },
)

t.test(
  'if a library adds an Authorization header to a call, the laboratory still uses client_id and client_secret in the body to find the faults of the client',
  async t => {
    const { order, sandbox } = await buildFaultLab(t)
    await order('exchange-503', own)
    const fields = { grant_type: 'authorization_code', code: 'x', client_id: seeded.clientId }
    const answer = await sandbox.portal.inject({
      method: 'POST',
      url: '/api/exchangeToken',
      headers: { authorization: 'Basic YTpi', 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ ...fields, client_secret: seeded.clientSecret }).toString(),
    })
    t.equal(answer.statusCode, 503)
  },
)

t.test(
  'a call with an opaque access token belongs to the login that got this token, so a fault for this login affects the call',
  async t => {
    const { sandbox, order, call } = await buildFaultLab(t)
    const state = 'a-state-of-enough-characters'
    await order('exchange-opaque-access-token')
    const { access_token: token } = (await exchange(sandbox, { code: await getCode(sandbox, { state }), state })).json()
    const listStatus = async () =>
      (await sandbox.api.inject({ url: '/apps/v1', headers: { authorization: `Bearer ${token}` } })).statusCode
    t.equal(await listStatus(), 200)
    await order('list-503', { state })
    t.equal(await listStatus(), 503)
    const { logins } = (await call('GET', '/lab/v1/logins')).json()
    t.equal(logins.length, 1, 'the calls must be steps of the login')
    const { steps } = (await call('GET', `/lab/v1/logins/${logins[0].id}`)).json()
    t.same(
      steps.slice(-2).map(({ route }: { route: string }) => route),
      ['/apps/v1', '/apps/v1'],
    )
  },
)

t.test(
  'if an order contains a state value, the fault happens only to the login with this state; it can also happen to later calls of this login, which do not contain the state',
  async t => {
    const { order, sandbox } = await buildFaultLab(t)
    const [one, two] = ['state-of-one-suite-0123456789', 'state-of-the-other-0123456789']
    await order('exchange-503', { state: two })
    const codeOf = (state: string) => getCode(sandbox, { state })
    const tokens = (await exchange(sandbox, { code: await codeOf(one), state: one })).json()
    t.ok(tokens.access_token)
    const code = await codeOf(two)
    t.equal((await exchange(sandbox, { code, state: two })).statusCode, 503)
    t.equal((await exchange(sandbox, { code, state: two })).statusCode, 200, 'the fault must not have used up the code')
    for (const state of [two, one]) {
      await order('refresh-503', { state })
      await order('list-503', { state })
    }
    t.equal((await refresh(sandbox, tokens.refresh_token)).statusCode, 503)
    t.equal((await refresh(sandbox, tokens.refresh_token)).statusCode, 200)
    const list = () =>
      sandbox.api.inject({ url: '/apps/v1', headers: { authorization: `Bearer ${tokens.access_token}` } })
    t.equal((await list()).statusCode, 503)
    t.equal((await list()).statusCode, 200)
    await order('redirect-code-missing', { state: two })
    t.not(await codeOf(one), '')
    t.equal(await codeOf(two), '')
  },
)

t.test(
  'a fault expires after ten minutes without a matching request, and stays in the list for another ten minutes',
  async t => {
    const { order, show, call, sandbox } = await buildFaultLab(t)
    const { id } = await order('exchange-503', own)
    const always = await order('exchange-503', { clientId: 'another', times: 'always' })
    sandbox.passTime(10 * 60_000 - 1)
    t.match(await show(id), { status: 'waiting' })
    sandbox.passTime(1)
    t.equal((await exchange(sandbox, { code: await getCode(sandbox) })).statusCode, 200)
    t.match(await show(id), { status: 'dropped', consumed: 0, message: /10 minutes/ })
    t.match(await show(always.id), { status: 'dropped' })
    sandbox.passTime(10 * 60_000)
    t.same((await call('GET', '/lab/v1/faults')).json(), { faults: [] })
  },
)

t.test('at most two hundred faults can wait at the same time', async t => {
  const { order, call } = await buildFaultLab(t)
  for (let count = 0; count < 200; count++) await order('exchange-503')
  const { error } = (await call('POST', '/lab/v1/faults', { fault: 'exchange-503' })).json()
  t.match(error, { status: 429, message: /200 faults/ })
  await call('DELETE', '/lab/v1/faults')
  await order('exchange-503')
})

t.test(
  'if a fault changes the answer to an accepted request, a request that the platform refuses does not consume the fault',
  async t => {
    const { order, show, sandbox } = await buildFaultLab(t)
    const { id } = await order('exchange-state-other', own)
    t.equal((await exchange(sandbox, { code: 'none' })).statusCode, 401)
    t.match(await show(id), { consumed: 0 })
    const { access_token, state } = (await exchange(sandbox, { code: await getCode(sandbox) })).json()
    t.ok(access_token)
    t.not(state, 'a-state')
  },
)

t.test(
  'if a fault is removed while the laboratory finds out who sent a request, the fault does not happen to this request',
  async t => {
    const ordered = createOrderedFaults({ clock: () => new Date(), hashState: state => state })
    const everybody = { clientId: undefined, isOfState: () => false }
    for (const isTakenBack of [false, true]) {
      ordered.order({ fault: 'list-503' })
      const candidates = ordered.waitingAt(['list', 'api'], 'before')
      if (isTakenBack) ordered.remove(() => true)
      t.equal(ordered.take(candidates, everybody, 'request-1') === undefined, isTakenBack)
    }
  },
)

t.test(
  'if an order has many unknown fields or options, the answer names ten of them, and shortens long names',
  async t => {
    const { call } = await buildFaultLab(t)
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`name-${index}-${'x'.repeat(200)}`, 1]))
    const namesOf = async (body: object) =>
      Object.keys((await call('POST', '/lab/v1/faults', body)).json().error.message)
    const expected = Object.keys(many)
      .slice(0, 10)
      .map(name => name.slice(0, 100))
    t.strictSame(await namesOf({ fault: 'exchange-503', ...many }), expected)
    t.strictSame(
      await namesOf({ fault: 'exchange-503', options: many }),
      expected.map(name => `options.${name}`),
    )
  },
)

t.test('a dropped fault ended at the time that its order announced, even if nobody looked at this time', async t => {
  const { order, show, call, sandbox } = await buildFaultLab(t)
  const { id, dropsAt } = (await order('exchange-503', own)) as { id: string; dropsAt?: string }
  sandbox.passTime(15 * 60_000)
  t.match(await show(id), { status: 'dropped', overAt: dropsAt })
  await order('exchange-503', own)
  sandbox.passTime(20 * 60_000)
  t.same((await call('GET', '/lab/v1/faults')).json(), { faults: [] }, 'both faults ended ten minutes ago or earlier')
})
