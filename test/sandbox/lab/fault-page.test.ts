// Tests the page of faults without a browser: a visitor finds a fault, orders it with a form, and cancels it. Some
// forms are refused.
import t, { type Test } from 'tap'
import { catalogue } from '../../../src/sandbox/lab/faults/catalogue.ts'
import { type PlaceWords, places } from '../../../src/sandbox/lab/faults/places.ts'
import { seeded } from '../support/build-test-sandbox.ts'
import { getTokens } from '../support/tokens.ts'
import { buildFaultLab } from './support/fault-lab.ts'

type Fields = Record<string, string>

async function openFaultPage(t: Test) {
  const { sandbox, call, steps } = await buildFaultLab(t)
  const headers = { host: '127.0.0.1:4002' }
  const get = (url: string) => sandbox.lab!.inject({ url, headers })
  const post = (url: string, fields: Fields) =>
    sandbox.lab!.inject({
      method: 'POST',
      url,
      headers: { ...headers, origin: 'http://127.0.0.1:4002', 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams(fields).toString(),
    })
  const find = async (name: string, more = '') => readForm((await get(`/faults?words=${name}${more}`)).body, name)
  const ordered = async () => (await call('GET', '/lab/v1/faults')).json().faults
  const list = async (token: string) =>
    sandbox.api.inject({ url: '/apps/v1', headers: { authorization: `Bearer ${token}` } })
  return {
    sandbox,
    call,
    steps,
    get,
    post,
    find,
    ordered,
    list,

    /** Sends the form of a fault as a browser would, with these fields filled in. */
    async order(name: string, fields: Fields = {}, more = '') {
      return post('/faults/order', { ...(await find(name, more)).fields, ...fields })
    },
  }
}

const decode = (html: string) =>
  html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')

/** Reads the form of a fault. Returns the values that a browser would send, and the types of the fields. */
function readForm(page: string, name: string) {
  const start = page.indexOf(`data-fault="${name}"`)
  if (start === -1) throw new Error(`the page has no form for ${name}`)
  const form = page.slice(start, page.indexOf('</form>', start))
  const fields: Fields = {}
  const types: Record<string, string> = {}
  for (const { index, 1: tag = '', 2: attributes = '' } of form.matchAll(/<(input|select|textarea) ([^>]*)>/g)) {
    const attribute = (key: string) => new RegExp(`(?:^| )${key}="([^"]*)"`).exec(attributes)?.[1]
    const inner = form.slice(form.indexOf('>', index) + 1, form.indexOf(`</${tag}>`, index))
    const key = attribute('name')!
    const value = attribute('value') ?? ''
    types[key] = tag === 'input' ? (attribute('type') ?? 'text') : tag
    if (types[key] === 'checkbox') {
      if (/ checked/.test(attributes)) fields[key] = value
    } else if (tag === 'select')
      fields[key] = /<option selected>([^<]*)/.exec(inner)?.[1] ?? /<option>([^<]*)/.exec(inner)![1]!
    else fields[key] = decode(tag === 'textarea' ? inner.replace(/^\n/, '') : value)
  }
  return { fields, types, form }
}

/** For each option without a default: the text that a visitor types, and the value that the option gets. */
const typed: Record<string, [text: string, option: unknown]> = {
  status: ['503', 503],
  kilobytes: ['4', 4],
  count: ['7', 7],
  value: ['{"own":[1]}', { own: [1] }],
  body: ['{"error":"no"}', { error: 'no' }],
  id: ['"../x"', '../x'],
  members: ['{"issuer":null}', { issuer: null }],
  headers: ['Cache-Control: no-store\r\nX-One:two', { 'Cache-Control': 'no-store', 'X-One': 'two' }],
  seconds: ['60', 60],
}

t.test(
  'each form on the page of faults orders its own fault, with the values that the visitor typed into the form',
  async t => {
    const { post, get, ordered, call } = await openFaultPage(t)
    const byPlaceAndKind = new Map([...catalogue.values()].map(fault => [`${fault.place} ${fault.kind}`, fault]))
    const own = [...byPlaceAndKind.values()].map(({ place, kind }) => `${place}-${kind}`)
    // Most fault kinds exist at every place. The test tries these kinds only at some places.
    const names = own
      .filter(name => /^(exchange|redirect|metadata|list|create|api)-/.test(name))
      .filter(name => catalogue.has(name))
    t.ok(names.length > 100, `${names.length}`)
    t.equal(
      new Set(names.map(name => catalogue.get(name)!.kind)).size,
      new Set([...catalogue.values()].map(({ kind }) => kind)).size,
    )
    const pages = new Map<string, string>()
    for (const name of names) {
      const { place, options } = catalogue.get(name)!
      if (!pages.has(place)) pages.set(place, (await get(`/faults?place=${place}`)).body)
      const { fields } = readForm(pages.get(place)!, name)
      const expected: Record<string, unknown> = {}
      const filled: Fields = {}
      for (const [option, { isRequired, schema, default: usual }] of Object.entries(options)) {
        const [first] = schema.enum ?? []
        if (first !== undefined) expected[option] = usual ?? first
        else if (!isRequired) {
          if (usual !== undefined) expected[option] = usual
        } else {
          const [text, value] = option === 'status' && schema.minimum === 200 ? ['299', 299] : typed[option]!
          filled[`options.${option}`] = text
          expected[option] = value
        }
      }
      const answer = await post('/faults/order', { ...fields, ...filled })
      t.equal(
        answer.statusCode,
        303,
        `${name}: ${answer.statusCode === 303 ? '' : /field-problem[^>]*>([^<]*)/.exec(answer.body)?.[1]}`,
      )
      const [{ id, fault, options: given, skip, times }] = (await ordered()).slice(-1)
      t.same({ fault, skip, times }, { fault: name, skip: 0, times: 1 })
      const { fixed } = catalogue.get(name)!
      t.same(given, { ...fixed, ...expected }, name)
      await call('DELETE', `/lab/v1/faults/${id}`)
    }
  },
)

t.test('in a fault’s form, each option has a field of the right type, with its unit and its limits', async t => {
  const { find } = await openFaultPage(t)
  const answer = await find('exchange-answer')
  t.match(answer.types, {
    'options.status': 'number',
    'options.body': 'textarea',
    'options.type': 'select',
    'options.seconds': 'number',
    skip: 'number',
    times: 'number',
    always: 'checkbox',
  })
  t.match(answer.form, /name="options.status"[^>]* min="200" max="599"/)
  t.match((await find('exchange-early-end-of-access-token')).form, /From 1 to 86400\./)
  t.match((await find('exchange-large-access-token')).form, 'Kilobytes (KB)')
  t.match((await find('exchange-503')).types, { 'options.error': 'text', 'options.retryAfter': 'text' })
  t.match((await find('list-headers')).types, { 'options.headers': 'textarea' })
  t.same(Object.keys((await find('list-reset')).types), [
    'fault',
    'clientId',
    'place',
    'words',
    'skip',
    'times',
    'always',
  ])
})

t.test(
  'if a developer orders a fault with a form, the fault happens, and the list of faults links to the changed step',
  async t => {
    const { sandbox, order, get, list, steps } = await openFaultPage(t)
    const { access_token: token } = await getTokens(sandbox)
    const more = `&clientId=${seeded.clientId}`
    const body = 'ä <b>\r\nsecond line'
    const back = await order(
      'list-answer',
      {
        'options.status': '599',
        'options.body': body,
        'options.type': 'text/plain; charset=utf-8',
        times: '2',
        skip: '1',
      },
      more,
    )
    t.equal(back.statusCode, 303)
    t.match(back.headers.location, /#fault-list-answer$/)
    t.equal((await list(token)).statusCode, 200, 'the fault must skip the first request')
    const answer = await list(token)
    t.match(
      [answer.statusCode, answer.headers['content-type'], answer.body],
      [599, 'text/plain; charset=utf-8', 'ä <b>\nsecond line'],
    )

    const page = (await get(`/faults?${more}`)).body
    const step = (await steps()).find(({ fault }) => fault)!
    const [, href = '', number = ''] =
      /Happened once: <a href="(\/logins\/[^"]+#step-(\d+))">step \2<\/a>/.exec(page) ?? []
    t.match(page, /list-answer<\/code> for <bdi>[^<]+<\/bdi>: <strong>1 use remains<\/strong>/)
    const login = (await get(href.replace(/#.*/, ''))).body
    t.match(login.split(`id="step-${number}"`)[1]?.split('<li')[0], 'list-answer', step.id)
  },
)

t.test('with a form, a visitor can order a fault that happens at every request', async t => {
  const { order, ordered, get } = await openFaultPage(t)
  t.equal((await order('list-503', { always: 'true' })).statusCode, 303)
  t.match(await ordered(), [{ fault: 'list-503', times: 'always', clientId: null }])
  t.match((await get('/faults')).body, 'happens every time')
})

t.test(
  'a fault of the metadata applies to all clients, even if a visitor orders the fault on the page of one client',
  async t => {
    const { order, ordered } = await openFaultPage(t)
    t.equal((await order('metadata-503', {}, `&clientId=${seeded.clientId}`)).statusCode, 303)
    t.match(await ordered(), [{ fault: 'metadata-503', clientId: null }])
  },
)

t.test(
  'if a field of a fault’s form is wrong, the page shows the problem next to the field, and keeps the typed values',
  async t => {
    const { order, ordered } = await openFaultPage(t)
    const rows: [fault: string, fields: Fields, wrong: string, message: RegExp][] = [
      ['exchange-late', { 'options.seconds': '61' }, 'options.seconds', /a number from 0 to 60/],
      ['exchange-answer', { 'options.status': '199', 'options.body': '<b>&"' }, 'options.status', /from 200 to 599/],
      ['exchange-answer', { 'options.status': '' }, 'options.status', /from 200 to 599/],
      [
        'exchange-answer',
        { 'options.status': '200', 'options.body': `${'ä'.repeat(32_769)}` },
        'options.body',
        /64 KiB/,
      ],
      ['exchange-expires-in', { 'options.value': '{"a":' }, 'options.value', /any JSON/],
      ['list-headers', { 'options.headers': 'no colon here' }, 'options.headers', /at most 20 headers/],
      ['list-headers', { 'options.headers': 'content-length: 5' }, 'options.headers', /without content-length/],
      ['exchange-503', { 'options.retryAfter': 'ä' }, 'options.retryAfter', /printable/],
      ['list-503', { times: '0' }, 'times', /from 1 to 1000/],
      ['list-503', { skip: '1.5' }, 'skip', /from 0 to 1000/],
      ['metadata-members', { 'options.members': '[]' }, 'options.members', /an object/],
    ]
    for (const [name, fields, wrong, message] of rows) {
      const answer = await order(name, fields)
      const words = `${name} ${wrong}`
      t.equal(answer.statusCode, 422, words)
      const { fields: kept, form } = readForm(answer.body, name)
      for (const [field, text] of Object.entries(fields)) t.equal(kept[field], text, words)
      const [, attributes = ''] = new RegExp(`<(?:input|textarea|select) ([^>]*name="${wrong}"[^>]*)>`).exec(form) ?? []
      t.match(attributes, /aria-invalid="true" autofocus/, words)
      const id = /aria-describedby="\S+ (\S+)"/.exec(attributes)?.[1]
      t.match(new RegExp(`id="${id}">([^<]*)`).exec(form)?.[1], message, words)
      t.match(answer.body, new RegExp(`<details class="fault" id="fault-${name}" open>`), words)
    }
    t.same(await ordered(), [], 'a refused form must not order a fault')
  },
)

t.test('if a visitor orders an unknown fault or too many faults, the page says why the order is refused', async t => {
  const { post, order, call } = await openFaultPage(t)
  const unknown = await post('/faults/order', { fault: '<b>x' })
  t.match([unknown.statusCode, unknown.body], [422, /<p class="problem" role="alert">There is no such fault\./])
  t.notMatch(unknown.body, '<b>x')
  for (let count = 0; count < 200; count++) await call('POST', '/lab/v1/faults', { fault: 'list-503' })
  const many = await order('list-503')
  t.match([many.statusCode, many.body], [429, /<p class="problem">200 faults are waiting already\./])
})

t.test('a visitor can cancel one fault or all faults of a client, and the faults of other clients stay', async t => {
  const { order, post, ordered, call } = await openFaultPage(t)
  const mine = `&clientId=${seeded.clientId}`
  await order('list-503', {}, mine)
  await order('list-401', {}, mine)
  await order('list-429', {}, mine)
  await call('POST', '/lab/v1/faults', { fault: 'list-500', clientId: 'another' })
  const [{ id }] = await ordered()
  const one = await post('/faults/cancel', { clientId: seeded.clientId, place: 'list', words: '', id })
  t.match(
    [one.statusCode, one.headers.location],
    [303, `/faults?clientId=${seeded.clientId}&place=list&cancelled=1#ordered`],
  )
  t.match(await ordered(), [{ fault: 'list-401' }, { fault: 'list-429' }, { fault: 'list-500' }])
  const all = await post('/faults/cancel', { clientId: seeded.clientId, place: 'list', words: '' })
  t.match(all.headers.location, 'cancelled=2')
  t.match(await ordered(), [{ fault: 'list-500' }])
})

t.test('a fault that has already happened cannot be cancelled, and stays in the list', async t => {
  const { sandbox, order, post, ordered, list } = await openFaultPage(t)
  const { access_token: token } = await getTokens(sandbox)
  await order('list-503')
  await order('get-503')
  t.equal((await list(token)).statusCode, 503)
  const [{ id }] = await ordered()
  t.match((await post('/faults/cancel', { id })).headers.location, 'cancelled=0')
  t.match((await post('/faults/cancel', {})).headers.location, 'cancelled=1')
  t.match(await ordered(), [{ fault: 'list-503', status: 'used up' }])
})

t.test(
  'the list of faults says whether a fault is only for one login, and how many requests the fault will still skip',
  async t => {
    const { sandbox, order, get, list, call } = await openFaultPage(t)
    const { access_token: token } = await getTokens(sandbox)
    await call('POST', '/lab/v1/faults', { fault: 'refresh-503', state: 'of-one-login' })
    await call('POST', '/lab/v1/faults', { fault: 'refresh-500', state: 'of-one-login', clientId: seeded.clientId })
    const confirmation = await get((await order('list-503', { skip: '3' })).headers.location!)
    t.match(
      confirmation.body,
      /first lets 3 matching requests pass\. Then the fault waits for the next matching request\. /,
    )
    await list(token)
    await list(token)
    const { body } = await get('/faults')
    t.match(
      body,
      /list-503<\/code> for all clients: <strong>1 use remains<\/strong>\. The fault first lets 1 matching request pass\./,
    )
    t.match(body, /refresh-503<\/code> for one login: /)
    t.match(body, /refresh-500<\/code> for one login of <bdi>/)
  },
)

t.test(
  'a search on the page of faults finds all faults that contain all of the words, and the page says if it shows only the first 100',
  async t => {
    const { get } = await openFaultPage(t)
    const namesOf = (page: string) => [...page.matchAll(/id="fault-([^"]+)"/g)].map(([, name]) => name)
    t.same(namesOf((await get('/faults?words=LONG-list')).body), ['list-long-list'])
    t.same(namesOf((await get('/faults?words=renewal+503+after')).body), ['refresh-503', 'refresh-503-after'])
    const many = (await get('/faults?words=the')).body
    t.equal(namesOf(many).length, 100)
    t.match(many, 'Only the first 100 faults are shown')
    const none = (await get('/faults?words=%3Cb%3Enothing')).body
    t.match(none, '0 faults')
    t.notMatch(none, '<b>nothing')
    const place = namesOf((await get('/faults?place=redirect')).body)
    t.same(
      place,
      [...catalogue.values()].filter(fault => fault.place === 'redirect').map(({ name }) => name),
    )
  },
)

t.test(
  'the page of faults lists every fault of the catalogue, with its effect and what a good client does',
  async t => {
    const { get } = await openFaultPage(t)
    const listed = []
    for (const place of new Set([...catalogue.values()].map(({ place }) => place)))
      listed.push(
        ...[...(await get(`/faults?place=${place}`)).body.matchAll(/id="fault-([^"]+)"/g)].map(([, name]) => name),
      )
    t.same(listed, [...catalogue.keys()])
    for (const { name, does, goodClient } of catalogue.values()) {
      t.match(does, /^\S.*\.$/, name)
      t.match(goodClient, /^The client .*\.$/, name)
    }
  },
)

t.test('the text about a good client follows the rules of the platform at each place', async t => {
  const adviceFor = (name: string) => catalogue.get(name)?.goodClient
  for (const status of ['400', '401', '403', '404', '405', '422', '501', 'status'])
    t.match(adviceFor(`refresh-${status}`), /ends the session if .*404, 405 or 501.*unauthorized_client/, status)
  for (const status of ['408', '429', '500', '503']) t.notMatch(adviceFor(`refresh-${status}`), 'ends the session')
  for (const name of ['me-404', 'me-503', 'me-reset']) t.match(adviceFor(name), 'shows the id of the user', name)
  for (const name of ['metadata-404', 'metadata-429']) t.match(adviceFor(name), 'document that it read before', name)
  for (const name of ['revoke-401', 'revoke-503']) t.match(adviceFor(name), 'signs the visitor out anyway', name)
  for (const name of ['exchange-404', 'exchange-422']) t.match(adviceFor(name), 'does not send the code again', name)
  for (const { name, place, goodClient } of catalogue.values()) {
    const { listener }: PlaceWords = places[place]
    if (listener === 'portal') t.notMatch(goodClient, /\b(list|record|newest version|next to its field)\b/, name)
  }
})

t.test('the text about a good client does not ask for a check that no client can make', async t => {
  const adviceFor = (name: string) => catalogue.get(name)?.goodClient
  t.match(adviceFor('redirect-code-other'), 'sends the code to the portal')
  for (const name of ['redirect-subject-other', 'redirect-redirect-uri-missing'])
    t.match(adviceFor(name), 'signs the visitor in', name)
  for (const name of ['code-missing', 'code-twice', 'subject-missing', 'state-other', 'iss-other', 'client-id-other'])
    t.match(adviceFor(`redirect-${name}`), 'does not send anything to the portal', name)
})

t.test('the fault `list-answer` can have any status from 200 to 599', async t => {
  const { sandbox, call, list } = await openFaultPage(t)
  const { access_token: token } = await getTokens(sandbox)
  const seen = []
  for (let status = 200; status <= 599; status++) {
    await call('POST', '/lab/v1/faults', { fault: 'list-answer', options: { status, body: 'x' } })
    seen.push((await list(token)).statusCode)
  }
  t.same(
    seen,
    Array.from({ length: 400 }, (_, index) => 200 + index),
  )
})

t.test('a form or a JSON call can order a fault whose answer has any body of up to 64 KiB', async t => {
  const { sandbox, order, call, list } = await openFaultPage(t)
  const { access_token: token } = await getTokens(sandbox)
  for (const body of ['x'.repeat(65_536), 'ä'.repeat(32_768), '\u0001'.repeat(65_536)]) {
    t.equal((await order('list-answer', { 'options.status': '200', 'options.body': body })).statusCode, 303)
    t.equal((await list(token)).body, body)
    const { statusCode } = await call('POST', '/lab/v1/faults', {
      fault: 'list-answer',
      options: { status: 200, body },
    })
    t.equal(statusCode, 201)
    t.equal((await list(token)).body, body)
  }
  const long = { fault: 'list-answer', options: { status: 200, body: 'x'.repeat(65_537) } }
  t.match((await call('POST', '/lab/v1/faults', long)).json().error, {
    status: 422,
    message: { 'options.body': [/64 KiB/] },
  })
})

t.test('a fault can delay an answer with any status, for at most one minute', async t => {
  const { sandbox, order, ordered } = await openFaultPage(t)
  const { access_token: token } = await getTokens(sandbox)
  await sandbox.api.listen({ host: '127.0.0.1', port: 0 })
  const { port } = sandbox.api.server.address() as { port: number }
  await order('list-answer', { 'options.status': '418', 'options.seconds': '0.2' })
  const start = performance.now()
  const headers = { authorization: `Bearer ${token}`, connection: 'close' }
  t.equal((await fetch(`http://127.0.0.1:${port}/apps/v1`, { headers })).status, 418)
  t.ok(performance.now() - start >= 190, 'the answer must be late')
  await order('list-late', { 'options.seconds': '60' })
  await order('list-answer', { 'options.status': '200', 'options.seconds': '60' })
  t.match((await ordered()).slice(-2), [{ options: { seconds: 60 } }, { options: { seconds: 60 } }])
})

t.test('the laboratory accepts a fault form only if its own page has sent the form', async t => {
  const { sandbox, find, ordered } = await openFaultPage(t)
  const { fields } = await find('list-503')
  const send = async (url: string, headers: Fields) => {
    const answer = await sandbox.lab!.inject({
      method: 'POST',
      url,
      headers: { host: '127.0.0.1:4002', 'content-type': 'application/x-www-form-urlencoded', ...headers },
      payload: new URLSearchParams(fields).toString(),
    })
    return answer.statusCode
  }
  const strangers: Fields[] = [
    {},
    { origin: 'http://evil.test' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
  ]
  for (const url of ['/faults/order', '/faults/cancel'])
    for (const headers of strangers) t.equal(await send(url, headers), 403, `${url} ${JSON.stringify(headers)}`)
  t.same(await ordered(), [])
})

t.test('the filter on the page of faults offers the selected client, even after faults for 100 others', async t => {
  const { get, call } = await openFaultPage(t)
  for (let count = 0; count < 100; count += 1)
    await call('POST', '/lab/v1/faults', { fault: 'list-503', clientId: `app-${count}` })
  const { body } = await get('/faults?clientId=another')
  t.match(body, '<option value="another" selected>another</option>')
  t.notMatch(body, '<option value="app-99"', 'the filter offers at most 100 clients')
})
