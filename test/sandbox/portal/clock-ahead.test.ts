// A clock that was ahead for a while and is then corrected must not extend lock-outs, limits and tokens.
import t, { type Test } from 'tap'
import { exchange, openBrowser, startUrl } from '../support/browser.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callFromPortal } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { openAsDeveloper, readHiddenFields } from '../support/forms.ts'
import { link, openTwo, unlink } from '../support/group-calls.ts'
import { getCode, getTokens, isAccepted, refresh } from '../support/tokens.ts'

const twoDaysMs = 2 * 86_400_000
const quarterSeconds = 15 * 60
const { email, password } = seeded

/** Runs `work` with a clock that is two days ahead, and then sets the clock back. */
async function whileAhead<T>(sandbox: TestSandbox, work: () => Promise<T>): Promise<T> {
  sandbox.passTime(twoDaysMs)
  const result = await work()
  sandbox.passTime(-twoDaysMs)
  return result
}

/** Tries to sign in from an unknown browser. */
async function attempt(sandbox: TestSandbox, given = password) {
  const browser = openBrowser(sandbox)
  return browser.submit(await browser.get(startUrl()), { email, password: given })
}

async function lockOut(t: Test, sandbox: TestSandbox): Promise<void> {
  for (let count = 0; count < 10; count += 1) t.equal((await attempt(sandbox, 'wrong')).statusCode, 403)
  t.equal((await attempt(sandbox)).statusCode, 429)
}

async function register(sandbox: TestSandbox, name: string): Promise<number> {
  const person = { email: `${name}@example.test`, password: 'a long pass phrase of mine', termsAccepted: true }
  const payload = { ...person, firstName: 'Nora', lastName: 'Newcomer' }
  return (await sandbox.portal.inject({ method: 'POST', url: '/api/register', payload })).statusCode
}

for (const database of await openDatabases(t)) {
  t.test(
    `PS-06: if a clock was ahead and is corrected, failures from before the correction no longer lock an account (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      await whileAhead(sandbox, () => lockOut(t, sandbox))
      t.equal((await attempt(sandbox)).statusCode, 303)
      await lockOut(t, sandbox)
      const refused = await attempt(sandbox)
      const waitSeconds = Number(refused.headers['retry-after'])
      t.ok(waitSeconds > 0 && waitSeconds <= quarterSeconds, `${waitSeconds} s`)
      sandbox.passTime(waitSeconds * 1000)
      t.equal((await attempt(sandbox)).statusCode, 303, 'a new lock-out must have its usual length')
    },
  )

  t.test(
    `TK-04: if a clock was ahead and is corrected, a client’s failures from before the correction no longer count (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const fail = async () => (await exchange(sandbox, { code: 'x', client_secret: 'wrong' })).statusCode
      await whileAhead(sandbox, async () => {
        for (let count = 0; count < 10; count += 1) t.equal(await fail(), 401)
        t.equal(await fail(), 429)
      })
      for (let count = 0; count < 10; count += 1) t.equal(await fail(), 401)
      t.equal(await fail(), 429)
    },
  )

  t.test(
    `TK-04: a client’s failures count even if the clocks of two instances differ by a few milliseconds (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const fail = async () => (await exchange(sandbox, { code: 'x', client_secret: 'wrong' })).statusCode
      for (let count = 0; count < 10; count += 1) {
        t.equal(await fail(), 401)
        sandbox.passTime(-1)
      }
      t.equal(await fail(), 429)
    },
  )

  t.test(
    `PS-06: if a clock was ahead and is corrected, sign-ups from before the correction no longer count towards the limit (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      await whileAhead(sandbox, async () => {
        const row = { bucket: 'sign-ups 127.0.0.1', count: 99, window_ends_at: sandbox.now().getTime() + 3_600_000 }
        await sandbox.store.write(db => db.insertInto('failures').values(row).execute())
        t.equal(await register(sandbox, 'last'), 201)
        t.equal(await register(sandbox, 'late'), 429)
      })
      t.equal(await register(sandbox, 'next'), 201)
    },
  )

  t.test(
    `clock-ahead: if a clock was ahead and is corrected, password resets from before the correction no longer count towards the limit (${database.name})`,
    async t => {
      const lab = { host: '127.0.0.1', port: 0, urls: ['http://127.0.0.1:4002'], token: undefined }
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t), lab })
      const ask = async () => {
        const browser = openBrowser(sandbox)
        const fields = readHiddenFields(await browser.get('/forgot-password'), '/forgot-password')
        await browser.post('/forgot-password', { ...fields, email })
        const mailbox = await sandbox.lab!.inject({ url: '/lab/v1/mailbox', headers: { host: '127.0.0.1:4002' } })
        return mailbox.json().mails.length
      }
      await whileAhead(sandbox, async () => {
        for (let count = 1; count <= 5; count += 1) t.equal(await ask(), count)
        t.equal(await ask(), 5, 'the portal must not send another e-mail')
      })
      t.equal(await ask(), 6)
    },
  )

  t.test(
    `clock-ahead: if a clock was ahead and is corrected, invitations from before the correction no longer count towards the limit (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { maker, friend, groupId } = await openTwo(sandbox)
      await whileAhead(sandbox, async () => {
        const later = await callFromPortal(sandbox, await openAsDeveloper(sandbox))
        for (let count = 0; count < 20; count += 1) {
          t.equal((await link(later, friend.userId, groupId)).statusCode, 201)
          t.equal((await unlink(later, friend.userId, groupId)).statusCode, 204)
        }
        t.equal((await link(later, friend.userId, groupId)).statusCode, 422)
      })
      t.equal((await link(maker, friend.userId, groupId)).statusCode, 201)
    },
  )

  t.test(
    `RF-06: if a refresh token was replaced while the clock was ahead, and is used after the clock is right again, the portal ends the token family (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { refresh_token: first } = await getTokens(sandbox)
      const { refresh_token: second } = await whileAhead(sandbox, async () => (await refresh(sandbox, first)).json())
      t.match(await refresh(sandbox, first), { statusCode: 401 })
      t.match(await refresh(sandbox, second), { statusCode: 401 }, 'the family has ended')
    },
  )

  t.test(
    `RF-02: if another instance has just replaced a refresh token, an instance whose clock is 5 s behind still accepts the old token (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { refresh_token: first } = await getTokens(sandbox)
      sandbox.passTime(5_000)
      const { refresh_token: second } = (await refresh(sandbox, first)).json()
      sandbox.passTime(-5_000)
      t.equal((await refresh(sandbox, first)).json().refresh_token, second)
    },
  )

  t.test(
    `TK-10: if a code was used while the clock was ahead, and is used a second time after the clock is right again, the tokens from this code become invalid (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { code, tokens } = await whileAhead(sandbox, async () => {
        const code = await getCode(sandbox)
        return { code, tokens: (await exchange(sandbox, { code })).json() }
      })
      t.match(await exchange(sandbox, { code }), { statusCode: 401 })
      t.match(
        await refresh(sandbox, tokens.refresh_token),
        { statusCode: 401 },
        'the tokens from the code must become invalid',
      )
      t.equal(await isAccepted(sandbox, tokens.access_token), false)
    },
  )
}
