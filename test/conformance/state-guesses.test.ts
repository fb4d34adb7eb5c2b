// Tests how the check of random states decodes strings.
import t from 'tap'
import { wordsIn } from '../../src/conformance/steps/state-guesses.ts'

t.test('if the percent-encoding in a string is not valid UTF-8, wordsIn reads the string without an error', async t => {
  t.match(wordsIn('%ff and 100%'), ['%ff and 100%'])
  t.ok(wordsIn('state%3Dabcdef').includes('state=abcdef'), 'other strings are decoded')
})
