// For each faulty client, every check that the table names must find the fault.
import t from 'tap'
import { judgePairs, listPairs } from './faults/judge-faults.ts'

// About one minute on two cores. The time limit is for clients that hang.
const mostMs = 10 * 60_000

t.test('every check of the table finds its fault', { timeout: mostMs + 60_000 }, async t => {
  const pairs = listPairs()
  const judged = await judgePairs(pairs, { mostMs })
  for (const { isFound, said } of judged) t.ok(isFound, said)
  t.equal(judged.length, pairs.length, 'all of them were judged in time')
})
