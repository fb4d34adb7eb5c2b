// The estimate of the random bits in a value, for the laboratory and the conformance suite.
import { randomBytes, randomUUID } from 'node:crypto'
import t from 'tap'
import { bitsOf, changingBitsOf } from '../../../src/sandbox/lab/record/entropy.ts'

const many = (make: () => string) => Array.from({ length: 24 }, make)

t.test('the estimate finds 128 random bits in hexadecimal and in base64url', async t => {
  for (const encoding of ['hex', 'base64url'] as const) {
    t.ok(bitsOf(randomBytes(16).toString(encoding)) >= 128, encoding)
    t.ok(changingBitsOf(many(() => randomBytes(16).toString(encoding))) >= 124, encoding)
  }
  t.ok(bitsOf(randomBytes(16).toString('hex').toUpperCase()) < 129, 'large letters are hexadecimal, too')
})

t.test('a UUID has 122 random bits, and 32 hexadecimal digits are not a UUID', async t => {
  t.equal(bitsOf(randomUUID()), 122)
  t.equal(bitsOf('0123456789ab4def8123456789abcdef'), 128)
  t.ok(changingBitsOf(many(randomUUID)) < 124)
})

t.test('parts that are the same in all values add no randomness, and a short text has no randomness', async t => {
  t.equal(changingBitsOf(many(() => 'the-state-of-a-client')), 0)
  t.ok(changingBitsOf(many(() => `client-of-the-platform-${Math.floor(Math.random() * 1000)}`)) < 20)
  t.ok(bitsOf('abababababababababababababababababab') < 40)
  t.ok(bitsOf('1234567890') < 40)
})
