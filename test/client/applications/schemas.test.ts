// Tests the JSON Schemas of the pages for applications.
import { Ajv } from 'ajv'
import t from 'tap'
import * as schemas from '../../../src/client/applications/schemas.ts'

t.test('every schema compiles in the strict mode of Ajv, so that no schema prints a warning in production', async t => {
  const all = Object.entries(schemas).filter(([name]) => name.endsWith('Schema'))
  t.ok(all.length > 4)
  for (const [name, schema] of all) t.doesNotThrow(() => new Ajv({ strict: true }).compile(schema), name)
})
