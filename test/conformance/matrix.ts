// `npm run conformance:matrix`: judges all small clients, faulty and correct, with all checks, and prints which checks
// fail for which client. The command fails if a check does not find a mistake that it must find, or if a correct client
// fails a check.
import { parseArgs } from 'node:util'
import { checks } from '../../src/conformance/checks.ts'
import { isBlamed, type Result } from '../../src/conformance/result.ts'
import { buildFaultyClient } from './clients/faulty-client.ts'
import type { Mistake } from './clients/mistake.ts'
import { mistakes } from './clients/mistakes.ts'
import { buildOtherClient, otherClientOptions } from './clients/other-client.ts'
import { openStage, type Stage } from './support/stage.ts'

const { values } = parseArgs({
  options: {
    /** Two patterns: `mistake` selects mistakes by name or group. `only` selects checks by id or group. */
    mistake: { type: 'string', default: '' },
    only: { type: 'string', default: '' },
    /** Judges each mistake only with the checks of the mistake's group. */
    'own-group': { type: 'boolean', default: false },
    'side-by-side': { type: 'string', default: '2' },
  },
})

const print = (line: string) => void process.stdout.write(`${line}\n`)
const picked = checks.filter(({ id, group }) => [id, group].some(text => new RegExp(values.only).test(text)))
const groupsOf = (mistake: Mistake) => checks.filter(({ id }) => mistake.checks.includes(id)).map(({ group }) => group)
const waiting = mistakes.filter(mistake =>
  [mistake.name, ...groupsOf(mistake)].some(text => new RegExp(values.mistake).test(text)),
)
const missed: string[] = []
let judged = 0

await judgeRight('the small client without a mistake', undefined, stage => stage.judge(buildFaultyClient, picked))
await judgeRight('the other client', otherClientOptions, stage => stage.judge(buildOtherClient, picked))
await Promise.all(Array.from({ length: Number(values['side-by-side']) }, judgeMistakes))
print(`${judged - missed.length} of ${judged} clients were judged correctly.`)
if (missed.length > 0) {
  print(`Judged wrongly: ${missed.join(', ')}`)
  process.exitCode = 1
}

async function judgeRight(
  name: string,
  options: string[] | undefined,
  judge: (stage: Stage) => Promise<Result[]>,
): Promise<void> {
  // The other client keeps sessions in memory, so it has no second instance.
  const stage = await openStage(options, { hasReplica: !options })
  const results = await judge(stage)
  await stage.close()
  judged++
  const failed = results.filter(({ verdict }) => ['failed', 'undecided', 'not run'].includes(verdict))
  if (failed.length > 0) missed.push(name)
  const warned = results.filter(({ verdict }) => verdict === 'warned' || verdict === 'not followed').map(({ id }) => id)
  print(`${name}: ${failed.map(({ id, reason }) => `${id} (${reason})`).join(', ') || 'not blamed'}`)
  if (warned.length > 0) print(`  warned: ${warned.join(', ')}`)
}

async function judgeMistakes(): Promise<void> {
  const stage = await openStage()
  for (let mistake = waiting.shift(); mistake; mistake = waiting.shift()) {
    const { name, checks: wanted } = mistake
    const mine = values['own-group'] ? picked.filter(one => groupsOf(mistake).includes(one.group)) : picked
    const results = await stage.judge(settings => buildFaultyClient(settings, name), mine)
    const blamed = results.filter(isBlamed).map(({ id }) => id)
    const unfound = wanted.filter(id => mine.some(one => one.id === id) && !blamed.includes(id))
    judged++
    if (unfound.length > 0) missed.push(name)
    const word = unfound.length > 0 ? `MISSED by ${unfound.join(', ')}` : 'found'
    print(`${word}: ${name}: ${blamed.join(', ') || 'no check'}`)
  }
  await stage.close()
}
