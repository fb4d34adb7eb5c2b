// Tests how the suite estimates the number of random bits in several values of one client.
import { randomBytes, randomUUID } from 'node:crypto'
import t from 'tap'
import { changingBitsOf } from '../../src/conformance/steps/changing-bits.ts'

const many = (make: () => string) => Array.from({ length: 24 }, make)

t.test('for values of 128 random bits, the estimate is at least 124 bits, and for UUIDs it is less', async t => {
  for (const encoding of ['hex', 'base64url'] as const)
    t.ok(changingBitsOf(many(() => randomBytes(16).toString(encoding))) >= 124, encoding)
  t.ok(changingBitsOf(many(randomUUID)) < 124)
})

t.test('the estimate does not count text that is the same in all values', async t => {
  t.equal(changingBitsOf(many(() => 'the-state-of-a-client')), 0)
  t.ok(changingBitsOf(many(() => `client-of-the-platform-${Math.floor(Math.random() * 1000)}`)) < 20)
})
