// For each faulty client, every check that the table names must find the client's mistake.
import t from 'tap'
import { judgePairs, listPairs } from './judge-mistakes.ts'

// The test takes about five minutes on two idle cores, and three times as long on a slow machine. This limit is only
// reached if clients hang.
const mostMs = 25 * 60_000

t.setTimeout(1_800_000)

t.test(
  'for each faulty client, every check that the table names finds the mistake',
  { timeout: mostMs + 60_000 },
  async t => {
    const pairs = listPairs()
    const judged = await judgePairs(pairs, { mostMs })
    for (const { isFound, said } of judged) t.ok(isFound, said)
    t.equal(judged.length, pairs.length, 'all of them were judged in time')
  },
)
