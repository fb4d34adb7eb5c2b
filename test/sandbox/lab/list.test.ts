// The laboratory's list of logins, as a page and as JSON: its rows, its filters, the search, and the pages of a long
// list.
import { randomBytes } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { exchange, locationOf, logIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { checkLabAnswer, labConfig } from '../support/call-lab.ts'

const random = () => randomBytes(16).toString('base64url')
const host = '127.0.0.1:4002'

async function openList(t: Test) {
  const sandbox = await buildTestSandbox(t, { lab: labConfig })
  const get = (url: string) => sandbox.lab!.inject({ url, headers: { host } })
  const send = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
    sandbox.lab!.inject({
      method: 'POST',
      url: '/search',
      headers: {
        host,
        'content-type': 'application/x-www-form-urlencoded',
        origin: `http://${host}`,
        'sec-fetch-site': 'same-origin',
        ...headers,
      },
      payload: new URLSearchParams(fields).toString(),
    })
  /** Sends a search. Returns the address of the page with the results, and the page. */
  const search = async (text: string, fields: Record<string, string> = {}) => {
    const url = locationOf(await send({ text, ...fields }))
    return { url, page: await get(url) }
  }
  const searchCall = async (text: string, query = '') => {
    const call = { method: 'POST' as const, url: `/lab/v1/logins/search${query}` }
    const headers = { host, 'content-type': 'application/json' }
    const answer = await sandbox.lab!.inject({ ...call, headers, payload: JSON.stringify({ text }) })
    await checkLabAnswer(sandbox.lab!, call, answer)
    return answer
  }
  return { sandbox, get, send, search, searchCall }
}

/** Returns the ids of the logins on a page, in the order of the page. Logins without a client come last. */
const idsOn = ({ body }: LightMyRequestResponse) => [...body.matchAll(/id="login-([^"]+)"/g)].map(([, id]) => id)

/** Makes a successful login, a login with a refused exchange, and a request without a client. */
async function fill(sandbox: TestSandbox) {
  const state = random()
  const code = (await logIn(sandbox, { state })).get('code') ?? ''
  const tokens = (await exchange(sandbox, { code, state })).json()
  const otherState = random()
  const otherCode = (await logIn(sandbox, { state: otherState })).get('code') ?? ''
  const refusals = []
  for (const count of [1, 2])
    refusals.push((await exchange(sandbox, { code: otherCode, state: `wrong-${count}` })).headers)
  await sandbox.portal.inject('/.well-known/oauth-authorization-server')
  const headers = { host }
  const { logins } = (await sandbox.lab!.inject({ url: '/lab/v1/logins', headers })).json()
  const idOf = (outcome: string) => logins.find((login: { outcome: string }) => login.outcome === outcome).id as string
  return {
    state,
    code,
    otherState,
    otherCode,
    tokens,
    requestId: String(refusals[0]!['x-request-id']),
    signedIn: idOf('signed in'),
    refused: idOf('refused'),
    nobody: idOf('no login'),
  }
}

t.test(
  'each row of the list of logins shows the most important step of a login: its method, path, status, number, reason, duration and age',
  async t => {
    const { sandbox, get } = await openList(t)
    const { refused } = await fill(sandbox)
    sandbox.passTime(3 * 60_000)
    const { body } = await get('/')
    const row = body.slice(body.indexOf(`id="login-${refused}"`)).split('</li>')[0]!
    const text = row.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')
    t.match(text, /step \d of \d POST \/api\/exchangeToken 401 state-differs \d+ ms 3 minutes ago/)
    t.match(
      row,
      /<time datetime="2026-03-01T1[12]:[\d:.]+Z" title="2026-03-01 1[12]:\d\d UTC" data-age>3 minutes ago<\/time>/,
    )
  },
)

t.test(
  'the list of logins collapses requests without a client, shows how many they are, and links to a list of only these requests',
  async t => {
    const { sandbox, get } = await openList(t)
    const { nobody, signedIn, refused } = await fill(sandbox)
    const all = await get('/')
    t.match(
      all.body,
      /<details class="of-nobody" id="of-nobody">\s*<summary>1 request that does not belong to a client</,
    )
    t.same(idsOn(all), [refused, signedIn, nobody])
    for (let count = 0; count < 60; count++) await sandbox.portal.inject('/.well-known/oauth-authorization-server')
    const more = await get('/')
    t.match(more.body, '61 requests that do not belong to a client')
    t.equal(idsOn(more).length, 52, 'only the newest 50 of them are on the page')
    t.match(more.body, 'href="/?noClient=true"')
    const alone = await get('/?noClient=true')
    t.match([idsOn(alone).length, alone.body], [50, /61 logins\..*Page 1 of 2/s])
  },
)

t.test('a search finds a login by a request ID, state, code, token, client ID, callback address, or words', async t => {
  const { sandbox, search, searchCall } = await openList(t)
  const { state, code, otherState, otherCode, tokens, requestId, signedIn, refused, nobody } = await fill(sandbox)
  const both = [refused, signedIn]
  const rows: [text: string, found: string[]][] = [
    [requestId, [refused]],
    [state, [signedIn]],
    [`  ${otherState}\n`, [refused]],
    [code, [signedIn]],
    [otherCode, [refused]],
    [tokens.access_token, [signedIn]],
    [`Bearer ${tokens.access_token}`, [signedIn]],
    [tokens.refresh_token, [signedIn]],
    [seeded.clientId, both],
    [`${seeded.redirectUri}?code=${otherCode}&state=${otherState}`, [refused]],
    ['reference CLIENT', both],
    ['state-differs', [refused]],
    ['keep the separate cookie', [refused]],
    ['no-pkce', both],
    ['oauth-authorization-server', [nobody]],
    ['wrong-1', [refused]],
    ['a word that is nowhere', []],
    [random(), []],
    ['.*', []],
  ]
  for (const [text, found] of rows) {
    const { url, page } = await search(text)
    t.same(idsOn(page), found, text)
    t.match(
      page.body,
      '<input id="text" name="text" type="search" aria-describedby="text-hint"',
      'the field must be empty',
    )
    for (const secret of [state, code, otherState, otherCode, tokens.access_token, tokens.refresh_token])
      for (const shown of [url, page.body]) t.notOk(shown.includes(secret), text)
    const { logins, total } = (await searchCall(text)).json()
    t.same(
      logins.map(({ id }: { id: string }) => id),
      found,
      `${text}, as JSON`,
    )
    t.equal(total, found.length)
  }
  t.notOk(sandbox.logLines.join('').includes(otherState), 'the log must not contain the search')
})

t.test('a search finds a login by the status of an answer', async t => {
  const { sandbox, search } = await openList(t)
  const { refused } = await fill(sandbox)
  // The search may also find the other login, because a random value in that login, such as a port, can contain 401.
  for (const text of ['401', '401 exchangeToken']) {
    const { page } = await search(text)
    t.ok(idsOn(page).includes(refused), text)
  }
})

t.test(
  'the results of a search do not change even if a new login matches; if the laboratory no longer keeps the results, a page says so',
  async t => {
    const { sandbox, get, search } = await openList(t)
    const { refused } = await fill(sandbox)
    const { url, page } = await search('state-differs')
    t.match(page.body, '1 login.')
    t.match(page.body, '<a href="/">Clear the search</a>')
    const found = await logIn(sandbox, { state: random() })
    await exchange(sandbox, { code: found.get('code') ?? '', state: 'wrong' })
    t.same(idsOn(await get(url)), [refused])
    t.match(
      (await search('nothing at all')).page.body,
      /<h2>No login matches<\/h2>\s*<p class="links"><a href="\/">Clear the search/,
    )
    const forgotten = await get('/?search=none')
    t.match([forgotten.statusCode, forgotten.body], [404, 'The results of this search are no longer kept'])
    for (let count = 0; count < 50; count++) await search('other')
    t.equal((await get(url)).statusCode, 404)
  },
)

t.test(
  'the list of logins can be filtered by client, outcome, reason and time, and filters can be combined with a search',
  async t => {
    const { sandbox, get, search, searchCall } = await openList(t)
    const { signedIn, refused } = await fill(sandbox)
    const rows: [query: string, found: string[]][] = [
      [`clientId=${seeded.clientId}`, [refused, signedIn]],
      ['clientId=another', []],
      ['outcome=refused', [refused]],
      ['outcome=signed+in', [signedIn]],
      ['reason=state-differs', [refused]],
      ['reason=code-expired', []],
      ['minutes=1', [refused, signedIn]],
      ['outcome=signed+in&reason=state-differs', []],
    ]
    const onlyClients = (page: LightMyRequestResponse) => idsOn(page).filter(id => [signedIn, refused].includes(id!))
    for (const [query, found] of rows) {
      t.same(onlyClients(await get(`/?${query}`)), found, query)
      const call = await sandbox.lab!.inject({ url: `/lab/v1/logins?${query}`, headers: { host } })
      const ids = call.json().logins.map(({ id }: { id: string }) => id)
      t.same(
        ids.filter((id: string) => [signedIn, refused].includes(id)),
        found,
        `${query}, as JSON`,
      )
    }
    sandbox.passTime(2 * 60_000)
    t.same(onlyClients(await get('/?minutes=1')), [])
    t.same(onlyClients(await get('/?minutes=5')), [refused, signedIn])

    const { url, page } = await search(seeded.clientId, { outcome: 'refused' })
    t.match(url, /^\/\?outcome=refused&search=/)
    t.same(idsOn(page), [refused])
    t.match(page.body, '<option selected>refused</option>')
    t.match((await searchCall(seeded.clientId, '?outcome=refused')).json(), { total: 1, logins: [{ id: refused }] })
    t.match((await get('/?outcome=declined')).body, /No login matches.*<a href="\/">Show all logins/s)
    for (const nonsense of [
      'outcome=lost',
      'reason=none',
      'minutes=-1',
      'page=0',
      'page=x',
      'outcome=refused&outcome=declined',
    ])
      t.same(onlyClients(await get(`/?${nonsense}`)), [refused, signedIn], nonsense)
  },
)

t.test(
  'if a filter for logins is invalid, the laboratory refuses the call, and the answer lists the allowed values',
  async t => {
    const { sandbox, searchCall } = await openList(t)
    const rows: [string, object][] = [
      ['outcome=lost', { outcome: [/one of under way, signed in/] }],
      ['reason=none', { reason: [/a reason of the catalogue/] }],
      ['minutes=0', { minutes: [/1 to 9,999/] }],
      ['minutes=10000', { minutes: [/1 to 9,999/] }],
      ['page=0', { page: [/1 to 9,999/] }],
      ['noClient=yes', { noClient: [/one of true/] }],
    ]
    for (const [query, message] of rows)
      for (const answer of [
        await sandbox.lab!.inject({ url: `/lab/v1/logins?${query}`, headers: { host } }),
        await searchCall('a', `?${query}`),
      ])
        t.match([answer.statusCode, answer.json()], [422, { error: { message } }], query)
    t.match((await searchCall('')).json(), { error: { message: { text: [/1 to 8192/] } } })
  },
)

t.test(
  'the links between the pages of a long list of logins keep the filter and the search, and the last page has no link to a next page',
  async t => {
    const { sandbox, get, search, searchCall } = await openList(t)
    for (let count = 0; count < 105; count++) await sandbox.portal.inject(startUrl({ state: random() }))
    await sandbox.portal.inject(startUrl({ client_id: 'nobody' }))
    const { page } = await search('reference', { outcome: 'under way' })
    const next = /rel="next" href="([^"]+)"/
    const urls = [next.exec(page.body)?.[1]?.replaceAll('&amp;', '&') ?? '']
    const second = await get(urls[0]!)
    urls.push(next.exec(second.body)?.[1]?.replaceAll('&amp;', '&') ?? '')
    const third = await get(urls[1]!)
    t.match(page.body, '105 logins.')
    t.match(second.body, 'Page 2 of 3')
    t.same(
      [page, second, third].map(one => idsOn(one).length),
      [50, 50, 5],
    )
    t.equal(new Set([page, second, third].flatMap(idsOn)).size, 105, 'no login is on two pages')
    t.notMatch(third.body, next)
    t.match((await get('/?page=99')).body, 'Page 3 of 3')
    const call = async (query: string) => (await searchCall('reference', query)).json()
    t.match([(await call('')).logins.length, (await call('?page=2')).logins.length], [100, 5])
    t.match(await call('?page=3'), { total: 105, logins: [] })
  },
)

