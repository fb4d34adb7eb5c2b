// Tests long text, and text that takes a long time to process. The sandbox must process only the part that it needs.
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { type Browser, locationOf, openBrowser, startUrl } from '../support/browser.ts'
import { buildTestSandbox, seeded } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, makeCreateBody } from '../support/call-api.ts'
import { newcomer, readHiddenFields } from '../support/forms.ts'

// One letter with thousands of accents. Unicode normalisation must sort the accents, which takes a long time.
const accents = `a${'\u0315\u0300\u05ae\u0301'.repeat(3_900)}`

interface Call {
  listener: FastifyInstance
  url: string
  fields: Record<string, unknown>
  /**
   * The browser that sends the fields as a form. If there is no browser, the fields are sent as JSON, as a server would
   * send them.
   */
  browser?: Browser
}

/**
 * Runs `work` three times. Returns the shortest CPU time of the three runs, in ms, and the result of this run.
 */
async function measure<T>(work: () => T | Promise<T>): Promise<{ ms: number; result: T }> {
  const tries = []
  for (let count = 0; count < 3; count += 1) {
    const before = process.threadCpuUsage()
    const result = await work()
    const { user, system } = process.threadCpuUsage(before)
    tries.push({ ms: (user + system) / 1000, result })
  }
  return tries.sort((a, b) => a.ms - b.ms)[0]!
}

/** Measures how long the call takes. */
async function timeOf({ listener, url, fields, browser }: Call): Promise<{ ms: number; statusCode: number }> {
  const { ms, result } = await measure(() =>
    browser
      ? browser.post(url, fields as Record<string, string>)
      : listener.inject({ method: 'POST', url, payload: fields }),
  )
  return { ms, statusCode: result.statusCode }
}

/** Whichever field contains the accents, the call must be faster than one normalisation of the accents. */
async function takesNoLonger(t: Test, call: Call, names: string[], statuses: number[]): Promise<void> {
  const { ms: limitMs } = await measure(() => accents.normalize('NFC'))
  for (const name of names) {
    const { ms, statusCode } = await timeOf({ ...call, fields: { ...call.fields, [name]: accents } })
    t.ok(statuses.includes(statusCode), `${call.url} ${name}: ${statusCode}`)
    t.ok(ms < limitMs, `${call.url} ${name}: ${ms} ms, of ${limitMs} ms`)
  }
}

t.test('DO-05: if a field contains 15,000 accents, no call of the portal takes long', async t => {
  const { portal: listener } = await buildTestSandbox(t)
  const call = (path: string, fields: object) => ({ listener, url: `/api/${path}`, fields: { ...fields } })
  const user = { email: seeded.email, password: 'wrong', userId: 'x', clientId: seeded.clientId }
  const start = Object.fromEntries(new URLSearchParams(startUrl().slice(2)))
  const client = { client_id: seeded.clientId, client_secret: 'x', code: 'x', redirect_uri: 'x', state: 'x' }
  const exchange = { ...client, grant_type: 'authorization_code', code_verifier: 'x', refresh_token: 'x' }
  await takesNoLonger(t, call('register', newcomer), Object.keys(newcomer), [422])
  await takesNoLonger(t, call('authorizeApplication', user), Object.keys(user), [400])
  await takesNoLonger(t, call('authorize', { ...user, ...start }), ['email', 'password', ...Object.keys(start)], [400])
  await takesNoLonger(t, call('exchangeToken', exchange), Object.keys(exchange), [400])
  await takesNoLonger(t, call('revokeToken', { ...client, token: 'x' }), ['token', 'client_id', 'client_secret'], [400])
})

t.test('DO-05: if a field contains thousands of accents, no form of the portal takes long', async t => {
  const sandbox = await buildTestSandbox(t)
  const browser = openBrowser(sandbox)
  const page = await browser.get(startUrl())
  // The accents must be fewer here, because in a form each accent takes six characters, and a form may have at most 32
  // KiB.
  const short = accents.slice(0, 5_000)
  const timeOfForm = (url: string, fields: Record<string, string>) =>
    timeOf({ listener: sandbox.portal, url, fields: { ...readHiddenFields(page, url), ...fields }, browser })
  for (const name of ['email', 'password']) {
    const { ms, statusCode } = await timeOfForm('/sign-in', { email: 'a@b.test', password: 'wrong', [name]: short })
    t.equal(statusCode, 403)
    t.ok(ms < 25, `sign-in ${name}: ${ms} ms`)
  }
  for (const name of Object.keys(newcomer)) {
    const { ms, statusCode } = await timeOfForm('/sign-up', { ...newcomer, [name]: short })
    t.equal(statusCode, 422)
    t.ok(ms < 25, `sign-up ${name}: ${ms} ms`)
  }
})

