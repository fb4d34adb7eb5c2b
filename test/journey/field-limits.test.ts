// Tests that the client's form has the same limits as the sandbox's API.
import t from 'tap'
import { describeFields } from '../../src/client/applications/fields.ts'
import { applicationsTexts } from '../../src/client/applications/texts.ts'
import type { Texts } from '../../src/client/texts.ts'
import { newGroup } from '../../src/sandbox/api/schemas.ts'
import { newApplication } from '../../src/sandbox/applications/fields.ts'

t.test('PG-17: each field has the same maximum length in the form and in the API', async t => {
  const fields = describeFields({ applications: applicationsTexts } as Texts)
  const inForm = Object.fromEntries(Object.entries(fields).map(([name, { maxlength }]) => [name, maxlength]))
  const atApi = Object.entries(newApplication.properties).map(([name, schema]) => [
    name,
    'maxLength' in schema ? schema.maxLength : undefined,
  ])
  t.strictSame(inForm, { ...Object.fromEntries(atApi), groupName: newGroup.properties.name.maxLength })
})