t.test('the laboratory accepts a search only if its own page has sent the form', async t => {
  const { send, sandbox } = await openList(t)
  const cross = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', origin: 'http://evil.test' }
  const rows: [Record<string, string>, number][] = [
    [{}, 303],
    [cross, 403],
    [{ ...cross, 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:4000' }, 403],
    [{ origin: 'null' }, 403],
    [{ 'content-type': 'application/json' }, 415],
    [{ 'content-type': 'text/plain' }, 415],
  ]
  for (const [headers, status] of rows)
    t.equal((await send({ text: 'a' }, headers)).statusCode, status, JSON.stringify(headers))
  const unknown = { host, 'content-type': 'application/x-www-form-urlencoded' }
  const post = (url: string, headers: object) =>
    sandbox.lab!.inject({ method: 'POST', url, headers: { ...headers }, payload: 'text=a' })
  t.equal((await post('/search', unknown)).statusCode, 403, 'a form without Sec-Fetch-Site and Origin must be refused')
  t.equal(
    (await post('/lab/v1/faults', { ...unknown, origin: `http://${host}` })).statusCode,
    415,
    'a call must refuse a form',
  )
  t.match((await send({ text: '' })).headers, { location: '/' })
})

t.test('the filter of the list of logins offers the selected client, even before its first login', async t => {
  const { get } = await openList(t)
  t.match((await get('/?clientId=another')).body, '<option value="another" selected>another</option>')
})
