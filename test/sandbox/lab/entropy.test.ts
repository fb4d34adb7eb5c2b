// Tests how the laboratory and the conformance suite estimate the number of random bits in a value.
import { randomBytes, randomUUID } from 'node:crypto'
import t from 'tap'
import { bitsOf } from '../../../src/sandbox/lab/record/entropy.ts'

t.test('for 128 random bits in hexadecimal or in base64url, the estimate is 128 random bits', async t => {
  for (const encoding of ['hex', 'base64url'] as const)
    t.ok(bitsOf(randomBytes(16).toString(encoding)) >= 128, encoding)
  t.ok(
    bitsOf(randomBytes(16).toString('hex').toUpperCase()) < 129,
    'capital letters must also count as hexadecimal digits',
  )
})

t.test('the estimate for a UUID is 122 random bits, and 32 hexadecimal digits do not count as a UUID', async t => {
  t.equal(bitsOf(randomUUID()), 122)
  t.equal(bitsOf('0123456789ab4def8123456789abcdef'), 128)
})

t.test('the estimate is low for short or repeated text', async t => {
  t.ok(bitsOf('abababababababababababababababababab') < 40)
  t.ok(bitsOf('1234567890') < 40)
})
