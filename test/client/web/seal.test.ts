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

t.test('what was sealed opens, with its payload and its end', async t => {
  for (const payload of ['', 'a', 'text – with ünïcode', 'x'.repeat(5000)]) {
    const opened = sealer.open('purpose', sealer.seal('purpose', payload, later(60)))
    t.equal(opened?.payload, payload)
    t.same(opened?.expiresAt, later(60))
    t.equal(opened?.isSealedWithOldKey, false)
  }
  const values = ['a', 1, { b: [true] }]
  t.same(sealer.open('purpose', sealer.seal('purpose', values, later(60)))?.payload, values)
})

t.test('CK-05: a sealed value shows nothing of its payload, and is never the same twice', async t => {
  const payload = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ2aXNpdG9yLTEifQ'
  const values = Array.from({ length: 100 }, () => sealer.seal('purpose', payload, later(60)))
  t.equal(new Set(values).size, 100)
  for (const value of values) {
    t.match(value, /^[\w-]+$/)
    // Three letters of it would be there by chance, in one run of twenty.
    t.notMatch(value, payload.slice(0, 8))
    t.notMatch(Buffer.from(value, 'base64url').toString('latin1'), payload.slice(0, 8))
  }
})

t.test('CK-05: with any one bit changed it does not open', async t => {
  const bytes = Buffer.from(sealer.seal('purpose', 'payload', later(60)), 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    t.equal(sealer.open('purpose', changed.toString('base64url')), undefined, `bit ${bit}`)
  }
})

t.test('CK-05: cut short or made longer it does not open', async t => {
  const value = sealer.seal('purpose', 'payload', later(60))
  for (let length = 0; length < value.length; length++)
    t.equal(sealer.open('purpose', value.slice(0, length)), undefined, `${length} characters`)
  for (const more of ['A', 'AA', 'AAAA', '=', '.', ' ', '\n', '%', value]) {
    t.equal(sealer.open('purpose', value + more), undefined)
    t.equal(sealer.open('purpose', more + value), undefined)
  }
})

t.test('a value opens in one spelling alone', async t => {
  // 38 bytes fill 50 characters and two thirds: the last one has four bits that decoding ignores.
  const value = sealer.seal('purpose', 1, later(60))
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const opening = [...alphabet].filter(last => sealer.open('purpose', value.slice(0, -1) + last))
  t.same(opening, [value.at(-1)])
  t.equal(sealer.open('purpose', value.replaceAll('-', '+').replaceAll('_', '/').concat('=')), undefined)
})

t.test('what was never sealed does not open', async t => {
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
    t.equal(sealer.open('purpose', value), undefined)
})

t.test('CK-06: it opens for its own purpose alone', async t => {
  const value = sealer.seal('purpose', 'payload', later(60))
  for (const other of ['', 'Purpose', 'purpose ', 'purpose\n', 'other']) t.equal(sealer.open(other, value), undefined)
})

t.test('CL-24: it opens for the same registration alone', async t => {
  const value = sealer.seal('purpose', 'payload', later(60))
  t.equal(createSealer([key], 'another context', clock).open('purpose', value), undefined)
  t.ok(createSealer([key], 'context', clock).open('purpose', value))
})

t.test('CK-07: it opens until its end, and not from then on', async t => {
  const value = sealer.seal('purpose', 'payload', later(60))
  t.teardown(() => {
    time = now
  })
  time = later(59)
  t.ok(sealer.open('purpose', value))
  time = later(60)
  t.equal(sealer.open('purpose', value), undefined)
  time = later(10 ** 9)
  t.equal(sealer.open('purpose', value), undefined)
})

t.test('CK-11: an older key still opens, and says so; only the newest seals', async t => {
  const newest = newKey()
  const rotated = createSealer([newest, key], 'context', clock)
  const old = sealer.seal('purpose', 'payload', later(60))
  t.equal(rotated.open('purpose', old)?.isSealedWithOldKey, true)
  const fresh = rotated.seal('purpose', 'payload', later(60))
  t.equal(rotated.open('purpose', fresh)?.isSealedWithOldKey, false)
  t.equal(sealer.open('purpose', fresh), undefined)
})

t.test('CK-11: a key that is gone opens nothing', async t => {
  t.equal(
    createSealer([newKey()], 'context', clock).open('purpose', sealer.seal('purpose', 'payload', later(60))),
    undefined,
  )
})

t.test('SE-07: the ids of the keys tell keys apart, and tell nothing of them', async t => {
  const other = newKey()
  t.same(createSealer([other, key], 'context', clock).keyIds, [
    createSealer([other], 'x', clock).keyIds[0],
    sealer.keyIds[0],
  ])
  t.match(sealer.keyIds[0], /^[0-9a-f]{8}$/)
  t.notMatch(Buffer.from(key.reveal(), 'base64url').toString('hex'), sealer.keyIds[0]!)
})
