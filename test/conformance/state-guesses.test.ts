// Texts that a check of random states decodes.
import t from 'tap'
import { wordsIn } from '../../src/conformance/steps/state-guesses.ts'

t.test('text with percent signs that encode no UTF-8 is read without an error', async t => {
  t.match(wordsIn('%ff and 100%'), ['%ff and 100%'])
  t.ok(wordsIn('state%3Dabcdef').includes('state=abcdef'), 'other text is decoded')
})
