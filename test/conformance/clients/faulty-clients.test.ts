// The table of faulty clients contains a mistake for every check. This file judges a sample of the table, and
// faulty-clients.ci.ts judges the whole table.
import { once } from 'node:events'
import { createServer } from 'node:http'
import t from 'tap'
import { checks } from '../../../src/conformance/checks.ts'
import { rules } from '../../../src/conformance/rules/rules.ts'
import { openStage } from '../support/stage.ts'
import { correct } from './behaviour.ts'
import { buildFaultyClient } from './faulty-client.ts'
import { judgePairs, listPairs, shuffle } from './judge-mistakes.ts'
import { mistakes } from './mistakes.ts'

/** Checks for which the table contains no mistake. Each value names the test that uses such a mistake instead. */
const provenElsewhere = {
  'page-hsts': 'test/conformance/https.test.ts tests clients over https without the header',
  'page-hsts-value': 'test/conformance/https.test.ts tests clients over https with another value',
  'time-left-logins': 'test/conformance/left-logins.test.ts tests a process that keeps unfinished logins',
}

t.test('for every check, the table contains a faulty client', async t => {
  const proven = new Set([...mistakes.flatMap(mistake => mistake.checks), ...Object.keys(provenElsewhere)])
  const unproven = checks.filter(({ id }) => !proven.has(id)).map(({ id, rule }) => `${id} (${rules[rule].level})`)
  t.same(unproven, [], 'Add a mistake that the check finds in test/conformance/clients/mistakes/')
})

t.test('every mistake has a unique name, and names checks that exist', async t => {
  const names = mistakes.map(({ name }) => name)
  t.same(
    names.filter((name, at) => names.indexOf(name) !== at),
    [],
  )
  for (const { name, checks } of mistakes) t.ok(checks.length > 0, `${name} names a check`)
  t.ok(listPairs().length >= mistakes.length)
})

t.test('every mistake replaces only functions and values that the small client has', async t => {
  for (const { name, change } of mistakes)
    t.same(
      Object.keys(change).filter(key => !(key in correct)),
      [],
      `${name} changes the small client`,
    )
})

t.test('in a sample of the table of faulty clients, the checks find the mistakes that they must find', async t => {
  const seed = Number(process.env.MISTAKES_SEED ?? Math.floor(Math.random() * 2 ** 32))
  const judged = await judgePairs(shuffle(listPairs(), seed), { mostMs: 12_000, sideBySide: 4 })
  for (const { isFound, said } of judged) t.ok(isFound, `${said} (again: MISTAKES_SEED=${seed})`)
  t.ok(judged.length >= 4, `${judged.length} mistakes were judged, with MISTAKES_SEED=${seed}`)
})

t.test(
  'if a client creates its states from a fixed seed, the state checks fail, even after many other logins',
  async t => {
    const stage = await openStage()
    t.teardown(stage.close)
    const ids = ['state-unique', 'state-random', 'state-after-restart', 'state-of-replica']
    const results = await stage.judge(
      settings => buildFaultyClient(settings, 'state-of-a-seeded-generator'),
      checks.filter(({ id }) => ids.includes(id)),
    )
    t.same(results.map(({ id, verdict }) => `${id} ${verdict}`).toSorted(), [
      'state-after-restart failed',
      'state-of-replica failed',
      'state-random passed',
      'state-unique passed',
    ])
  },
)

t.test('in a later round of --watch, the suite judges only the logins of this round', async t => {
  const stage = await openStage()
  t.teardown(stage.close)
  const judge = (name?: string) =>
    stage.judge(
      settings => buildFaultyClient(settings, name),
      checks.filter(({ id }) => id === 'run-states'),
    )
  t.match(await judge('state-static'), [{ verdict: 'failed' }])
  t.match(await judge(), [{ verdict: 'passed' }], 'the mistake is fixed')
})

t.test('if the address in --page has a query, the check `run-nosniff` still finds its mistake', async t => {
  const stage = await openStage(['--page', '/applications?sort=name'])
  t.teardown(stage.close)
  const [result] = await stage.judge(
    settings => buildFaultyClient(settings, 'page-of-a-failed-login-sniffed'),
    checks.filter(({ id }) => id === 'run-nosniff'),
  )
  t.match(result, { verdict: 'failed' })
})

t.test('if the port of a small client is in use, the client is not judged, and no server keeps running', async t => {
  const stage = await openStage()
  t.teardown(stage.close)
  const other = createServer().listen(Number(new URL(stage.client).port), 'localhost')
  await once(other, 'listening')
  const check = checks.find(({ id }) => id === 'state-unique')!
  const judge = () => stage.judgeOnce(settings => buildFaultyClient(settings, 'state-static'), check)
  await t.rejects(judge(), /EADDRINUSE/)
  await once(other.close(), 'close')
  t.equal((await judge()).verdict, 'failed')
})
