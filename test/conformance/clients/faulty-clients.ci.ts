// For each faulty client, every check that the table names must find the fault.
import t from 'tap'
import { judgePairs, listPairs } from './faults/judge-faults.ts'

// About four minutes on two quiet cores. The time limit is for clients that hang. The timeout in .taprc must be longer.
const mostMs = 10 * 60_000

t.test('every check of the table finds its fault', { timeout: mostMs + 60_000 }, async t => {
  const pairs = listPairs()
  const judged = await judgePairs(pairs, { mostMs })
  for (const { isFound, said } of judged) t.ok(isFound, said)
  t.equal(judged.length, pairs.length, 'all of them were judged in time')
})
