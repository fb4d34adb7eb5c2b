// Every bad request gets the status, the body and the important headers that are recorded in answers.json.
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { openDatabases } from '../support/each-database.ts'
import { type Recorded, replayAll } from './replay.ts'

const file: Recorded[] = JSON.parse(readFileSync(new URL('./answers.json', import.meta.url), 'utf8'))
const recorded = new Map(file.flatMap(({ requests, ...answer }) => requests.map(name => [name, answer] as const)))

for (const database of await openDatabases(t))
  t.test(`every bad request gets the answer that is recorded in answers.json (${database.name})`, async t => {
    const answers = await replayAll(t, database.make)
    t.strictSame(
      Object.keys(answers).sort(),
      [...recorded.keys()].sort(),
      'answers.json must contain exactly these requests. record.ts records new requests',
    )
    for (const [name, answer] of recorded)
      if (!isDeepStrictEqual(answers[name], answer)) t.strictSame(answers[name], answer, name)
    t.ok(recorded.size > 1000, `${recorded.size} answers`)
  })
