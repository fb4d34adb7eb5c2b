// `npm run conformance:matrix`: every small client, faulty or right, against every check. A line for each says which checks
// blame it; the command fails where a fault is not found by its check, or where a right client is blamed.
import { parseArgs } from 'node:util'
import type { Check } from '../../src/conformance/check.ts'
import { checks } from '../../src/conformance/checks.ts'
import type { Result } from '../../src/conformance/run-checks.ts'
import { faults } from './clients/faults/faults.ts'
import { buildFaultyClient } from './clients/faulty-client.ts'
import { buildOtherClient, otherClientOptions } from './clients/other-client.ts'
import { openStage, type Stage } from './support/stage.ts'

const unbounded = 'unbounded'
const { values } = parseArgs({
  options: {
    /** Patterns: of the faults' names and groups, and of the checks' ids and groups. */
    fault: { type: 'string', default: '' },
    only: { type: 'string', default: '' },
    /** Each fault only against the checks of its own group. */
    'own-group': { type: 'boolean', default: false },
    /** After so many no other client is begun with. */
    seconds: { type: 'string', default: unbounded },
    'side-by-side': { type: 'string', default: '2' },
  },
})

const print = (line: string) => void process.stdout.write(`${line}\n`)
const isBlamed = ({ verdict }: Result) => verdict === 'failed' || verdict === 'warned'
const picked = checks.filter(({ id, group }) => [id, group].some(text => new RegExp(values.only).test(text)))
const wanted = faults.filter(({ name, group }) => [name, group].some(text => new RegExp(values.fault).test(text)))
// Where time is short, not the same ones every time, and not all of one group.
const waiting = wanted
  .map(fault => ({ fault, place: Math.random() }))
  .sort((one, other) => one.place - other.place)
  .map(({ fault }) => fault)
const endsAt =
  values.seconds === unbounded ? Number.POSITIVE_INFINITY : performance.now() + Number(values.seconds) * 1000
const missed: string[] = []
let judged = 0

// npm test judges these, too.
if (values.seconds === unbounded) {
  await judgeRight('the small client without a fault', undefined, stage => stage.judge(buildFaultyClient, picked))
  await judgeRight('the other client', otherClientOptions, stage => stage.judge(buildOtherClient, picked))
}
await Promise.all(Array.from({ length: Number(values['side-by-side']) }, judgeFaults))
print(
  `${judged - missed.length} of ${judged} clients judged as they should be; ${waiting.length} faults not begun with.`,
)
if (missed.length > 0) {
  print(`Not: ${missed.join(', ')}`)
  process.exitCode = 1
}

async function judgeRight(
  name: string,
  options: string[] | undefined,
  judge: (stage: Stage) => Promise<Result[]>,
): Promise<void> {
  // Sessions in memory are one process's.
  const stage = await openStage(options, { hasReplica: !options })
  const results = await judge(stage)
  await stage.close()
  judged++
  const failed = results.filter(({ verdict }) => verdict === 'failed' || verdict === 'undecided')
  if (failed.length > 0) missed.push(name)
  const warned = results.filter(({ verdict }) => verdict === 'warned').map(({ id }) => id)
  print(`${name}: ${failed.map(({ id, reason }) => `${id} (${reason})`).join(', ') || 'not blamed'}`)
  if (warned.length > 0) print(`  warned: ${warned.join(', ')}`)
}

async function judgeFaults(): Promise<void> {
  const stage = await openStage()
  for (let fault = waiting.shift(); fault; fault = waiting.shift()) {
    if (performance.now() > endsAt) {
      waiting.unshift(fault)
      break
    }
    const { name, group, check } = fault
    const mine = values['own-group'] ? picked.filter(one => one.group === group) : picked
    const results = await stage.judge(settings => buildFaultyClient(settings, name), mine)
    const blamed = results.filter(isBlamed).map(({ id }) => id)
    const isMeant = (one: Check) => one.id === check
    const isFound = blamed.includes(check) || !mine.some(isMeant)
    judged++
    if (!isFound) missed.push(name)
    print(`${isFound ? 'found ' : 'MISSED'} ${name} (${check}): ${blamed.join(', ') || 'nobody'}`)
  }
  await stage.close()
}
