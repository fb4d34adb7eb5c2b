// Kills the sandbox at chosen and at random moments, and checks that it keeps every change that it has confirmed.
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { exchange, getAccessToken } from '../support/browser.ts'
import { buildTestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, makeCreateBody } from '../support/call-api.ts'
import { findBrokenPromises, findHalves } from '../support/check-promises.ts'
import { openDatabases } from '../support/each-database.ts'
import { prepareVisitor, putUnderLoad, removeApplications } from '../support/put-under-load.ts'
import { quickArgon2, type SandboxProcess, startSandbox } from '../support/start-sandbox.ts'
import { getCode } from '../support/tokens.ts'

// To run more kills by hand, give the number: node test/sandbox/store/kill.test.ts 50
const kills = Number(process.argv[2] ?? 5)
if (kills > 5) t.setTimeout(0)

const clock = () => new Date()

/**
 * Starts a sandbox that ends abruptly, as after kill -9. The sandbox ends as soon as the database has carried out a
 * statement that begins with `statement`.
 */
async function startEndingAfter(t: Test, databaseUrl: string, statement: string): Promise<SandboxProcess> {
  const nodeOptions = `--import ${fileURLToPath(new URL('../support/end-after.ts', import.meta.url))}`
  return startSandbox(t, { databaseUrl, nodeOptions, settings: { END_AFTER: statement } })
}

for (const database of await openDatabases(t)) {
  t.test(
    `F-34: if the sandbox is killed after the statement for an application and before the statement for its secret, the application and the secret are not stored (${database.name})`,
    async t => {
      const databaseUrl = await database.make(t)
      const survivor = await buildTestSandbox(t, { databaseUrl, clock })
      const { accessToken, call, groupId } = await callAsDeveloper(survivor)
      const victim = await startEndingAfter(t, databaseUrl, 'insert into "applications"')
      const headers = { authorization: `Bearer ${accessToken}` }
      const create = () =>
        victim.api.inject({ method: 'POST', url: '/apps/v1', headers, payload: makeCreateBody(groupId) })
      await t.rejects(create(), { code: 'ECONNRESET' })
      await victim.kill()
      t.strictSame(await findHalves(databaseUrl), [])
      t.equal((await call('GET', '/apps/v1')).json().ItemList.length, 1, 'the seeded application must be the only one')
      t.equal(
        (await call('POST', '/apps/v1', makeCreateBody(groupId))).statusCode,
        201,
        'a new application can be created',
      )
    },
  )

  t.test(
    `TK-16: if the sandbox is killed after it has marked a code as used and before it answers, the code stays used, and a new login works (${database.name})`,
    async t => {
      const databaseUrl = await database.make(t)
      const survivor = await buildTestSandbox(t, { databaseUrl, clock })
      const code = await getCode(survivor)
      const victim = await startEndingAfter(t, databaseUrl, 'update grants')
      await t.rejects(exchange(victim, { code }), { code: 'ECONNRESET' })
      await victim.kill()
      const again = await exchange(survivor, { code })
      t.equal(again.statusCode, 401)
      t.match(again.json(), { error: 'invalid_grant' })
      t.strictSame(await findHalves(databaseUrl), [])
      t.equal((await exchange(survivor, { code: await getCode(survivor) })).statusCode, 200)
    },
  )

  t.test(
    `F-28, F-34, TK-16: after ${kills} kills under load, the sandbox still has every change that it has confirmed (${database.name})`,
    async t => {
      if (kills > 5) t.setTimeout(0)
      const databaseUrl = await database.make(t)
      const start = () => startSandbox(t, { databaseUrl, nodeOptions: quickArgon2 })
      const survivor = await start()
      const prepared = await prepareVisitor(survivor)
      let victim = await start()
      const totals = { applications: 0, codes: 0, unanswered: 0 }
      for (let kill = 1; kill <= kills; kill += 1) {
        // Get a new access token in each round: a user has at most 100 grants for one client, so the logins of earlier
        // rounds may have ended the older grants.
        const visitor = { ...prepared, accessToken: await getAccessToken(survivor) }
        const loads = [putUnderLoad(victim, visitor), putUnderLoad(survivor, visitor, { workers: 1 })]
        const momentMs = 20 + Math.random() * 400
        await wait(momentMs)
        await victim.kill()
        const [ofVictim, ofSurvivor] = await Promise.all(loads.map(load => load.stop()))
        victim = await start()
        const moment = `kill ${kill}, after ${Math.round(momentMs)} ms`
        t.strictSame(await findHalves(databaseUrl), [], `${moment}: the database must contain no half-finished change`)
        t.strictSame(
          await findBrokenPromises(victim, ofVictim!),
          [],
          `${moment}: every change that the killed process has confirmed must be there`,
        )
        t.strictSame(
          await findBrokenPromises(victim, ofSurvivor!),
          [],
          `${moment}: every change that the other process has confirmed must be there`,
        )
        t.equal(ofSurvivor!.unanswered, 0)
        for (const promises of [ofVictim!, ofSurvivor!]) {
          const { applications, codes, unanswered } = promises
          await removeApplications(victim, visitor, promises)
          totals.applications += applications.length
          totals.codes += codes.size
          totals.unanswered += unanswered
        }
      }
      t.comment(totals)
      t.ok(
        totals.applications > kills && totals.codes > kills && totals.unanswered > 0,
        'the test must have made enough requests',
      )
    },
  )
}
