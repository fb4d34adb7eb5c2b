// The table of small clients with one mistake each: it proves every check, and a sample of it is judged here. All of it is
// judged in faulty-clients.ci.ts.
import { once } from 'node:events'
import { createServer } from 'node:http'
import t from 'tap'
import { checks } from '../../../src/conformance/checks.ts'
import { rules } from '../../../src/conformance/rules/rules.ts'
import { openStage } from '../support/stage.ts'
import { faults } from './faults/faults.ts'
import { judgePairs, listPairs, shuffle } from './faults/judge-faults.ts'
import { buildFaultyClient } from './faulty-client.ts'

/** Proven by another test than the table. */
const provenElsewhere = {
  'page-hsts': 'test/conformance/https.test.ts has a client over https without the header',
  'time-left-logins': 'test/conformance/left-logins.test.ts has a process that keeps them',
}

t.test('every check has a faulty client in the table', async t => {
  const proven = new Set([...faults.flatMap(fault => fault.checks), ...Object.keys(provenElsewhere)])
  const unproven = checks.filter(({ id }) => !proven.has(id)).map(({ id, rule }) => `${id} (${rules[rule].level})`)
  t.same(unproven, [], 'Add a fault in test/conformance/clients/faults/ that the check finds')
})

t.test('each fault has a name of its own, and names checks that exist', async t => {
  const names = faults.map(({ name }) => name)
  t.same(
    names.filter((name, at) => names.indexOf(name) !== at),
    [],
  )
  for (const { name, checks } of faults) t.ok(checks.length > 0, `${name} names a check`)
  t.ok(listPairs().length >= faults.length)
})

t.test('in a sample of the table each fault is found by its check', async t => {
  const seed = Number(process.env.FAULTS_SEED ?? Math.floor(Math.random() * 2 ** 32))
  const judged = await judgePairs(shuffle(listPairs(), seed), { mostMs: 12_000, sideBySide: 4 })
  for (const { isFound, said } of judged) t.ok(isFound, `${said} (again: FAULTS_SEED=${seed})`)
  t.ok(judged.length >= 4, `${judged.length} faults were judged, with FAULTS_SEED=${seed}`)
})

t.test('a client whose address is taken is not judged, and leaves nothing behind', async t => {
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
