// Records thousands of large steps in the laboratory. A test runs this script as a separate process with a small heap.
import { randomBytes } from 'node:crypto'
import { createHide } from '../../../../src/sandbox/lab/record/hide.ts'
import { createLogins } from '../../../../src/sandbox/lab/record/logins.ts'
import { recordStep } from '../../../../src/sandbox/lab/record/record.ts'
import type { Step } from '../../../../src/sandbox/observe/steps.ts'

const random = () => randomBytes(16).toString('base64url')
const [hide, logins] = [createHide(), createLogins()]

function record(kind: Step['kind'], query: Record<string, string>, body: unknown, answer?: object): void {
  const step: Step = {
    id: random(),
    requestId: random(),
    at: new Date(),
    listener: 'portal',
    kind,
    route: '/',
    durationMs: 1,
    request: {
      method: 'POST',
      url: `/?${new URLSearchParams(query)}`,
      headers: { 'user-agent': random().repeat(700) },
      body,
    },
    response: { status: 200, headers: {}, body: answer && JSON.stringify(answer) },
    about: { claimedClientId: query.client_id },
    checks: [],
    reason: undefined,
  }
  logins.record(recordStep(step, hide))
}

/** The largest number of fields that a JSON request may have. The fields take 21 KB. */
const manyFields = () =>
  Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}`, Array.from({ length: 100 }, () => 1)]))
/**
 * One field that the laboratory shows. Its text is a slice of a longer string, as in a parsed form. A slice keeps the
 * whole string in memory.
 */
const longField = () => ({ name: `${random().repeat(1_300)}!`.slice(1) })

for (let count = 0; count < 600; count += 1) record('exchange', {}, manyFields())
for (let count = 0; count < 600; count += 1)
  record('authorize', { client_id: 'a'.repeat(9_000), state: random() }, longField())
// This login never ends.
let refreshToken = random()
for (let count = 0; count < 5_000; count += 1) {
  const next = random()
  record('refresh', {}, { refresh_token: refreshToken }, { access_token: random(), refresh_token: next })
  refreshToken = next
}
const bytes = logins.list({}).map(({ steps }) => Buffer.byteLength(JSON.stringify(steps)))
process.stdout.write(
  JSON.stringify({ logins: bytes.length, largest: Math.max(...bytes), heap: process.memoryUsage().heapUsed }),
)
