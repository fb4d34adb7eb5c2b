import t from 'tap'
import { exchange } from '../support/browser.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { getTokens, isAccepted, refresh } from '../support/tokens.ts'

const path = `/apps/v1/${seeded.clientId}/refreshSecret`

/** Whether the portal knows the secret; no code is needed to find out. */
async function isValid(sandbox: TestSandbox, clientSecret: string): Promise<boolean> {
  const answer = await exchange(sandbox, { client_secret: clientSecret, code: 'x'.repeat(30) })
  return answer.json().error === 'invalid_grant'
}

for (const database of await openDatabases(t)) {
  t.test(`SE-02: the two latest secrets are valid, a third drops the oldest (${database.name})`, async t => {
    const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
    const { call } = await callAsDeveloper(sandbox)
    const tokens = await getTokens(sandbox)
    const first = await call('POST', path)
    t.equal(first.statusCode, 201)
    t.strictSame(Object.keys(first.json()), ['clientSecret'])
    const secrets = [seeded.clientSecret, first.json().clientSecret]
    t.match(secrets[1], /^[\w-]{43}$/)
    t.strictSame([await isValid(sandbox, secrets[0]), await isValid(sandbox, secrets[1])], [true, true])

    secrets.push((await call('POST', path, {})).json().clientSecret)
    t.strictSame(await Promise.all(secrets.map(secret => isValid(sandbox, secret))), [false, true, true])
    t.match(await exchange(sandbox, { client_secret: secrets[0], code: 'x' }), { statusCode: 401 })
    t.match((await exchange(sandbox, { client_secret: secrets[0], code: 'x' })).json(), { error: 'invalid_client' })

    t.ok(await isAccepted(sandbox, tokens.access_token), 'sessions go on')
    const renewed = await refresh(sandbox, tokens.refresh_token, { client_secret: secrets[2] })
    t.equal(renewed.statusCode, 200, 'with a secret that is valid')
  })

  t.test(`AP-16: of renewals at once on two instances the two latest count (${database.name})`, async t => {
    const url = await database.make(t)
    const one = await buildTestSandbox(t, { databaseUrl: url })
    const other = await buildTestSandbox(t, { databaseUrl: url })
    const { accessToken } = await callAsDeveloper(one)
    const renew = ({ api }: TestSandbox) =>
      api.inject({ method: 'POST', url: path, headers: { authorization: `Bearer ${accessToken}` } })
    let previous = [seeded.clientSecret]
    for (const parallel of [2, 3, 4]) {
      const answers = await Promise.all(
        Array.from({ length: parallel }, (_, index) => renew(index % 2 === 0 ? one : other)),
      )
      t.ok(answers.every(answer => answer.statusCode === 201))
      const secrets: string[] = answers.map(answer => answer.json().clientSecret)
      const valid = await Promise.all(secrets.map(secret => isValid(other, secret)))
      t.equal(valid.filter(Boolean).length, 2, `two of ${parallel} are valid`)
      t.strictSame(
        await Promise.all(previous.map(secret => isValid(one, secret))),
        previous.map(() => false),
      )
      previous = secrets
      // The client's failed tries are counted; this is not what they are counted for.
      await one.store.write(db => db.deleteFrom('failures').execute())
    }
  })
}
