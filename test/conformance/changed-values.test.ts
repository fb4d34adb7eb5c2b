// Tests that a changed value has other content in each encoding that clients use for cookies.
import t from 'tap'
import { withOtherCharacter } from '../../src/conformance/steps/changed-values.ts'

for (const encoding of ['base64url', 'base64', 'hex'] as const)
  t.test(`if one character of a value in ${encoding} is replaced, the decoded bytes change`, async t => {
    // These bytes contain every character of the encoding.
    const bytes = Buffer.from(Array.from({ length: 3 * 256 }, (_, index) => (index * 7 + (index >> 8)) % 256))
    const value = bytes.toString(encoding)
    for (const at of Array.from(value, (_, index) => index)) {
      const changed = withOtherCharacter(value, at)
      if (Buffer.from(changed, encoding).equals(bytes)) t.fail(`${value[at]} became ${changed[at]}`)
    }
    t.equal(withOtherCharacter(value, 0).length, value.length)
  })
