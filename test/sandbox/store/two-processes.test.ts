// Tests two sandbox processes that share one database and get competing requests at the same time.
import type { LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { exchange, getAccessToken, locationOf, logIn, openBrowser, signIn } from '../support/browser.ts'
import { callAsDeveloper, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { startPostgresProxy } from '../support/postgres-proxy.ts'
import { refresh } from '../support/put-under-load.ts'
import { quickArgon2, type SandboxProcess, startSandbox } from '../support/start-sandbox.ts'

const [sqlite, postgres] = await openDatabases(t)
const stores: { name: string; isSlow?: true; make: (t: Test) => Promise<string> }[] = [
  { name: 'SQLite', make: t => sqlite!.makeEmpty(t) },
  { name: 'PostgreSQL', make: t => postgres!.makeEmpty(t) },
  // A delay between the statements makes races visible: a test fails if another process can change a value between its
  // check and the write that depends on the check.
  {
    name: 'PostgreSQL, 5 ms slower',
    isSlow: true,
    make: async t => (await startPostgresProxy(t, await postgres!.makeEmpty(t), { delayMs: 5 })).url,
  },
]

function countByStatus(answers: LightMyRequestResponse[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { statusCode } of answers) counts[statusCode] = (counts[statusCode] ?? 0) + 1
  return counts
}

/** Sends `count` copies of one request at the same time. Each process gets an equal share of the copies. */
function atOnce<T>(count: number, processes: SandboxProcess[], send: (process: SandboxProcess) => Promise<T>) {
  return Promise.all(
    Array.from({ length: count }, (_, index) => send(processes[index % processes.length] as SandboxProcess)),
  )
}

/**
 * A request that waits longer than two seconds gets a 503 answer (F-30). The function sends such a request again, at
 * most four times.
 */
async function untilItsTurn(t: Test, send: () => Promise<LightMyRequestResponse>): Promise<LightMyRequestResponse> {
  let answer = await send()
  for (let tries = 1; answer.statusCode === 503 && tries < 5; tries += 1) {
    t.match(answer.headers, { 'retry-after': /^\d+$/ })
    t.strictSame(answer.json(), { error: { status: 503, message: 'Service Unavailable' } })
    answer = await send()
  }
  return answer
}

for (const store of stores) {
  t.test(`two sandbox processes share one database (${store.name})`, async t => {
    const databaseUrl = await store.make(t)
    const start = () => startSandbox(t, { databaseUrl, nodeOptions: quickArgon2 })
    const processes = await Promise.all([start(), start()])
    const [one, other] = processes

    await t.test(
      'AZ-11: if one consent page is answered 20 times at the same time, exactly one answer gets a code',
      async t => {
        const browser = openBrowser(one)
        const page = await signIn(browser)
        const answers = await atOnce(20, processes, process =>
          browser.copy(process.portal).submit(page, { decision: 'allow' }),
        )
        t.strictSame(countByStatus(answers), { 303: 1, 409: 19 })
        const allowed = answers.find(answer => answer.statusCode === 303) as LightMyRequestResponse
        const code = new URL(locationOf(allowed)).searchParams.get('code') ?? ''
        t.equal((await exchange(other, { code })).statusCode, 200)
      },
    )

    await t.test(
      'TK-09: if one code is exchanged 50 times at the same time, exactly one exchange succeeds',
      async t => {
        const code = (await logIn(one)).get('code') ?? ''
        const answers = await atOnce(50, processes, process => exchange(process, { code }))
        t.strictSame(countByStatus(answers), { 200: 1, 401: 49 })
        const errors = answers.filter(answer => answer.statusCode === 401).map(answer => answer.json().error)
        t.strictSame([...new Set(errors)], ['invalid_grant'])
      },
    )

    await t.test(
      'RF-02: if one refresh token is renewed 20 times at the same time, all renewals get the same new refresh token, and this token is valid',
      async t => {
        const code = (await logIn(one)).get('code') ?? ''
        const { refresh_token: first } = (await exchange(other, { code })).json()
        const answers = await atOnce(20, processes, process => refresh(process, first))
        t.strictSame(countByStatus(answers), { 200: 20 })
        const successors = new Set(answers.map(answer => answer.json().refresh_token as string))
        t.equal(successors.size, 1)
        for (const answer of answers)
          t.equal(
            (await callApi(other, answer.json().access_token)).statusCode,
            200,
            'every access token must be valid',
          )
        const [successor = ''] = successors
        t.equal((await refresh(one, successor)).statusCode, 200)
        t.equal((await refresh(other, first)).statusCode, 401, 'an older token must be refused')
        t.equal((await refresh(one, successor)).statusCode, 401, 'the family must end')
      },
    )

    await t.test(
      'AP-16: if a client secret is renewed 10 times at the same time, all calls succeed, and two of the new secrets are valid',
      async t => {
        const { call, groupId } = await callAsDeveloper(one)
        const { client } = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()
        const headers = { authorization: `Bearer ${await getAccessToken(one)}` }
        const url = `/apps/v1/${client.clientId}/refreshSecret`
        const answers = await atOnce(10, processes, process => process.api.inject({ method: 'POST', url, headers }))
        t.strictSame(countByStatus(answers), { 201: 10 })
        const tries = answers.map(answer =>
          exchange(one, { code: 'none', client_id: client.clientId, client_secret: answer.json().clientSecret }),
        )
        const errors = (await Promise.all(tries)).map(answer => answer.json().error as string)
        t.equal(errors.filter(error => error === 'invalid_grant').length, 2, 'exactly two secrets must be valid')
      },
    )

    await t.test(
      'PS-02: if one e-mail address is registered 20 times at the same time, exactly one registration succeeds',
      async t => {
        const payload = {
          email: 'twenty@example.test',
          password: 'twenty times at once',
          firstName: 'A',
          lastName: 'B',
          termsAccepted: 'true',
        }
        const answers = await atOnce(20, processes, process =>
          process.portal.inject({ method: 'POST', url: '/api/register', payload }),
        )
        t.equal(answers.filter(answer => answer.statusCode === 201).length, 1)
        t.notOk(answers.some(answer => answer.statusCode === 500))
      },
    )

    await t.test(
      'PS-06: if two processes share a database, wrong client secrets in both processes count towards one limit',
      async t => {
        const wrong = { code: 'none', client_id: 'nobody', client_secret: 'wrong' }
        const failures = Array.from({ length: 10 }, (_, index) => exchange(processes[index % 2]!, wrong))
        t.strictSame(countByStatus(await Promise.all(failures)), { 401: 10 })
        t.strictSame(countByStatus(await atOnce(2, processes, process => exchange(process, wrong))), { 429: 2 })
      },
    )

    await t.test(
      'AP-14: if 20 calls create an application at the same time, all 20 applications are created',
      async t => {
        const { call, accessToken, groupId } = await callAsDeveloper(one)
        const headers = { authorization: `Bearer ${accessToken}` }
        const idsOf = (list: LightMyRequestResponse) =>
          (list.json().ItemList as { '@id': string }[]).map(item => item['@id'])
        const before = idsOf(await call('GET', '/apps/v1'))
        const create = ({ api }: SandboxProcess) =>
          api.inject({ method: 'POST', url: '/apps/v1', headers, payload: makeCreateBody(groupId) })
        const answers = await atOnce(20, processes, process =>
          store.isSlow ? untilItsTurn(t, () => create(process)) : create(process),
        )
        t.strictSame(countByStatus(answers), { 201: 20 })
        const expected = [...before, ...answers.map(answer => answer.json()['@id'] as string)]
        t.strictSame(idsOf(await callApi(other, accessToken)).sort(), expected.sort())
      },
    )
  })
}

function callApi({ api }: SandboxProcess, accessToken: string) {
  return api.inject({ url: '/apps/v1', headers: { authorization: `Bearer ${accessToken}` } })
}
