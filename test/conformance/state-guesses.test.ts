// Tests how the check of random states decodes texts.
import t from 'tap'
import { wordsIn } from '../../src/conformance/steps/state-guesses.ts'

t.test('if the percent-encoding in a text is not valid UTF-8, wordsIn reads the text without an error', async t => {
  t.match(wordsIn('%ff and 100%'), ['%ff and 100%'])
  t.ok(wordsIn('state%3Dabcdef').includes('state=abcdef'), 'other text is decoded')
})
