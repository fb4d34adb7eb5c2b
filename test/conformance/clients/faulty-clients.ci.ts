// Each small client with one mistake is found by every check that the table names for it.
import t from 'tap'
import { judgePairs, listPairs } from './faults/judge-faults.ts'

// About one minute on two cores. The bound keeps a client that hangs from holding up everything.
const mostMs = 10 * 60_000

t.test('each fault of the table is found by its checks', { timeout: mostMs + 60_000 }, async t => {
  const pairs = listPairs()
  const judged = await judgePairs(pairs, { mostMs })
  for (const { isFound, said } of judged) t.ok(isFound, said)
  t.equal(judged.length, pairs.length, 'all of them were judged in time')
})
