// Tests the limits for the data that one client can make the sandbox store: replaced refresh tokens, renewals, and
// grants from one person.
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import t from 'tap'
import type { LabStep } from '../../../src/sandbox/lab/record/recorded.ts'
import { createGrant, createPortalGrant, redeemGrant, revokeGrant } from '../../../src/sandbox/store/grants.ts'
import { findCredentials } from '../../../src/sandbox/store/users.ts'
import { type Browser, exchange, locationOf, openBrowser, signIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { buildTestLab } from '../support/call-lab.ts'
import { openDatabases } from '../support/each-database.ts'
import { openAsDeveloper, submitForm } from '../support/forms.ts'
import { getTokens, isAccepted, refresh, type Tokens } from '../support/tokens.ts'

const minuteMs = 60_000

/**
 * Renews `times` times, with `apartMs` between two renewals. Resolves to all refresh tokens of the family, with the
 * newest token last.
 */
async function renew(sandbox: TestSandbox, first: string, times: number, apartMs = 1000): Promise<string[]> {
  const tokens = [first]
  for (let time = 0; time < times; time += 1) {
    sandbox.passTime(apartMs)
    const answer = await refresh(sandbox, tokens.at(-1))
    if (answer.statusCode !== 200) throw new Error(`renewal ${time + 1}: ${answer.statusCode} ${answer.body}`)
    tokens.push(answer.json().refresh_token)
  }
  return tokens
}

/**
 * Returns a function that gets a new code. The function uses a browser that is signed in and has allowed the client, so
 * the portal answers each login request immediately with a redirect.
 */
async function openAllowed(sandbox: TestSandbox): Promise<() => Promise<string>> {
  const browser = openBrowser(sandbox)
  const page = await signIn(browser)
  if (page.statusCode !== 303) await browser.submit(page, { decision: 'allow' })
  return async () => new URL(locationOf(await browser.get(startUrl()))).searchParams.get('code') ?? ''
}

/** Makes an access token on the portal's own page. */
async function makePortalToken(browser: Browser): Promise<string> {
  const shown = await submitForm(browser, await browser.get('/account/token'), '/account/token')
  const accessToken = /data-copy="access token">([^<]+)</.exec(shown.body)?.[1]
  if (!accessToken) throw new Error(`no token: ${shown.statusCode} ${shown.body}`)
  return accessToken
}

async function countGrants({ store }: TestSandbox): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from grants`.execute(store.read)
  return Number(rows[0]?.count)
}

async function countEndedGrants({ store }: TestSandbox): Promise<number> {
  const query = sql<{ count: number }>`select count(*) as count from grants where revoked_at is not null`
  const { rows } = await query.execute(store.read)
  return Number(rows[0]?.count)
}

interface Owner {
  userId: string
  /** The client of the grant. Null for an access token from the portal's own page. */
  clientId: string | null
}

/**
 * Stores `count` grants in one transaction, because a hundred logins take a long time. Unlike a login, this function
 * does not end grants beyond the limit, so the next login ends them.
 */
async function storeGrants(
  sandbox: TestSandbox,
  count: number,
  { userId, clientId }: Owner,
  state: 'live' | 'unredeemed' | 'ended' = 'live',
): Promise<void> {
  const now = sandbox.now()
  const expiresAt = new Date(now.getTime() + minuteMs)
  await sandbox.store.transaction(async db => {
    for (let grant = 0; grant < count; grant += 1) {
      if (clientId === null) {
        await createPortalGrant(db, { id: randomUUID(), userId, now, expiresAt })
        continue
      }
      const binding = { codeHash: randomUUID(), clientId, redirectUri: '', stateHash: '', codeChallenge: '' }
      await createGrant(db, userId, binding, { now, expiresAt })
      if (state === 'unredeemed') continue
      const refreshed = { refreshTokenHash: randomUUID(), refreshTokenSeconds: 86_400, now }
      const redeemed = await redeemGrant(db, binding, refreshed)
      if (!redeemed) throw new Error('the code was not redeemed')
      if (state === 'ended') await revokeGrant(db, redeemed.grantId, now)
    }
  })
}

/** Returns the ids of the seeded user and the seeded client. */
async function findSeededOwner({ store }: TestSandbox): Promise<{ userId: string; clientId: string }> {
  const credentials = await findCredentials(store.read, seeded.email)
  if (!credentials) throw new Error('nobody was seeded')
  return { userId: credentials.userId, clientId: seeded.clientId }
}

for (const database of await openDatabases(t)) {
  t.test(
    `RF-06: the portal remembers the last 100 replaced refresh tokens of a family, and if a client uses one of them, the portal ends the family (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const first = await getTokens(sandbox)
      const tokens = await renew(sandbox, first.refresh_token, 102)
      const rows = await sandbox.store.read.selectFrom('spent_refresh_tokens').select('hash').execute()
      t.equal(rows.length, 100)

      const isUnknown = { statusCode: 401 }
      t.match(await refresh(sandbox, tokens[0]), isUnknown, 'the first token must be forgotten')
      t.match(await refresh(sandbox, tokens[1]), isUnknown, 'the second token must be forgotten')
      sandbox.passTime(1000)
      const newest = await refresh(sandbox, tokens[102])
      t.equal(newest.statusCode, 200, 'an unknown token must not end the family')
      t.match(await refresh(sandbox, tokens[3]), { statusCode: 401 }, 'the oldest stored token must be refused')
      t.match(await refresh(sandbox, newest.json().refresh_token), { statusCode: 401 }, 'the family has ended')
      t.equal(await isAccepted(sandbox, first.access_token), false)
    },
  )

  t.test(
    `limit-renewals: a token family can be renewed 60 times a minute; more renewals get a 429 answer until the time in Retry-After has passed (${database.name})`,
    async t => {
      const steps: LabStep[] = []
      const onStep = (step: LabStep) => void steps.push(step)
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t), onStep })
      const { refresh_token: first } = await getTokens(sandbox)
      const other = await getTokens(sandbox)
      const tokens = await renew(sandbox, first, 60, 500)
      const refused = await refresh(sandbox, tokens[60], { state: 'its-state' })
      t.match(refused, { statusCode: 429, headers: { 'retry-after': '31', 'cache-control': 'no-store' } })
      t.match(refused.json(), { error: 'temporarily_unavailable', state: 'its-state' })
      t.equal(steps.at(-1)?.reason, 'renewed-too-often', 'the recorded step must contain the reason')
      t.equal(
        (await refresh(sandbox, tokens[59])).json().refresh_token,
        tokens[60],
        'a repeated renewal must get the same token',
      )
      t.equal((await refresh(sandbox, other.refresh_token)).statusCode, 200, 'another login is not affected')

      sandbox.passTime(30_000)
      t.equal((await refresh(sandbox, tokens[60])).statusCode, 429, 'a renewal that is too early must get a 429 answer')
      sandbox.passTime(1000)
      const next = await refresh(sandbox, tokens[60])
      t.equal(next.statusCode, 200, 'a refused renewal must not use up the token')
      t.equal((await renew(sandbox, next.json().refresh_token, 1)).length, 2)
    },
  )

  t.test(
    `clock-ahead: if a clock was ahead and is corrected, earlier renewals no longer count towards the limit on renewals (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { refresh_token: first } = await getTokens(sandbox)
      sandbox.passTime(2 * 86_400_000)
      const tokens = await renew(sandbox, first, 60, 1)
      t.equal((await refresh(sandbox, tokens[60])).statusCode, 429)
      sandbox.passTime(-2 * 86_400_000)
      t.equal((await refresh(sandbox, tokens[60])).statusCode, 200)
    },
  )

  t.test(
    `limit-grants: if a person has 100 grants for one client, a new grant ends the oldest grant (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const fromPortal = await makePortalToken(await openAsDeveloper(sandbox))
      const logIn = await openAllowed(sandbox)
      const getFamily = async (): Promise<Tokens> => (await exchange(sandbox, { code: await logIn() })).json()
      // All grants have the same creation time, like logins in the same millisecond.
      const [first, second] = [await getFamily(), await getFamily()]
      await storeGrants(sandbox, 97, await findSeededOwner(sandbox))
      const hundredth = await getFamily()
      for (const family of [first, second, hundredth]) t.equal(await isAccepted(sandbox, family.access_token), true)
      t.equal(await countEndedGrants(sandbox), 1, 'the code of the first sign-in, which nobody redeemed')

      const code = await logIn()
      t.equal(await isAccepted(sandbox, first.access_token), false)
      t.match((await refresh(sandbox, first.refresh_token)).json(), { error: 'invalid_grant' })
      t.equal(await isAccepted(sandbox, second.access_token), true, 'the next token must stay valid')
      t.equal(await countEndedGrants(sandbox), 2)
      t.equal((await exchange(sandbox, { code })).statusCode, 200)
      t.equal(
        await isAccepted(sandbox, fromPortal),
        true,
        'tokens from the portal’s own page must be counted separately',
      )
    },
  )

  t.test(
    `grants that have ended do not count towards the limit on grants, and the portal deletes them (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const kept = await getTokens(sandbox)
      await storeGrants(sandbox, 105, await findSeededOwner(sandbox), 'ended')
      const logIn = await openAllowed(sandbox)
      for (let login = 0; login < 10; login += 1) {
        const { refresh_token: token } = (await exchange(sandbox, { code: await logIn() })).json()
        sandbox.passTime(10)
        await revoke(sandbox, token)
      }
      t.equal(await isAccepted(sandbox, kept.access_token), true, 'grants that have ended must not count')
      t.ok((await countGrants(sandbox)) <= 103, `${await countGrants(sandbox)} rows`)
    },
  )

  t.test(
    `a code that was not exchanged counts as a grant, and expired codes do not end a valid grant (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const kept = await getTokens(sandbox)
      const logIn = await openAllowed(sandbox)
      await storeGrants(sandbox, 110, await findSeededOwner(sandbox), 'unredeemed')
      sandbox.passTime(minuteMs)
      for (let login = 0; login < 10; login += 1) await logIn()
      t.equal(await isAccepted(sandbox, kept.access_token), true)
      t.ok((await countGrants(sandbox)) <= 111, `${await countGrants(sandbox)} rows`)
    },
  )

  t.test(
    `if a grant was made while the clock was ahead, the limit on grants treats it as older than a later grant (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      sandbox.passTime(30 * minuteMs)
      const early = await openAllowed(sandbox)
      await exchange(sandbox, { code: await early() })
      await storeGrants(sandbox, 98, await findSeededOwner(sandbox))
      sandbox.passTime(-30 * minuteMs)
      const logIn = await openAllowed(sandbox)
      const later = (await exchange(sandbox, { code: await logIn() })).json()
      await logIn()
      t.equal(await isAccepted(sandbox, later.access_token), true)
    },
  )

  t.test(
    `a user can have at most 100 valid access tokens from the portal's own page, and a new token makes the oldest one invalid (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const browser = await openAsDeveloper(sandbox)
      const [first, second] = [await makePortalToken(browser), await makePortalToken(browser)]
      await storeGrants(sandbox, 97, { ...(await findSeededOwner(sandbox)), clientId: null })
      await makePortalToken(browser)
      t.equal(await isAccepted(sandbox, first), true)
      const newest = await makePortalToken(browser)
      t.equal(await isAccepted(sandbox, first), false, 'the oldest token must become invalid')
      t.equal(await isAccepted(sandbox, second), true)
      t.equal(await isAccepted(sandbox, newest), true)
    },
  )

  t.test(`the limits on grants also apply to people that the laboratory signs in (${database.name})`, async t => {
    const { sandbox, lab } = await buildTestLab(t, { databaseUrl: await database.make(t) })
    const created = (await lab('POST', 'applications', { redirectUri: 'https://a.test/', suite: 'a' })).json()
    const { clientId, person } = created
    const { userId } = person
    for (const who of [{ userId, clientId }, { userId }]) {
      const signInOnce = async (): Promise<string> => (await lab('POST', 'sign-in', who)).json().accessToken
      const [first, second] = [await signInOnce(), await signInOnce()]
      await storeGrants(sandbox, 97, { clientId: null, ...who })
      await signInOnce()
      t.equal(await isAccepted(sandbox, first), true)
      t.equal(await isAccepted(sandbox, await signInOnce()), true)
      t.equal(await isAccepted(sandbox, first), false)
      t.equal(await isAccepted(sandbox, second), true)
    }
  })
}

async function revoke({ portal }: TestSandbox, token: string): Promise<void> {
  const payload = { token, client_id: seeded.clientId, client_secret: seeded.clientSecret }
  const answer = await portal.inject({ method: 'POST', url: '/api/revokeToken', payload })
  if (answer.statusCode !== 200) throw new Error(answer.body)
}
