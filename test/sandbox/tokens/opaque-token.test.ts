// Tests that codes and secrets are random, and how a new refresh token is computed.
import t from 'tap'
import { deriveSuccessor, makeAlphanumericToken, makeSecret } from '../../../src/sandbox/tokens/opaque-token.ts'

t.test('AZ-10: among 10,000 codes no two are equal, and all characters occur equally often', async t => {
  const codes = Array.from({ length: 10_000 }, makeAlphanumericToken)
  t.equal(new Set(codes).size, 10_000)
  for (const code of codes) if (!/^[A-Za-z0-9]{30}$/.test(code)) t.fail(code)
  const counts = new Map<string, number>()
  for (const character of codes.join('')) counts.set(character, (counts.get(character) ?? 0) + 1)
  t.equal(counts.size, 62)
  // In 300,000 characters, each of the 62 characters should occur about 4,839 times. The limit of 553 is eight standard
  // deviations.
  for (const [character, count] of counts) t.ok(Math.abs(count - 300_000 / 62) < 553, `${count} × ${character}`)
})

t.test('SE-01: a client secret has 256 bits, and no two client secrets are equal', async t => {
  const secrets = Array.from({ length: 1000 }, makeSecret)
  t.equal(new Set(secrets).size, 1000)
  for (const secret of secrets) if (!/^[\w-]{43}$/.test(secret)) t.fail(secret)
})

t.test(
  'RF-02: a new refresh token is computed from the old token and the key; the token alone or the key alone is not enough',
  async t => {
    const [key, otherKey] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
    const token = makeAlphanumericToken()
    const successor = deriveSuccessor(key, token)
    t.match(successor, /^[A-Za-z0-9]{30}$/)
    t.equal(deriveSuccessor(key, token), successor)
    t.not(deriveSuccessor(otherKey, token), successor)
    t.not(deriveSuccessor(key, makeAlphanumericToken()), successor)
    t.not(deriveSuccessor(key, successor), token)
  },
)
