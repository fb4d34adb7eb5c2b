// Tests createSealer. A sealed value can be unsealed only for the same purpose and registration, and only if it is
// unchanged and has not expired.
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { Secret } from '../../../src/client/secret.ts'
import { createSealer } from '../../../src/client/web/seal.ts'

const now = new Date('2026-03-01T12:00:00Z')
let time = now
const clock = () => time
const later = (seconds: number) => new Date(now.getTime() + seconds * 1000)
const newKey = () => new Secret(randomBytes(32).toString('base64url'))
const key = newKey()
const sealer = createSealer([key], 'context', clock)

t.test('unsealing a sealed value returns its payload and its expiry', async t => {
  for (const payload of ['', 'a', 'text – with ünïcode', 'x'.repeat(5000)]) {
    const unsealed = sealer.unseal('purpose', sealer.seal('purpose', payload, later(60)))
    t.equal(unsealed?.payload, payload)
    t.same(unsealed?.expiresAt, later(60))
  }
  const values = ['a', 1, { b: [true] }]
  t.same(sealer.unseal('purpose', sealer.seal('purpose', values, later(60)))?.payload, values)
})

t.test('CK-05: a sealed value does not contain its payload, and every sealed value is different', async t => {
  const payload = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ2aXNpdG9yLTEifQ'
  const values = Array.from({ length: 100 }, () => sealer.seal('purpose', payload, later(60)))
  t.equal(new Set(values).size, 100)
  for (const value of values) {
    t.match(value, /^[\w-]+$/)
    // Do not compare only three letters: they would occur by chance in one run of twenty.
    t.notMatch(value, payload.slice(0, 8))
    t.notMatch(Buffer.from(value, 'base64url').toString('latin1'), payload.slice(0, 8))
  }
})

t.test('CK-05: a value with one changed bit cannot be unsealed', async t => {
  const bytes = Buffer.from(sealer.seal('purpose', 'payload', later(60)), 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    t.equal(sealer.unseal('purpose', changed.toString('base64url')), undefined, `bit ${bit}`)
  }
})

t.test('CK-05: a value that is cut short or made longer cannot be unsealed', async t => {
  const value = sealer.seal('purpose', 'payload', later(60))
  for (let length = 0; length < value.length; length++)
    t.equal(sealer.unseal('purpose', value.slice(0, length)), undefined, `${length} characters`)
  for (const more of ['A', 'AA', 'AAAA', '=', '.', ' ', '\n', '%', value]) {
    t.equal(sealer.unseal('purpose', value + more), undefined)
    t.equal(sealer.unseal('purpose', more + value), undefined)
  }
})

t.test('only the exact text of a sealed value can be unsealed', async t => {
  // In base64url, 38 bytes take 50 characters and 4 bits of one more character. The decoder ignores the other 2 bits of
  // this last character.
  const value = sealer.seal('purpose', 1, later(60))
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const accepted = [...alphabet].filter(last => sealer.unseal('purpose', value.slice(0, -1) + last))
  t.same(accepted, [value.at(-1)])
  t.equal(sealer.unseal('purpose', value.replaceAll('-', '+').replaceAll('_', '/').concat('=')), undefined)
})

t.test('a value that was never sealed cannot be unsealed', async t => {
  for (const value of [
    undefined,
    '',
    'undefined',
    'A',
    'A'.repeat(49),
    'A'.repeat(50),
    'A'.repeat(10_000),
    '%E0%A4%A',
    'é'.repeat(60),
  ])
    t.equal(sealer.unseal('purpose', value), undefined)
})

t.test('CK-06: a value can be unsealed only for the purpose for which it was sealed', async t => {
  const value = sealer.seal('purpose', 'payload', later(60))
  for (const other of ['', 'Purpose', 'purpose ', 'purpose\n', 'other']) t.equal(sealer.unseal(other, value), undefined)
})

t.test('CL-24: a value can be unsealed only for the registration for which it was sealed', async t => {
  const value = sealer.seal('purpose', 'payload', later(60))
  t.equal(createSealer([key], 'another context', clock).unseal('purpose', value), undefined)
  t.ok(createSealer([key], 'context', clock).unseal('purpose', value))
})

t.test('CK-07: a value can be unsealed until it expires', async t => {
  const value = sealer.seal('purpose', 'payload', later(60))
  t.teardown(() => {
    time = now
  })
  time = later(59)
  t.ok(sealer.unseal('purpose', value))
  time = later(60)
  t.equal(sealer.unseal('purpose', value), undefined)
  time = later(10 ** 9)
  t.equal(sealer.unseal('purpose', value), undefined)
})

t.test('CK-11: an older key can still unseal values, and only the newest key seals', async t => {
  const newest = newKey()
  const rotated = createSealer([newest, key], 'context', clock)
  const old = sealer.seal('purpose', 'payload', later(60))
  t.equal(rotated.unseal('purpose', old)?.payload, 'payload')
  const fresh = rotated.seal('purpose', 'payload', later(60))
  t.equal(rotated.unseal('purpose', fresh)?.payload, 'payload')
  t.equal(sealer.unseal('purpose', fresh), undefined)
})

t.test('CK-11: a value that was sealed with a removed key cannot be unsealed', async t => {
  t.equal(
    createSealer([newKey()], 'context', clock).unseal('purpose', sealer.seal('purpose', 'payload', later(60))),
    undefined,
  )
})

t.test('SE-07: key ids differ between keys and do not contain the key', async t => {
  const other = newKey()
  t.same(createSealer([other, key], 'context', clock).keyIds, [
    createSealer([other], 'x', clock).keyIds[0],
    sealer.keyIds[0],
  ])
  t.match(sealer.keyIds[0], /^[0-9a-f]{8}$/)
  t.notMatch(Buffer.from(key.reveal(), 'base64url').toString('hex'), sealer.keyIds[0]!)
})
