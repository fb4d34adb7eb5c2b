// Tests how the check of random states decodes strings, and how it finds out that a state is not random.
import { hash, randomBytes } from 'node:crypto'
import t from 'tap'
import { findGuess, wordsIn } from '../../src/conformance/steps/state-guesses.ts'

t.test('if the percent-encoding in a string is not valid UTF-8, wordsIn reads the string without an error', async t => {
  t.match(wordsIn('%ff and 100%'), ['%ff and 100%'])
  t.ok(wordsIn('state%3Dabcdef').includes('state=abcdef'), 'other strings are decoded')
})

const guess = (state: string) => findGuess(state, { before: 1_000_000, after: 1_000_020, words: ['known-word'] })

t.test('findGuess finds a state that is a digest of a known value, or the beginning of a digest', async t => {
  for (const algorithm of ['md5', 'sha1', 'sha256', 'sha512'])
    for (const encoding of ['hex', 'base64', 'base64url'] as const) {
      const state = hash(algorithm, 'known-word', encoding)
      const parts = [64, 15, 14, 13].map(length => state.slice(0, length))
      for (const part of [state, ...parts, `${state.slice(0, 12)}==`])
        t.equal(guess(part), `the ${algorithm} of a value that everybody knows`, `${encoding} ${part}`)
      t.equal(guess(`${state}A`), undefined, 'a longer value')
      t.equal(guess(`.${state.slice(0, 12)}`), undefined, 'another value that ends in the same way')
    }
  t.equal(guess(hash('sha256', '42', 'base64url')), 'the sha256 of a counter')
  t.equal(guess(hash('md5', '1000001', 'hex')), 'the md5 of the time')
})

t.test('findGuess finds a known value in another encoding, and ignores random states', async t => {
  for (const encoding of ['hex', 'base64', 'base64url'] as const) {
    t.equal(guess(Buffer.from('known-word').toString(encoding)), 'a value that everybody knows in another encoding')
    t.equal(guess(randomBytes(16).toString(encoding)), undefined)
  }
  t.equal(guess('known-word'), 'a value that everybody knows itself')
})