t.test('DO-05: if a field contains 15,000 accents, creating an application does not take long', async t => {
  const sandbox = await buildTestSandbox(t)
  const { call, groupId } = await callAsDeveloper(sandbox)
  const body = makeCreateBody(groupId)
  // The URL parser refuses the first address immediately. The parser accepts the second address, but the time that it
  // needs grows with the square of the length.
  const [wide, parsed] = [accents, accents.slice(0, 8_000)].map(host => `https://${host}.test/`)
  const timeOfBody = async (sent: object) => {
    const before = process.threadCpuUsage()
    const { statusCode } = await call('POST', '/apps/v1', sent)
    const { user, system } = process.threadCpuUsage(before)
    return { ms: (user + system) / 1000, statusCode }
  }
  await timeOfBody(body)
  const bodies = Object.keys(body.data).map(name => ({ ...body, data: { ...body.data, [name]: wide } }))
  for (const sent of [{ ...body, context: wide }, { ...body, context: parsed }, { ...body, type: wide }, ...bodies]) {
    const { ms, statusCode } = await timeOfBody(sent)
    t.equal(statusCode, 422)
    t.ok(ms < 25, `${ms} ms`)
  }
})

t.test(
  'if a form starts a login with a state that is too long for an address, the error page still names the right reason',
  async t => {
    const browser = openBrowser(await buildTestSandbox(t))
    const start = Object.fromEntries(new URLSearchParams(startUrl().slice(2)))
    const answer = await browser.post('/', { ...start, state: 's'.repeat(30_000) })
    t.equal(answer.statusCode, 303)
    const location = String(answer.headers.location)
    t.ok(location.length < 4096, `${location.length}`)
    const page = await browser.get(location)
    t.equal(page.statusCode, 400)
    t.match(page.body, 'a state of more than 2048 bytes')
  },
)

t.test(
  'AZ-08: the longest state that the portal accepts fits into the headers of a redirect, whatever its characters are',
  async t => {
    const browser = openBrowser(await buildTestSandbox(t))
    const start = Object.fromEntries(new URLSearchParams(startUrl().slice(2)))
    for (const character of ['s', '%', 'é', '漢', '😀']) {
      const bytes = Buffer.byteLength(character)
      const longest = character.repeat(Math.floor(2048 / bytes))
      const sent = await browser.post('/', { ...start, state: longest })
      t.ok(locationOf(sent).length < 8192)
      t.equal((await browser.get(locationOf(sent))).statusCode, 200, character)
      for (const tooLong of [`${longest}${character}`, character.repeat(6000 / bytes)]) {
        const refused = await browser.post('/', { ...start, state: tooLong })
        t.ok(locationOf(refused).length < 8192, `${locationOf(refused).length}`)
        const page = await browser.get(locationOf(refused))
        t.equal(page.statusCode, 400, character)
        t.match(page.body, 'a state of more than 2048 bytes')
      }
    }
  },
)

t.test('if an exchange is refused because its state is too long, the answer does not repeat the state', async t => {
  const { portal } = await buildTestSandbox(t)
  const payload = { grant_type: 'authorization_code', state: 's'.repeat(2049) }
  const answer = await portal.inject({ method: 'POST', url: '/api/exchangeToken', payload })
  t.strictSame(answer.json(), { error: 'invalid_request', error_description: 'state is longer than 2048 characters.' })
})

t.test(
  'PS-02: a password of 1,000 characters works, and the same password with one more character is wrong',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const password = '😀'.repeat(1_000)
    const register = { ...newcomer, password }
    const post = (url: string, payload: object) => sandbox.portal.inject({ method: 'POST', url, payload })
    t.equal((await post('/api/register', { ...register, password: `${password}!` })).statusCode, 422)
    t.equal((await post('/api/register', register)).statusCode, 201)
    const start = Object.fromEntries(new URLSearchParams(startUrl().slice(2)))
    const statusOf = async (tried: string) => {
      const answer = await post('/api/authorize', { ...start, email: newcomer.email, password: tried })
      return answer.json().message
    }
    t.equal(await statusOf(password), 'App authorization required')
    t.equal(await statusOf(`${password}!`), 'Permission denied')
    t.equal(await statusOf(''), 'password is missing.')
  },
)
